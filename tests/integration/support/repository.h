// Git repositories for tests, and the check whether anything planted in one would run on the host.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_REPOSITORY_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_REPOSITORY_H_

#include <string>
#include <string_view>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"

namespace cordon::test {

// A repository with the branch `main`, one commit of `first.txt`, and its user in its own config.
void MakeRepository(const Ground& ground, std::string_view folder);

// A program in the workspace, `payload`, that leaves a trace when anybody runs it.
void MakePayload(const Ground& ground);
[[nodiscard]] bool PayloadRan(const Ground& ground);
void ForgetPayload(const Ground& ground);

// What a person does next in that folder, without a sandbox: status, add, commit, log, checkout.
void WorkOnHost(const Ground& ground, std::string_view folder);

// Fails unless `trick`, shell text in the workspace, makes the payload run when a person works in a
// copy of the workspace where nothing confined it, and does not when it was confined. Afterwards
// the workspace is as it was before.
void ExpectNoPlant(const Ground& ground, std::string_view trick, std::string_view folder = ".",
                   int line = __builtin_LINE());

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_REPOSITORY_H_
