#include "probe_layers.h"

#include <cerrno>
#include <fstream>
#include <utility>

namespace cordon::internal {
namespace {

// Only to word a hint: what was found is never changed by it.
bool SettingIs(const char* path, const char* value) {
  std::ifstream file(path);
  std::string text;
  return file >> text && text == value;
}

std::string NamespaceFix() {
  if (SettingIs("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")) {
    return "AppArmor restricts user namespaces: give the program a profile with \"userns,\", or "
           "set kernel.apparmor_restrict_unprivileged_userns=0.";
  }
  if (SettingIs("/proc/sys/kernel/unprivileged_userns_clone", "0")) {
    return "Set kernel.unprivileged_userns_clone=1.";
  }
  if (SettingIs("/proc/sys/user/max_user_namespaces", "0")) {
    return "Set user.max_user_namespaces to more than 0.";
  }
  return "In a container, allow user namespaces: with Docker or Podman, "
         "--security-opt seccomp=unconfined --security-opt apparmor=unconfined.";
}

}  // namespace

const Layer& LayerOf(Step step) {
  switch (step) {
    case Step::kNamespaces:
    case Step::kIdMaps:
    case Step::kHostName:
      return kNamespaceLayer;
    case Step::kLoopback:
    case Step::kNetwork:
      return kNetworkLayer;
    case Step::kPropagation:
    case Step::kView:
    case Step::kPivot:
      return kViewLayer;
    case Step::kProc:
      return kProcLayer;
    case Step::kLandlock:
      return kLandlockLayer;
    case Step::kSeccomp:
      return kSeccompLayer;
    case Step::kNone:
    case Step::kPlan:
    case Step::kInit:
    case Step::kCapabilities:
    case Step::kNoNewPrivileges:
    case Step::kLimits:
    case Step::kWorkingDirectory:
    case Step::kExec:
      return kSupervisionLayer;
  }
  return kSupervisionLayer;
}

std::string FixFor(Step step, int error_number) {
  const Layer& layer = LayerOf(step);
  if (&layer == &kNamespaceLayer || &layer == &kNetworkLayer) return NamespaceFix();
  if (&layer == &kProcLayer && error_number == EPERM) {
    return "Parts of this container's /proc are masked: run it with "
           "--security-opt systempaths=unconfined.";
  }
  if (error_number == ENOSYS) return "Use Linux 5.12 or newer, unfiltered by a container.";
  if (&layer == &kLandlockLayer) {
    return "Use Linux 5.13 or newer with \"landlock\" among the boot parameter lsm=.";
  }
  if (&layer == &kSeccompLayer) return "Use a kernel with CONFIG_SECCOMP_FILTER.";
  return "Run where mounts may be changed inside a user namespace.";
}

LayerProbe Good(const Layer& layer) {
  LayerProbe probe;
  probe.layer = layer.name;
  probe.ok = true;
  probe.without = layer.without;
  return probe;
}

LayerProbe Bad(const Layer& layer, std::string step, int error_number, std::string fix) {
  LayerProbe probe;
  probe.layer = layer.name;
  probe.step = std::move(step);
  probe.error_number = error_number;
  probe.without = layer.without;
  probe.fix = std::move(fix);
  return probe;
}

}  // namespace cordon::internal
