#include "prompt.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "cordon/sdk/capability.h"
#include "cordon/sdk/command.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kMargin = "  ";
constexpr std::string_view kCommandMargin = "  | ";
constexpr std::string_view kBrokenMargin = "  > ";
constexpr std::size_t kMinColumns = 20;

std::size_t Columns(std::string_view character) {
  return static_cast<unsigned char>(character[0]) < 0x80 ? 1 : 2;
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string Plural(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

// Collects the lines of a card.
class Page {
 public:
  explicit Page(const PromptStyle& style) : style_(style) {}

  void Line(std::string_view prefix, std::string_view text) {
    out_ += BreakLine(prefix, text, style_.columns);
  }
  void Field(std::string_view name, std::string_view value) {
    Line(kMargin, std::string(name) + ": " + std::string(value));
  }
  void Title(std::string_view text) {
    const std::string lines = BreakLine("", text, style_.columns);
    out_ += style_.color ? "\x1b[1m" + lines + "\x1b[0m" : lines;
  }
  void Gap() { out_ += "\n"; }
  [[nodiscard]] std::string Take() { return std::move(out_); }

 private:
  PromptStyle style_;
  std::string out_;
};

void AddCommand(Page& page, const Command& command) {
  const bool shell = command.form == Command::Form::kShell;
  const std::string& raw = command.shell_text;
  const std::string display = shell ? EscapeForDisplay(raw, true) : CommandDisplay(command);
  const std::vector<std::string_view> lines = SplitLines(display);
  std::string title = shell ? "command for " + EscapeForDisplay(command.shell) : "command";
  title += " (" + Plural(lines.size(), "line");
  if (shell) title += ", " + Plural(raw.size(), "byte");
  page.Line(kMargin, title + "):");
  for (const std::string_view line : lines) page.Line(kCommandMargin, line);
  page.Field("directory", EscapeForDisplay(command.working_directory));
}

void AddRequest(Page& page, const Request& request) {
  if (request.command.has_value()) AddCommand(page, *request.command);
  for (const auto& [name, value] : request.details) {
    page.Field(EscapeForDisplay(name), EscapeForDisplay(value));
  }
  if (!request.model_description.empty()) {
    page.Field("the model says (not checked)", EscapeForDisplay(request.model_description));
  }
}

void AddRequirements(Page& page, const ApprovalCard& card) {
  page.Line(kMargin, "asks for:");
  for (const Requirement& requirement : card.pending) {
    page.Line("  - ",
              std::string(CapabilityKindName(requirement.kind)) + " " + requirement.display);
  }
  const auto* all = std::get_if<std::vector<Requirement>>(&card.request.authority);
  if (all == nullptr || all->size() <= card.pending.size()) return;
  page.Line(kMargin, "needs as well, allowed already:");
  for (const Requirement& requirement : *all) {
    if (std::find(card.pending.begin(), card.pending.end(), requirement) != card.pending.end()) {
      continue;
    }
    page.Line("  - ",
              std::string(CapabilityKindName(requirement.kind)) + " " + requirement.display);
  }
}

void AddRules(Page& page, const ApprovalCard& card) {
  if (card.would_store.empty()) return;
  page.Line(kMargin, card.can_persist ? "\"session\" and \"always\" would store:"
                                      : "\"session\" would store:");
  for (const std::string& rule : card.would_store) page.Line("  - ", rule);
}

// One a line: a line of all of them would be broken on a narrow screen.
void AddChoices(Page& page, const ApprovalCard& card, std::chrono::seconds left) {
  page.Line(kMargin, "[y] yes, once");
  if (!card.would_store.empty()) page.Line(kMargin, "[s] yes, for this session");
  if (card.can_persist) page.Line(kMargin, "[a] yes, always");
  page.Line(kMargin, "[n] no (preselected: Enter or Escape)");
  page.Line(kMargin, "[e] no, with words for the model");
  page.Line(kMargin, "without an answer in " + std::to_string(left.count()) + " s nothing runs.");
}

}  // namespace

std::string BreakLine(std::string_view prefix, std::string_view text, std::size_t columns) {
  const std::size_t width = std::max(columns, kMinColumns) - 1;
  std::string out(prefix);
  std::size_t used = prefix.size();
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, Utf8CharLength(text));
    const std::string_view character = text.substr(0, length);
    if (used + Columns(character) > width) {
      out += "\n";
      out += kBrokenMargin;
      used = kBrokenMargin.size();
    }
    out += character;
    used += Columns(character);
    text.remove_prefix(length);
  }
  return out + "\n";
}

std::string RenderCard(const ApprovalCard& card, const PromptStyle& style,
                       std::chrono::seconds left) {
  Page page(style);
  page.Gap();
  page.Title("cordon: may the tool " + EscapeForDisplay(card.request.tool) + " do this?");
  AddRequest(page, card.request);
  AddRequirements(page, card);
  AddRules(page, card);
  page.Gap();
  AddChoices(page, card, left);
  return page.Take();
}

PromptChoice ReadKey(std::string_view bytes, const ApprovalCard& card) {
  // A person who confirms with Enter at once may arrive as one read.
  if (bytes.size() == 2 && (bytes[1] == '\n' || bytes[1] == '\r')) bytes.remove_suffix(1);
  if (bytes.size() != 1) return PromptChoice::kNone;
  switch (bytes[0]) {
    case 'y':
    case 'Y':
      return PromptChoice::kOnce;
    case 's':
    case 'S':
      return card.would_store.empty() ? PromptChoice::kNone : PromptChoice::kSession;
    case 'a':
    case 'A':
      return card.can_persist ? PromptChoice::kAlways : PromptChoice::kNone;
    case 'e':
    case 'E':
      return PromptChoice::kDenyWithWords;
    case 'n':
    case 'N':
    case '\n':
    case '\r':
    case '\x1b':
      return PromptChoice::kDeny;
    case '\x03':
      return PromptChoice::kInterrupt;
  }
  return PromptChoice::kNone;
}

std::string_view ChoiceText(PromptChoice choice) {
  switch (choice) {
    case PromptChoice::kNone:
      return "one key, please: the choices are shown above";
    case PromptChoice::kDeny:
    case PromptChoice::kDenyWithWords:
      return "denied";
    case PromptChoice::kOnce:
      return "approved once";
    case PromptChoice::kSession:
      return "approved for this session";
    case PromptChoice::kAlways:
      return "approved always";
    case PromptChoice::kInterrupt:
      return "interrupted";
  }
  return "";
}

}  // namespace cordon::internal
