// The catalogue's data, a group a file. Left out on purpose: options that name a program
// (`--ext-diff`, `--textconv`, `-exec`, `-toolexec`, `--pre`), a file to write (`--output`, `-o`,
// `-coverprofile`), another place to work in (`-C`, `-f`, `--manifest-path`) or configuration
// (`-c`, `--config`).

#ifndef CORDON_GATE_SRC_FAMILY_GROUPS_H_
#define CORDON_GATE_SRC_FAMILY_GROUPS_H_

#include <vector>

#include "families.h"

namespace cordon::internal {

[[nodiscard]] std::vector<Family> GitFamilies();
[[nodiscard]] std::vector<Family> FileFamilies();
[[nodiscard]] std::vector<Family> BuildFamilies();

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_FAMILY_GROUPS_H_
