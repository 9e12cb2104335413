#include "probe_layers.h"

#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

namespace cordon::internal {
namespace {

// Only to word a hint: what was found is never changed by it.
bool SettingIs(const std::string& path, std::string_view value) {
  std::ifstream file(path);
  std::string text;
  return file >> text && text == value;
}

// Whether a filter of somebody else is on this process, e.g. that of a container.
bool IsFiltered(const std::string& root) {
  std::ifstream file(root + "/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Seccomp:", 0) == 0) return line.back() != '0';
  }
  return false;
}

std::string NamespaceFix(int error_number, const std::string& root) {
  const std::string settings = root + "/proc/sys/";
  if (SettingIs(settings + "kernel/apparmor_restrict_unprivileged_userns", "1")) {
    return "AppArmor restricts user namespaces: give the program a profile with \"userns,\" "
           "(/etc/apparmor.d), or set kernel.apparmor_restrict_unprivileged_userns=0 with sysctl.";
  }
  if (SettingIs(settings + "kernel/unprivileged_userns_clone", "0")) {
    return "Set kernel.unprivileged_userns_clone=1 with sysctl.";
  }
  if (SettingIs(settings + "user/max_user_namespaces", "0") || error_number == ENOSPC) {
    return "Set user.max_user_namespaces to more than 0 with sysctl.";
  }
  if (error_number == EUSERS) return "There are too many nested user namespaces: run it outside.";
  if (IsFiltered(root)) {
    return "A system call filter, as of a container or another sandbox, refuses namespaces: with "
           "Docker or Podman, --security-opt seccomp=unconfined --security-opt "
           "apparmor=unconfined; inside cordon this is meant.";
  }
  return "Run it outside of a chroot, with a kernel that has CONFIG_USER_NS; in a container, allow "
         "user namespaces.";
}

std::string LandlockFix(int error_number) {
  switch (error_number) {
    case EOPNOTSUPP:
      return "Landlock is switched off: add \"landlock\" to the boot parameter lsm=, e.g. "
             "lsm=landlock,yama,apparmor.";
    case EPERM:
      return "A system call filter, as of a container, refuses Landlock: with Docker or Podman, "
             "use a version whose profile allows it, or --security-opt seccomp=unconfined.";
  }
  return "Use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK; 6.12 for everything that cordon "
         "uses of it.";
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
    case Step::kTerminal:
    case Step::kCapabilities:
    case Step::kNoNewPrivileges:
    case Step::kLimits:
    case Step::kWorkingDirectory:
    case Step::kExec:
      return kSupervisionLayer;
  }
  return kSupervisionLayer;
}

std::string FixFor(Step step, int error_number, const std::string& root) {
  const Layer& layer = LayerOf(step);
  if (&layer == &kLandlockLayer) return LandlockFix(error_number);
  if (&layer == &kSeccompLayer) {
    return "Use a kernel with CONFIG_SECCOMP_FILTER, on x86_64 or aarch64.";
  }
  if (error_number == ENOSYS) {
    return "Use Linux 5.12 or newer, unfiltered by a container: openat2 and mount_setattr are "
           "needed.";
  }
  if (&layer == &kNamespaceLayer || &layer == &kNetworkLayer) {
    return NamespaceFix(error_number, root);
  }
  if (&layer == &kProcLayer) {
    return "Parts of this container's /proc are masked, so that none can be mounted: run it with "
           "--security-opt systempaths=unconfined (Docker), or --security-opt unmask=ALL (Podman).";
  }
  if (&layer == &kSupervisionLayer && error_number == EACCES) {
    return "Inside of cordon's landlock tier no process can be looked at, so nothing can be "
           "nested: "
           "run it outside, or where the outer one has namespaces.";
  }
  if (&layer == &kSupervisionLayer) {
    return "Mount /proc, and run the program where processes can be started.";
  }
  return "Run where mounts may be changed inside a user namespace: AppArmor or SELinux may forbid "
         "it.";
}

std::string CgroupFix(const std::string& why) {
  return "Where systemd runs, start it as `CORDON_CGROUP_ROOT=own systemd-run --user --scope -p "
         "Delegate=yes cordon ...` (as root without --user); elsewhere give this user a cgroup of "
         "version 2 with the memory "
         "and pids controllers, be in one below it, and name it as CORDON_CGROUP_ROOT (" +
         why + ").";
}

std::vector<std::string> LandlockGaps(int abi) {
  std::vector<std::string> gaps;
  if (abi <= 0) return gaps;  // The layer says it.
  if (abi < 3) gaps.emplace_back("No right to truncate by a path (Linux 6.2).");
  if (abi < 4)
    gaps.emplace_back("No rules for TCP: only the filter closes the network (Linux 6.7).");
  if (abi < 5) gaps.emplace_back("No rules for device controls (Linux 6.10).");
  if (abi < 6) {
    gaps.emplace_back(
        "No scopes: signals could not be kept in, so there is no landlock tier, only that of "
        "namespaces; there, with an open network, abstract unix sockets are reachable "
        "(Linux 6.12).");
  }
  return gaps;
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
