// What tests of observed commands share. The commands are python3's, which says nothing about their
// refusals.

#ifndef CORDON_SANDBOX_SRC_OBSERVATION_TESTING_H_
#define CORDON_SANDBOX_SRC_OBSERVATION_TESTING_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {

// Null when it is not listed.
inline const Denial* FindDenial(const RunResult& result, const std::string& kind,
                                const std::string& target) {
  const auto found = std::find_if(
      result.denials.begin(), result.denials.end(),
      [&](const Denial& denial) { return denial.kind == kind && denial.target == target; });
  return found == result.denials.end() ? nullptr : &*found;
}

// For messages.
inline std::string Shown(const RunResult& result) {
  std::string text;
  for (const Denial& denial : result.denials) {
    text += denial.kind + " " + denial.target + " " + std::to_string(denial.count) + ": " +
            denial.reason + "; " + denial.allow_with + "\n";
  }
  return text + result.standard_error.head;
}

// What the report says about gaps in the list; null when nothing.
inline const ReportEntry* ObservationEntry(const RunResult& result) {
  for (const ReportEntry& entry : result.report.entries) {
    if (entry.feature == "observation") return &entry;
  }
  return nullptr;
}

inline void Write(const std::string& path, const std::string& text = "text\n") {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

// A workspace, and beside it what it may read and what it may not.
struct ObservedGround : SandboxFixture {
  ObservedGround() {
    options.explain_paths = true;
    config.additional_roots = {{readable.path(), Access::kAllow, Access::kDeny}};
  }
  RunResult Python(const std::string& text, const RunOptions& run_options = {}) {
    absl::StatusOr<RunResult> result =
        executor()->RunArgv(workspace(), {"python3", "-c", text}, run_options);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    INFO(Shown(*result));
    REQUIRE(result->outcome.code == 0);
    return *std::move(result);
  }
  TemporaryFolder readable;
  TemporaryFolder hidden;
};

// Tries each line on its own.
inline std::string Attempts(const std::vector<std::string>& lines) {
  std::string text = "import os, socket\n";
  for (const std::string& line : lines) {
    text += "try: " + line + "\nexcept OSError: pass\n";
  }
  return text;
}

#define NEED_PYTHON()                                                \
  CORDON_NEED_NAMESPACES();                                          \
  if (std::system("python3 -c 1 >/dev/null 2>&1") != 0) /* NOLINT */ \
  CORDON_SKIP("python3", "there is no python3")

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_OBSERVATION_TESTING_H_
