// How a path that a policy refuses would be allowed, as an option of `cordon run`: for denials and
// for `cordon why`. Pure; safe from any thread.

#ifndef CORDON_SDK_PATH_REMEDY_H_
#define CORDON_SDK_PATH_REMEDY_H_

#include <string>
#include <string_view>

#include "cordon/sdk/path_policy.h"

namespace cordon {

// For `path`, about which `decision` was made. A deny glob is over every allow, so that only to
// leave it out helps. What does not exist is allowed by its folder.
[[nodiscard]] std::string PathRemedy(Axis axis, const PathDecision& decision, std::string_view path,
                                     bool exists);

// `text` as one word of a POSIX shell.
[[nodiscard]] std::string ShellQuoted(std::string_view text);

}  // namespace cordon

#endif  // CORDON_SDK_PATH_REMEDY_H_
