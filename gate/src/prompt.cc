#include "prompt.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "cordon/sdk/capability.h"
#include "cordon/sdk/command.h"
#include "effects.h"
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

void AddList(Page& page, std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  page.Line(kMargin, title);
  for (const std::string& line : lines) page.Line("  - ", line);
}

std::string Text(const Requirement& requirement) {
  return std::string(CapabilityKindName(requirement.kind)) + " " + requirement.display;
}

void AddRequirements(Page& page, const ApprovalCard& card) {
  std::vector<std::string> asked;
  for (const Requirement& requirement : card.pending) asked.push_back(Text(requirement));
  AddList(page, "asks for:", asked);
  std::vector<std::string> allowed;
  if (const auto* all = std::get_if<std::vector<Requirement>>(&card.request.authority)) {
    for (const Requirement& requirement : *all) {
      const bool is_asked =
          std::find(card.pending.begin(), card.pending.end(), requirement) != card.pending.end();
      if (is_asked || IsRedirectedAsSpelled(requirement, card.request)) continue;
      allowed.push_back(Text(requirement));
    }
  }
  AddList(page, "needs as well, allowed already:", allowed);
}

void AddCard(Page& page, const ApprovalCard& card) {
  AddRequest(page, card.request);
  AddList(page, "its programs are:", card.programs);
  AddList(page, "what can be seen of it:", card.effects);
  AddRequirements(page, card);
}

// Only of a card that stands alone: what is stored for one call of a step is its narrowest form.
void AddRules(Page& page, const ApprovalCard& card, const PromptState& state) {
  if (card.would_store.empty()) return;
  const bool wider = state.form > 0 && state.form <= card.wider.size();
  const std::vector<std::string>& rules =
      wider ? card.wider[state.form - 1].rules : card.would_store;
  if (wider) page.Field("to be stored", card.wider[state.form - 1].name);
  AddList(page,
          card.can_persist ? "\"session\" and \"always\" store:" : "\"session\" stores:", rules);
}

void AddMarks(Page& page, absl::Span<const ApprovalCard> cards, const PromptState& state) {
  page.Line(kMargin, "a yes is for the calls with a mark:");
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const std::string mark = state.marked[i] ? "[x] " : "[ ] ";
    const auto& command = cards[i].request.command;
    page.Line(
        "  " + std::to_string(i + 1) + " " + mark,
        command.has_value() ? CommandDisplay(*command) : EscapeForDisplay(cards[i].request.tool));
  }
}

bool AnyStores(absl::Span<const ApprovalCard> cards) {
  return std::any_of(cards.begin(), cards.end(),
                     [](const ApprovalCard& card) { return !card.would_store.empty(); });
}

bool AnyPersists(absl::Span<const ApprovalCard> cards) {
  return std::any_of(cards.begin(), cards.end(),
                     [](const ApprovalCard& card) { return card.can_persist; });
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

std::string RenderQuestion(absl::Span<const ApprovalCard> cards, const PromptStyle& style) {
  Page page(style);
  page.Gap();
  if (cards.size() == 1) {
    const ApprovalCard& card = cards[0];
    page.Title("cordon: may the tool " + EscapeForDisplay(card.request.tool) + " do this?");
    if (card.waiting_behind > 0) {
      page.Line(kMargin, Plural(card.waiting_behind, "more question") + " waiting after this one");
    }
    AddCard(page, card);
    return page.Take();
  }
  page.Title("cordon: may these " + std::to_string(cards.size()) + " calls be done?");
  for (std::size_t i = 0; i < cards.size(); ++i) {
    page.Gap();
    page.Title("call " + std::to_string(i + 1) + " of " + std::to_string(cards.size()) + ", tool " +
               EscapeForDisplay(cards[i].request.tool));
    AddCard(page, cards[i]);
    AddList(page, "to be stored for it:", cards[i].would_store);
  }
  return page.Take();
}

// One key a line: a line of all of them would be broken on a narrow screen.
std::string RenderChoices(absl::Span<const ApprovalCard> cards, const PromptState& state,
                          const PromptStyle& style, std::chrono::seconds left) {
  Page page(style);
  page.Gap();
  const bool together = cards.size() > 1;
  if (together) {
    AddMarks(page, cards, state);
    page.Line(kMargin, "[1-" + std::to_string(cards.size()) + "] mark a call, or not");
  } else {
    AddRules(page, cards[0], state);
  }
  page.Line(kMargin, "[y] yes, once");
  if (AnyStores(cards)) page.Line(kMargin, "[s] yes, for this session");
  if (AnyPersists(cards)) page.Line(kMargin, "[a] yes, always");
  if (!together && !cards[0].would_store.empty() && !cards[0].wider.empty()) {
    page.Line(kMargin, "[w] store another form");
  }
  page.Line(kMargin, "[n] no (preselected: Enter or Escape)");
  page.Line(kMargin, "[e] no, with words for the model");
  page.Line(kMargin, "no answer in " + TimeLeftText(left) + ": nothing runs");
  return page.Take();
}

std::vector<std::string> SplitPages(const std::string& text, std::size_t rows) {
  std::vector<std::string> pages(1);
  std::size_t lines = 0;
  for (const std::string_view line : SplitLines(text)) {
    if (rows > 0 && lines == rows) {
      pages.emplace_back();
      lines = 0;
    }
    pages.back() += std::string(line) + "\n";
    ++lines;
  }
  // What follows the last newline is no line.
  if (!text.empty() && text.back() == '\n') {
    pages.back().pop_back();
    if (pages.back().empty()) pages.pop_back();
  }
  return pages;
}

PromptKey ReadKey(std::string_view bytes, absl::Span<const ApprovalCard> cards) {
  // A person who confirms with Enter at once may arrive as one read.
  if (bytes.size() == 2 && (bytes[1] == '\n' || bytes[1] == '\r')) bytes.remove_suffix(1);
  if (bytes.size() != 1) return {};
  const char key = bytes[0];
  if (cards.size() > 1 && key >= '1' && static_cast<std::size_t>(key - '1') < cards.size()) {
    return {PromptChoice::kToggle, static_cast<std::size_t>(key - '1')};
  }
  switch (key) {
    case 'y':
    case 'Y':
      return {PromptChoice::kOnce};
    case 's':
    case 'S':
      return {AnyStores(cards) ? PromptChoice::kSession : PromptChoice::kNone};
    case 'a':
    case 'A':
      return {AnyPersists(cards) ? PromptChoice::kAlways : PromptChoice::kNone};
    case 'w':
    case 'W':
      return {cards.size() == 1 && !cards[0].wider.empty() ? PromptChoice::kNextForm
                                                           : PromptChoice::kNone};
    case 'e':
    case 'E':
      return {PromptChoice::kDenyWithWords};
    case 'n':
    case 'N':
    case '\n':
    case '\r':
    case '\x1b':
      return {PromptChoice::kDeny};
    case '\x03':
      return {PromptChoice::kInterrupt};
  }
  return {};
}

PageChoice ReadPageKey(std::string_view bytes) {
  if (bytes.size() != 1) return PageChoice::kUnknown;
  switch (bytes[0]) {
    case ' ':
    case '\n':
    case '\r':
      return PageChoice::kNext;
    case 'n':
    case 'N':
    case '\x1b':
      return PageChoice::kDeny;
    case '\x03':
      return PageChoice::kInterrupt;
  }
  return PageChoice::kUnknown;
}

std::string TimeLeftText(std::chrono::seconds left) {
  const auto seconds = std::max<std::int64_t>(0, left.count());
  if (seconds < 120) return std::to_string(seconds) + " s";
  const std::string rest = std::to_string(seconds % 60);
  return std::to_string(seconds / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest + " min";
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
    case PromptChoice::kToggle:
    case PromptChoice::kNextForm:
      return "";
    case PromptChoice::kInterrupt:
      return "interrupted";
  }
  return "";
}

}  // namespace cordon::internal
