#include "cgroup_choice.h"

#include <cstdlib>
#include <utility>

#include "delegated_cgroup.h"
#include "launcher.h"

namespace cordon::internal {
namespace {

absl::Status CheckCanStart(CommandCgroups& cgroups, const std::string& fallback_directory) {
  const absl::StatusOr<std::shared_ptr<CommandCgroup>> one = cgroups.Make();
  if (!one.ok()) return one.status();
  const absl::StatusOr<std::shared_ptr<Launcher>> launcher = Launcher::Start(fallback_directory);
  if (!launcher.ok()) return launcher.status();
  absl::Status status = (*launcher)->CheckCgroup((*one)->fd());
  (*launcher)->Stop();
  return status;
}

}  // namespace

std::string NamedCgroup(const std::string& option) {
  if (!option.empty()) return option;
  const char* const variable = std::getenv("CORDON_CGROUP_ROOT");
  return variable == nullptr ? "" : variable;
}

absl::StatusOr<std::shared_ptr<CommandCgroups>> MakeCommandCgroups(
    const std::string& named, const Limits& limits, const std::string& fallback_directory) {
  const absl::StatusOr<std::string> delegated = FindDelegatedCgroup(named);
  if (!delegated.ok()) return delegated.status();
  absl::StatusOr<std::shared_ptr<CommandCgroups>> cgroups =
      CommandCgroups::Create(*delegated, limits);
  if (!cgroups.ok()) return cgroups.status();
  absl::Status status = CheckCanStart(**cgroups, fallback_directory);
  if (!status.ok()) return status;
  return cgroups;
}

bool MayWriteCgroups(const Profile& profile, const std::string& delegated) {
  return profile.Explain(Axis::kWrite, delegated).access != Access::kDeny;
}

}  // namespace cordon::internal
