#include "terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"

namespace cordon::agent {
namespace {

std::string_view ColorCode(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kBold:
      return "\x1b[1m";
    case Tone::kDim:
      return "\x1b[2m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kAsk:
      return "\x1b[33m";
  }
  return "";
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool Succeeded(const ToolCallOutcome& outcome) {
  return outcome.status.ok() && outcome.result.text.starts_with("exit code: 0\n");
}

// Characters, not bytes: continuation bytes of UTF-8 take no place.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::vector<std::string> Wrap(std::string_view text, std::size_t width, std::size_t hanging) {
  std::vector<std::string> lines;
  std::string indent;
  while (indent.size() + text.size() > width) {
    const std::size_t space = text.rfind(' ', width - indent.size());
    const std::size_t first_word = lines.empty() ? hanging : 0;
    if (space == std::string_view::npos || space <= first_word) break;
    lines.push_back(indent + std::string(text.substr(0, space)));
    text.remove_prefix(space + 1);
    indent.assign(hanging, ' ');
  }
  lines.push_back(indent + std::string(text));
  return lines;
}

bool WantsColor(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
         std::string_view(term) != "dumb";
}

std::string CommandOf(const ToolCall& call) {
  const auto arguments = nlohmann::json::parse(call.arguments_json, nullptr, false);
  if (!arguments.is_object() || !arguments.contains("command") ||
      !arguments["command"].is_string()) {
    return EscapeForDisplay(call.arguments_json);
  }
  return EscapeForDisplay(arguments["command"].get<std::string>(), true);
}

std::string Shorten(std::string_view text, std::size_t width) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (Width(line) <= width && line.size() == text.size()) return std::string(line);
  std::string shortened;
  for (const char c : line) {
    const bool starts_character = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (starts_character && Width(shortened) + 3 >= width) break;
    shortened += c;
  }
  return shortened + "...";
}

std::string EndOf(const ToolCallOutcome& outcome) {
  if (outcome.status.ok()) {
    return outcome.result.text.substr(0, outcome.result.text.find('\n'));
  }
  const std::optional<Error> error = ErrorOf(outcome.status);
  return "refused: " + std::string(ErrorCodeName(error.value_or(Error{}).code));
}

std::string Terminal::Paint(std::string_view text, Tone tone) const {
  if (!color_ || tone == Tone::kPlain) return std::string(text);
  return absl::StrFormat("%s%s\x1b[0m", ColorCode(tone), text);
}

void Terminal::Heading(std::string_view text) {
  out_ << '\n' << Paint(absl::StrFormat("== %s", text), Tone::kBold) << '\n';
  out_.flush();
}

void Terminal::Print(std::string_view line, Tone tone) {
  out_ << "  " << Paint(line, tone) << '\n';
  out_.flush();
}

void Terminal::Line(std::string_view text, Tone tone) {
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::string lead;
  for (const std::string& paragraph : Lines(text)) {
    for (const std::string& line : Wrap(lead + paragraph, kWidth, indent)) Print(line, tone);
    lead.assign(indent, ' ');
  }
}

void Terminal::Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - Width(row[i]) + 2, ' ');
    }
    const std::size_t last_column = Width(line);
    if (!row.empty()) line += row.back();
    for (const std::string& part : Wrap(line, kWidth, last_column)) Print(part, Tone::kPlain);
  }
}

void Terminal::OnText(std::string_view text) {
  out_ << '\n';
  for (const std::string& line : Lines(EscapeForDisplay(text, true))) {
    out_ << Paint("model> ", Tone::kBold) << line << '\n';
  }
  out_.flush();
}

void Terminal::ModelLine(std::string_view line) {
  out_ << Paint("model> ", Tone::kBold) << EscapeForDisplay(line) << '\n';
  out_.flush();
}

// After three seconds, ten, and then every half minute.
void Terminal::OnWaiting(std::chrono::seconds since_start) {
  const auto seconds = since_start.count();
  if (seconds != 3 && seconds != 10 && seconds % 30 != 0) return;
  const std::unique_lock lock(progress_mutex_, std::try_to_lock);
  if (lock.owns_lock()) Line(absl::StrFormat("(running for %d s)", seconds), Tone::kDim);
}

void Terminal::OnCalls(const std::vector<ToolCall>& calls) {
  if (calls.size() > 1) Line(absl::StrFormat("(%d commands at once)", calls.size()), Tone::kDim);
}

void Terminal::OnOutcome(const ToolCall& call, const ToolCallOutcome& outcome) {
  std::string prompt = "$ ";
  for (const std::string& line : Lines(CommandOf(call))) {
    Print(prompt + line, Tone::kBold);
    prompt = "> ";
  }
  Print("  " + EndOf(outcome), Succeeded(outcome) ? Tone::kGood : Tone::kBad);
  const std::vector<std::string> lines = Lines(outcome.result.text);
  const std::size_t first = outcome.status.ok() ? 1 : 0;
  for (std::size_t i = first; i < lines.size() && i < first + kShownLines; ++i) {
    Print("  | " + lines[i], Tone::kDim);
  }
  if (lines.size() > first + kShownLines) {
    Print(absl::StrFormat("  | (%d more lines)", lines.size() - first - kShownLines), Tone::kDim);
  }
}

}  // namespace cordon::agent
