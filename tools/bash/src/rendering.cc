#include "rendering.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cordon/sdk/command.h"
#include "explanation.h"
#include "nlohmann/json.hpp"
#include "printable_text.h"

namespace cordon::internal {
namespace {

using nlohmann::json;

std::uint64_t CountLines(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// One stream ready to be shown.
struct ShownStream {
  std::string valid;      // Valid UTF-8, control codes untouched: for programs.
  std::string printable;  // The same without control codes: for the model.
  std::size_t replaced = 0;
  std::size_t removed_sequences = 0;
  std::size_t escaped_controls = 0;
};

void AppendPart(std::string_view bytes, ShownStream& shown) {
  const ValidText valid = ReplaceInvalidUtf8(bytes);
  PrintableText printable = RemoveTerminalControls(valid.text);
  shown.valid += valid.text;
  shown.printable += printable.text;
  shown.replaced += valid.replaced;
  shown.removed_sequences += printable.removed_sequences;
  shown.escaped_controls += printable.escaped_controls;
}

// The mark between head and tail, on a line of its own.
std::string OmittedMark(std::uint64_t bytes, std::uint64_t lines) {
  return absl::StrFormat("\n[... %s bytes in %s lines left out ...]\n", WithThousands(bytes),
                         WithThousands(lines));
}

// The capture cuts at bytes; a character that the cut went through belongs to what was left out.
ShownStream Show(const CapturedOutput& output) {
  ShownStream shown;
  if (output.omitted_bytes == 0) {
    AppendPart(output.head + output.tail, shown);
    return shown;
  }
  std::string_view head = output.head;
  std::string_view tail = output.tail;
  const std::size_t cut = IncompleteSuffix(head) + ContinuationPrefix(tail);
  head.remove_suffix(IncompleteSuffix(head));
  tail.remove_prefix(ContinuationPrefix(tail));

  const std::uint64_t shown_lines = CountLines(head) + CountLines(tail);
  const std::uint64_t lines =
      output.total_lines > shown_lines ? output.total_lines - shown_lines : 0;
  AppendPart(head, shown);
  const std::string mark = OmittedMark(output.omitted_bytes + cut, lines);
  shown.valid += mark;
  shown.printable += mark;
  AppendPart(tail, shown);
  return shown;
}

std::string SignalText(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrFormat("signal %d", signal)
                         : absl::StrFormat("signal %d (SIG%s)", signal, name);
}

bool Succeeded(const Outcome& outcome) {
  return outcome.kind == Outcome::Kind::kExited && outcome.code == 0;
}

std::string Counted(std::uint64_t number, std::string_view noun) {
  return absl::StrFormat("%s %s%s", WithThousands(number), noun, number == 1 ? "" : "s");
}

// What was done to a stream before it was shown; empty when nothing.
std::string StreamNote(std::string_view name, const CapturedOutput& output,
                       const ShownStream& shown) {
  std::vector<std::string> changes;
  if (shown.replaced > 0) {
    changes.push_back("is no valid UTF-8: " + Counted(shown.replaced, "faulty sequence") +
                      " replaced by U+FFFD");
  } else if (!output.valid_utf8) {
    changes.emplace_back("has invalid UTF-8 in the part that was left out");
  }
  if (shown.removed_sequences > 0) {
    changes.push_back("had " + Counted(shown.removed_sequences, "terminal control sequence") +
                      ", removed");
  }
  if (shown.escaped_controls > 0) {
    changes.push_back("has " + Counted(shown.escaped_controls, "control character") +
                      ", shown as \\xNN");
  }
  if (changes.empty()) return "";
  return absl::StrFormat("%s %s", name, absl::StrJoin(changes, ", "));
}

void AppendStream(std::string_view name, const std::string& text, std::string& out) {
  if (text.empty()) return;
  out += absl::StrFormat("%s:\n%s", name, text);
  if (!text.ends_with('\n')) out += '\n';
}

template <typename T>
json OrNull(const std::optional<T>& value) {
  return value.has_value() ? json(*value) : json(nullptr);
}

json DenialJson(const Denial& denial) {
  return {{"kind", denial.kind},
          {"target", denial.target},
          {"count", denial.count},
          {"reason", denial.reason},
          {"allow_with", denial.allow_with}};
}

std::string StructuredJson(const RunResult& result, const ShownStream& standard_output,
                           const ShownStream& standard_error, const std::vector<std::string>& notes,
                           const std::string& workdir) {
  json denials = json::array();
  for (const Denial& denial : result.denials) denials.push_back(DenialJson(denial));
  json object = {
      {"exit_code", OrNull(result.outcome.code)},
      {"signal", OrNull(result.outcome.signal)},
      {"outcome", std::string(OutcomeKindName(result.outcome.kind))},
      {"stdout", standard_output.valid},
      {"stderr", standard_error.valid},
      {"truncated", result.standard_output.omitted_bytes + result.standard_error.omitted_bytes > 0},
      {"invalid_utf8", standard_output.replaced + standard_error.replaced > 0 ||
                           !result.standard_output.valid_utf8 || !result.standard_error.valid_utf8},
      {"denials", std::move(denials)},
      {"changed_protected", result.changed_protected},
      {"left_running", result.left_running},
      {"notes", notes}};
  if (!workdir.empty()) object["workdir"] = workdir;
  // Paths of the host may be no UTF-8; everything else is by now.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

// What the command left behind; empty when nothing.
std::string LeftBehindNote(const RunResult& result, bool has_jobs) {
  if (!result.end_proved) {
    return "processes of this command may still run: their end could not be proved";
  }
  if (!result.left_running || EndedByUs(result.outcome.kind)) return "";
  std::string note =
      "what the command had started still ran when the command itself was over, and was ended";
  if (has_jobs) note += "; a call with \"background\": true keeps its command running";
  return note;
}

std::vector<std::string> CollectNotes(const RunResult& result, const ShownStream& standard_output,
                                      const ShownStream& standard_error, const Profile& profile,
                                      const CallContext& context) {
  std::vector<std::string> notes = context.notes;
  for (std::string note : {StreamNote("stdout", result.standard_output, standard_output),
                           StreamNote("stderr", result.standard_error, standard_error),
                           LeftBehindNote(result, context.has_jobs)}) {
    if (!note.empty()) notes.push_back(std::move(note));
  }
  if (Succeeded(result.outcome)) return notes;
  for (std::string& sentence :
       ExplainComplaints(standard_error.printable, profile, result.grants)) {
    notes.push_back(std::move(sentence));
  }
  return notes;
}

}  // namespace

std::string WithThousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string OutcomeText(const Outcome& outcome, const RunLimits& limits) {
  switch (outcome.kind) {
    case Outcome::Kind::kExited:
      return absl::StrFormat("exit code: %d", outcome.code.value_or(-1));
    case Outcome::Kind::kSignaled:
      return "ended by " + SignalText(outcome.signal.value_or(0));
    case Outcome::Kind::kTimedOut:
      return absl::StrFormat(
          "timed out after %s: the command and everything it had started were ended",
          DurationText(limits.timeout));
    case Outcome::Kind::kOutputLimit:
      return absl::StrFormat(
          "ended because it wrote more than %s bytes, and everything it had started with it",
          WithThousands(limits.max_output_bytes));
    case Outcome::Kind::kCancelled:
      return "cancelled: the command and everything it had started were ended";
  }
  return "ended in an unknown way";
}

bool EndedByUs(Outcome::Kind kind) {
  return kind != Outcome::Kind::kExited && kind != Outcome::Kind::kSignaled;
}

void AppendList(std::string_view title, const std::vector<std::string>& lines, std::string& out) {
  if (lines.empty()) return;
  out += absl::StrFormat("%s:\n", title);
  for (const std::string& line : lines) out += "- " + line + "\n";
}

std::vector<std::string> DenialLines(const std::vector<Denial>& denials, const Profile& profile) {
  std::vector<std::string> lines;
  for (const Denial& denial : denials) {
    const std::string times =
        denial.count > 1 ? absl::StrFormat(", %s times", WithThousands(denial.count)) : "";
    lines.push_back(absl::StrFormat("%s %s%s: %s; %s", EscapeForDisplay(denial.kind),
                                    EscapeForDisplay(denial.target), times,
                                    EscapeForDisplay(denial.reason), HowToAllow(denial, profile)));
  }
  return lines;
}

std::vector<std::string> EscapedLines(const std::vector<std::string>& lines) {
  std::vector<std::string> escaped;
  for (const std::string& line : lines) escaped.push_back(EscapeForDisplay(line));
  return escaped;
}

std::string DurationText(std::chrono::milliseconds duration) {
  const std::int64_t ms = duration.count();
  if (ms < 1000) return absl::StrFormat("%d ms", ms);
  if (ms % 60000 == 0) return absl::StrFormat("%d min", ms / 60000);
  if (ms % 1000 == 0) return absl::StrFormat("%d s", ms / 1000);
  return absl::StrFormat("%.1f s", static_cast<double>(ms) / 1000);
}

ToolResult RenderRunResult(const RunResult& result, const RunLimits& limits, const Profile& profile,
                           const CallContext& context) {
  const ShownStream standard_output = Show(result.standard_output);
  const ShownStream standard_error = Show(result.standard_error);
  const std::vector<std::string> notes =
      CollectNotes(result, standard_output, standard_error, profile, context);

  std::string text = OutcomeText(result.outcome, limits) + "\n";
  AppendStream(context.output_is_merged ? "output" : "stdout", standard_output.printable, text);
  AppendStream("stderr", standard_error.printable, text);
  if (standard_output.printable.empty() && standard_error.printable.empty()) {
    text += "(no output)\n";
  }
  AppendList("refused while it ran", DenialLines(result.denials, profile), text);
  AppendList("protected paths that it changed, undone where possible",
             EscapedLines(result.changed_protected), text);
  AppendList("notes", notes, text);

  ToolResult rendered;
  rendered.text = std::move(text);
  rendered.structured_json =
      StructuredJson(result, standard_output, standard_error, notes, context.workdir);
  rendered.is_error = EndedByUs(result.outcome.kind);
  return rendered;
}

}  // namespace cordon::internal
