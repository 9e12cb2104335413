// The text of a question and the meaning of keys: everything about a prompt that needs no terminal.
// Pure.
//
// No two different requests look alike: text from outside is escaped injectively, and lines that
// are too long are broken here, with a mark, since a terminal's own wrapping would let the tail of
// a long line pass for a line of the card. A card is read from top to bottom, without colour and
// without moving the cursor; what does not fit the screen is shown in pages.

#ifndef CORDON_GATE_SRC_PROMPT_H_
#define CORDON_GATE_SRC_PROMPT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "cordon/sdk/admission.h"

namespace cordon::internal {

struct PromptStyle {
  std::size_t columns = 80;
  std::size_t rows = 0;  // 0: unknown, then there are no pages.
  bool color = false;
};

// The calls of one model step that stand on one card: each has a key of its own.
inline constexpr std::size_t kMaxCallsTogether = 9;

// What a person has chosen so far.
struct PromptState {
  explicit PromptState(std::size_t calls) : marked(calls, true) {}
  std::vector<bool> marked;  // Which calls a yes would be for.
  std::size_t form = 0;      // What "session" and "always" would store, as in `ApprovalAnswer`.
};

// Everything that is asked about, never truncated.
[[nodiscard]] std::string RenderQuestion(absl::Span<const ApprovalCard> cards,
                                         const PromptStyle& style);

// What would be stored, the calls that are marked, and the keys. `left` is the time for an answer.
[[nodiscard]] std::string RenderChoices(absl::Span<const ApprovalCard> cards,
                                        const PromptState& state, const PromptStyle& style,
                                        std::chrono::seconds left);

// `text`, whole lines, as pages of at most `rows` lines; one page when `rows` is 0.
[[nodiscard]] std::vector<std::string> SplitPages(const std::string& text, std::size_t rows);

// One line of text as lines of at most `columns` columns, each but the first marked; every
// character that is not ASCII counts as two columns.
[[nodiscard]] std::string BreakLine(std::string_view prefix, std::string_view text,
                                    std::size_t columns);

enum class PromptChoice : std::uint8_t {
  kNone,  // Not a choice; ask on.
  kDeny,
  kDenyWithWords,
  kOnce,
  kSession,
  kAlways,
  kToggle,     // Marks a call, or takes its mark away.
  kNextForm,   // Another form of what would be stored.
  kInterrupt,  // Ctrl-C
};

struct PromptKey {
  PromptChoice choice = PromptChoice::kNone;
  std::size_t call = 0;  // For kToggle: its index.
};

// What the bytes of one key press mean. More than one key at once is no choice: it was pasted, or
// typed for something else.
[[nodiscard]] PromptKey ReadKey(std::string_view bytes, absl::Span<const ApprovalCard> cards);

// The same between two pages, where nothing can be approved.
enum class PageChoice : std::uint8_t { kUnknown, kNext, kDeny, kInterrupt };
[[nodiscard]] PageChoice ReadPageKey(std::string_view bytes);

// The line that is shown for a final choice.
[[nodiscard]] std::string_view ChoiceText(PromptChoice choice);

// "4:59", "12 s".
[[nodiscard]] std::string TimeLeftText(std::chrono::seconds left);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_PROMPT_H_
