// The scripts of sed(1) that only print. Pure.

#ifndef CORDON_GATE_SRC_SED_SCRIPT_H_
#define CORDON_GATE_SRC_SED_SCRIPT_H_

#include <string_view>

namespace cordon::internal {

// `10,20p`, `/begin/,/end/p`, `s/a/b/g` and such, joined by `;`. Commands that write files or
// execute
// (`w`, `e`, `s///w`) are not among them.
[[nodiscard]] bool IsHarmlessSedScript(std::string_view script);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_SED_SCRIPT_H_
