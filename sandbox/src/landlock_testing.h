// For tests of the landlock tier, which is forced where the host could do better.

#ifndef CORDON_SANDBOX_SRC_LANDLOCK_TESTING_H_
#define CORDON_SANDBOX_SRC_LANDLOCK_TESTING_H_

#include <string>

#include "executor_testing.h"
#include "landlock_abi.h"
#include "support/catch.h"

namespace cordon::internal::testing {

struct OnHostFixture : SandboxFixture {
  OnHostFixture() { options.backend = Backend::kLandlock; }

  // What `text` of python3 prints, without the last line end.
  std::string Python(const std::string& text, const RunOptions& run_options = {}) {
    absl::StatusOr<RunResult> result =
        executor()->RunArgv(workspace(), {"python3", "-c", text}, run_options);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    INFO(result->standard_error.head);
    CHECK(result->outcome.code == 0);
    std::string said = result->standard_output.head;
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return said;
  }
};

// `changing(ours, theirs)`: where in memory a text is that another process, `child`, changes from
// one to the other and back all the time; `libc`, to hand it to calls.
inline constexpr char kChangingText[] =
    "import ctypes, mmap, os, signal\n"
    "libc = ctypes.CDLL(None)\n"
    "def changing(ours, theirs):\n"
    "  m = mmap.mmap(-1, 4096); at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
    "  ctypes.memmove(at, ours, len(ours))\n"
    "  child = os.fork()\n"
    "  while child == 0:\n"
    "    ctypes.memmove(at, theirs, len(theirs)); ctypes.memmove(at, ours, len(ours))\n"
    "  return at, child, m\n";

#define NEED_ON_HOST()                                                  \
  if (LandlockScopesOf(QueryLandlockAbi()) == 0) {                      \
    CORDON_SKIP("landlock", "this kernel has no Landlock with scopes"); \
  }                                                                     \
  if (std::system("python3 -c 1 >/dev/null 2>&1") != 0) /* NOLINT */    \
  CORDON_SKIP("python3", "there is no python3")

}  // namespace cordon::internal::testing

#define NEEDS_SCOPED_LANDLOCK()                                         \
  if (LandlockScopesOf(QueryLandlockAbi()) == 0) {                      \
    CORDON_SKIP("landlock", "this kernel has no Landlock with scopes"); \
  }                                                                     \
  static_assert(true)

#endif  // CORDON_SANDBOX_SRC_LANDLOCK_TESTING_H_
