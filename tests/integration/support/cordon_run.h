// Runs the built program and judges what it did.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_CORDON_RUN_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_CORDON_RUN_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "integration/support/child.h"
#include "integration/support/ground.h"
#include "nlohmann/json.hpp"

namespace cordon::test {

using Words = std::vector<std::string>;

// The program under test.
[[nodiscard]] std::string CordonProgram();
// What `cordon run` needs besides to have that program as its command: one that is built with
// AddressSanitizer looks for leaks when it ends, by ptrace.
[[nodiscard]] Words NestedOptions();
inline constexpr bool kAddressSanitizer =
#ifdef CORDON_ADDRESS_SANITIZER
    true;
#else
    false;
#endif

struct RunOptions {
  std::string input;
  std::string directory;  // Of the caller; empty: the workspace.
  std::vector<std::pair<int, int>> descriptors;
  std::vector<int> ignored;
  std::vector<int> blocked;
  std::chrono::milliseconds limit = std::chrono::seconds(20);
};

struct CordonRun {
  std::string what;  // For messages.
  int status = -1;
  std::string out;
  std::string err;
  std::chrono::milliseconds elapsed{0};
  nlohmann::json report;  // Null when none was written.
};

// The program with these arguments, which must end in time.
[[nodiscard]] CordonRun RunCordon(const Ground& ground, const Words& arguments,
                                  const RunOptions& options = {});

// `cordon run -w WORKSPACE --report ...` with these further arguments.
[[nodiscard]] CordonRun RunInside(const Ground& ground, const Words& arguments,
                                  const RunOptions& options = {});
// The same for shell text under these policy options.
[[nodiscard]] CordonRun RunText(const Ground& ground, const Words& policy, std::string_view text,
                                const RunOptions& options = {});

// What `RunInside` starts, as a child to talk to; writes the report to `ReportPath`.
[[nodiscard]] Words InsideCommand(const Ground& ground, const Words& arguments);
[[nodiscard]] ChildOptions InsideOptions(const Ground& ground, const RunOptions& options = {});
[[nodiscard]] std::string ReportPath(const Ground& ground);
[[nodiscard]] nlohmann::json ReadReport(const Ground& ground);

[[nodiscard]] bool Has(std::string_view text, std::string_view part);

// Checks one run; a failure shows the whole of it.
class Expect {
 public:
  explicit Expect(const CordonRun& run, std::string what = {}, int line = __builtin_LINE());

  const Expect& Status(int status) const;
  const Expect& Out(std::string_view part) const;
  const Expect& OutIs(std::string_view text) const;
  const Expect& NoOut(std::string_view part) const;
  const Expect& Err(std::string_view part) const;
  const Expect& NoErr(std::string_view part) const;
  const Expect& Below(std::chrono::milliseconds limit) const;
  // Status 125, nothing on standard output, and one line that says why.
  const Expect& NotStarted() const;

 private:
  const CordonRun& run_;
  std::string about_;
};

// The member of the report at a JSON pointer such as "/outcome/kind"; null where there is none.
[[nodiscard]] nlohmann::json ReportAt(const CordonRun& run, const std::string& pointer);

// Fails unless `act`, shell text, works without a sandbox (after which `undo` is run), and fails
// inside although it was started. Returns the run inside, after which `undo` is run again.
CordonRun ExpectRefused(const Ground& ground, const Words& policy, std::string_view act,
                        std::string_view undo = {}, int line = __builtin_LINE());

// Fails unless `act` works inside.
CordonRun ExpectAllowed(const Ground& ground, const Words& policy, std::string_view act,
                        int line = __builtin_LINE());

// Runs `act` inside, in whatever it succeeds, and fails if it was not even started.
CordonRun Attempt(const Ground& ground, const Words& policy, std::string_view act,
                  int line = __builtin_LINE());

// Fails unless `act` works without a sandbox; returns what it printed.
std::string Control(const Ground& ground, std::string_view act, int line = __builtin_LINE());

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_CORDON_RUN_H_
