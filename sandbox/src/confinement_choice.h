// What confines the commands of a set on this host: the tier, the filters, what holds the limits,
// and the report that says so.

#ifndef CORDON_SANDBOX_SRC_CONFINEMENT_CHOICE_H_
#define CORDON_SANDBOX_SRC_CONFINEMENT_CHOICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "command_cgroups.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sandbox/probe.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/profile.h"
#include "observed_calls.h"
#include "resource_limits.h"

namespace cordon::internal {

struct ChosenConfinement {
  CompileReport report;
  CompiledLimits limits;
  std::string seccomp_program;
  std::string observer_program;
  std::string reads_observer_program;
  ObservedScope observed;
  int landlock_abi = 0;
  Tier tier = Tier::kNamespaces;
  bool is_led = false;  // In the landlock tier: connections are led to the proxy.
  std::shared_ptr<CommandCgroups> cgroups;  // Null where no limit is held by one.
};

// `assumed`: what the host is taken for; null: it is probed. Returns kUnavailable when it cannot
// give what the profile or the options ask for, with what can be done about it, and what the
// profile's checks say.
[[nodiscard]] absl::StatusOr<ChosenConfinement> ChooseConfinement(const Profile& profile,
                                                                  const ExecutorSetOptions& options,
                                                                  const HostProbe* assumed);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_CONFINEMENT_CHOICE_H_
