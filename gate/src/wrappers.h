// Looks through programs that run the command that their arguments are: `env`, `nice`, `time`,
// `timeout`, `xargs` and `sh -c`. Only options that are known not to change what runs, or where,
// are looked through. Pure.

#ifndef CORDON_GATE_SRC_WRAPPERS_H_
#define CORDON_GATE_SRC_WRAPPERS_H_

#include <optional>

#include "shell_words.h"

namespace cordon::internal {

// The simple commands that `command` runs in place of itself; nothing when it is no such wrapper,
// or one that cannot be looked through: an option that is not known, a program of that name in
// another folder, text that is opaque. They may be wrappers again, and carry what stands around
// `command`: its redirections, its assignments, its wrappers and itself. What `xargs` reads is a
// word `from_input`. The variables that `env` takes away count as assigned, and for `env -i` the
// one without a name.
[[nodiscard]] std::optional<ShellText> Unwrap(const SimpleCommand& command);

// `text` with every wrapper replaced by what it runs, as far as it can be looked through.
[[nodiscard]] ShellText UnwrapAll(const ShellText& text);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_WRAPPERS_H_
