// Commands beside each other, and names that must not come into being.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "executor_testing.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "/.vscode";

class Beside {
 public:
  // Says `name` when it has begun, does `text` when it is told to go on, and ends.
  std::unique_ptr<Process> Start(const std::string& name, const std::string& first,
                                 const std::string& text) {
    const std::string wait =
        "; touch " + name + "-here; while ! [ -e " + name + "-go ]; do sleep 0.01; done; " + text;
    auto prepared = fixture_.executor()->PrepareProcess(
        Command::Shell(first + wait, fixture_.workspace()), ProcessOptions());
    REQUIRE(prepared.ok());
    auto process = (*prepared)->Start();
    REQUIRE(process.ok());
    REQUIRE(Appears("/" + name + "-here"));
    return *std::move(process);
  }

  RunResult Finish(Process& process, const std::string& name) {
    std::ofstream(fixture_.workspace() + "/" + name + "-go") << "";
    absl::StatusOr<RunResult> result = process.Wait(std::chrono::steady_clock::now() + kDeadline);
    REQUIRE(result.ok());
    return *std::move(result);
  }

  [[nodiscard]] bool Has(const std::string& name) const {
    return Exists(fixture_.workspace() + name);
  }
  void Write(const std::string& name) const {
    std::ofstream(fixture_.workspace() + name) << "user";
  }
  [[nodiscard]] bool Says(const RunResult& result, const std::string& name) const {
    const auto& changed = result.changed_protected;
    return std::find(changed.begin(), changed.end(), fixture_.workspace() + name) != changed.end();
  }

  [[nodiscard]] bool Appears(const std::string& name) const {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    while (!Has(name)) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  SandboxFixture fixture_;
};

TEST_CASE("what a command plants is not taken for the user's by one that is begun beside it") {
  NEEDS_NAMESPACES();
  Beside beside;
  const auto first = beside.Start("first", "echo evil >.vscode", "true");
  REQUIRE(beside.Has(kName));  // The control.
  const auto second = beside.Start("second", "true",
                                   "echo evil >.vscode; touch planted; "
                                   "while ! [ -e end ]; do sleep 0.01; done");
  CHECK(beside.Says(beside.Finish(*first, "first"), kName));
  CHECK_FALSE(beside.Has(kName));
  beside.Write("/second-go");
  REQUIRE(beside.Appears("/planted"));
  REQUIRE(beside.Has(kName));
  // Nor by one that knows of the first only by the second.
  const auto third = beside.Start("third", "true", "echo evil >.vscode");
  beside.Write("/end");
  CHECK(beside.Says(beside.Finish(*second, "second"), kName));
  CHECK_FALSE(beside.Has(kName));
  CHECK(beside.Says(beside.Finish(*third, "third"), kName));
  CHECK_FALSE(beside.Has(kName));
}

TEST_CASE("what the user makes while one command runs is left alone by another one's end") {
  NEEDS_NAMESPACES();
  Beside beside;
  const auto first = beside.Start("first", "true", "true");
  beside.Write(kName);
  const auto second = beside.Start("second", "true", "true");
  CHECK_FALSE(beside.Says(beside.Finish(*second, "second"), kName));
  CHECK(beside.Has(kName));
  // As ever: it came into being while that one ran.
  CHECK(beside.Says(beside.Finish(*first, "first"), kName));
  CHECK_FALSE(beside.Has(kName));
  beside.Write(kName);
  const auto later = beside.Start("later", "true", "true");
  CHECK_FALSE(beside.Says(beside.Finish(*later, "later"), kName));
  CHECK(beside.Has(kName));
}

}  // namespace
}  // namespace cordon::internal::testing
