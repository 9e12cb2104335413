// The text of a question and the meaning of keys: everything about a prompt that needs no terminal.
// Pure.
//
// No two different requests look alike: text from outside is escaped injectively, and lines that
// are too long are broken here, with a mark, since a terminal's own wrapping would let the tail of
// a long line pass for a line of the card.

#ifndef CORDON_GATE_SRC_PROMPT_H_
#define CORDON_GATE_SRC_PROMPT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cordon/sdk/admission.h"

namespace cordon::internal {

struct PromptStyle {
  std::size_t columns = 80;
  bool color = false;
};

// The whole question, never truncated, ending with the choices. `left` is the time for an answer.
[[nodiscard]] std::string RenderCard(const ApprovalCard& card, const PromptStyle& style,
                                     std::chrono::seconds left);

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
  kInterrupt,  // Ctrl-C
};

// What the bytes of one key press mean. More than one key at once is no choice: it was pasted, or
// typed for something else.
[[nodiscard]] PromptChoice ReadKey(std::string_view bytes, const ApprovalCard& card);

// The line that is shown for a final choice.
[[nodiscard]] std::string_view ChoiceText(PromptChoice choice);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_PROMPT_H_
