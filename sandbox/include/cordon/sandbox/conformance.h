// Proves on this very host what a report claims: attacks every guarantee that is claimed, once from
// inside and once, as the control, from outside. One-way: a claimed guarantee must hold, one that
// is not claimed is not attacked. A claim whose attacks do not work outside either is not proved,
// which is no success.
//
// Attacks are harmless: their victims (files, a process, listening sockets on the loopback) are
// made for them in a folder of their own and removed. They are made by a small static program that
// this library brings along, so nothing else needs to be installed.

#ifndef CORDON_SANDBOX_CONFORMANCE_H_
#define CORDON_SANDBOX_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/profile.h"

namespace cordon {

enum class Verdict : std::uint8_t {
  kBroken = 0,  // An attack succeeded.
  kUnproved,    // No attack on it works here without a sandbox, so nothing was shown.
  kHeld,        // At least one attack works outside, and none did inside.
  kNotClaimed,  // Nothing is promised, and nothing was tried.
};

[[nodiscard]] std::string_view VerdictName(Verdict verdict);  // "broken", "held", ...

// One attempt.
struct AttackResult {
  std::string guarantee;  // By its name in `Guarantees`.
  std::string attack;     // e.g. "write a new file outside"
  bool works_outside = false;
  bool works_inside = false;
  std::string inside;  // What became of it, e.g. "Permission denied".
};

struct GuaranteeVerdict {
  std::string guarantee;
  Verdict verdict = Verdict::kBroken;
};

struct Conformance {
  CompileReport report;                    // Of the executor that was attacked.
  std::vector<GuaranteeVerdict> verdicts;  // One for each guarantee, in their order.
  std::vector<AttackResult> attacks;

  // Every claimed guarantee held.
  [[nodiscard]] bool Holds() const;
};

struct ConformanceOptions {
  // Mandatory: an existing folder in which programs can be executed.
  std::string scratch_root;
  // A variable of this process that the executor was given no reason to pass on. Empty, or absent
  // from the environment: env_scrub is not proved.
  std::string planted_variable;
};

// Makes an executor for a profile; e.g. one of your own backend. Called once. The executor is used
// until `ProveConformance` returns.
using ExecutorMaker =
    std::function<absl::StatusOr<std::shared_ptr<Executor>>(const Profile& profile)>;

// Runs the suite. Not safe while another thread changes the environment. Returns kInvalidOption for
// a missing folder, kInternal when the victims cannot be made, and what `make` or a run returns.
[[nodiscard]] absl::StatusOr<Conformance> ProveConformance(const ConformanceOptions& options,
                                                           const ExecutorMaker& make);

// The same for this library's own executors.
[[nodiscard]] absl::StatusOr<Conformance> ProveConformance(const ConformanceOptions& options,
                                                           Backend backend = Backend::kAuto);

}  // namespace cordon

#endif  // CORDON_SANDBOX_CONFORMANCE_H_
