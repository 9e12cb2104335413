// What an attacker tries on files that a policy keeps, the same in every tier.

#ifndef CORDON_TESTS_ESCAPE_FILE_ATTEMPTS_H_
#define CORDON_TESTS_ESCAPE_FILE_ATTEMPTS_H_

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"

namespace cordon::test {

// Whether a probe said an error by which something is refused, and not that its own attempt was
// odd.
[[nodiscard]] bool IsRefusal(const std::string& word);

// Each makes its own files in the empty `ground`, tries everything inside under `policy`, and has
// the same calls succeed where they may.

// `ground.outside()` may be read: nothing in it changes, its files' times and modes included.
void ExpectReadableRootKept(const Ground& ground, Words policy);

// A folder that may not be read, in a workspace that may be changed.
void ExpectDeniedFolderKept(const Ground& ground, Words policy);

// The hooks and settings of a repository and of a nested one, and the folders above them.
void ExpectProtectedFilesKept(const Ground& ground, const Words& policy);

}  // namespace cordon::test

#endif  // CORDON_TESTS_ESCAPE_FILE_ATTEMPTS_H_
