// The layers of the confinement as a probe reports them: which steps belong to which, what the
// absence of each costs, and what a person can do about it.

#ifndef CORDON_SANDBOX_SRC_PROBE_LAYERS_H_
#define CORDON_SANDBOX_SRC_PROBE_LAYERS_H_

#include <string>
#include <vector>

#include "cordon/sandbox/probe.h"
#include "plan.h"

namespace cordon::internal {

struct Layer {
  const char* name;
  const char* without;
};

inline constexpr Layer kLauncherLayer = {"launcher", "Nothing can be started at all."};
inline constexpr Layer kNamespaceLayer = {
    "namespaces", "The command sees the host's processes, files and network; only rules stop it."};
inline constexpr Layer kNetworkLayer = {"network namespace", "The host's network is within reach."};
inline constexpr Layer kViewLayer = {"mount view", "The command sees the host's file system."};
inline constexpr Layer kProcLayer = {"proc", "The command would see the host's /proc."};
inline constexpr Layer kSupervisionLayer = {
    "supervision", "What a command leaves behind could not be ended with certainty."};
inline constexpr Layer kLandlockLayer = {
    "landlock",
    "Files are protected by the mount view alone, without a second boundary; where namespaces are "
    "missing, too, nothing can be confined."};
inline constexpr Layer kSeccompLayer = {
    "seccomp", "The command can make every system call that the kernel offers."};

inline constexpr Layer kCgroupLayer = {
    "cgroup limits",
    "Limits on memory and processor time, and outside of namespaces on processes, are looked after "
    "20 times a second instead of kept by the kernel, and are not claimed as a guarantee."};

[[nodiscard]] const Layer& LayerOf(Step step);

// What to do about a step that failed, one sentence. `root` is put before the paths of the settings
// that word it.
[[nodiscard]] std::string FixFor(Step step, int error_number, const std::string& root = {});

// What to do where no cgroup can be used, and why it cannot.
[[nodiscard]] std::string CgroupFix(const std::string& why);

// See `HostProbe::landlock_gaps`.
[[nodiscard]] std::vector<std::string> LandlockGaps(int abi);

[[nodiscard]] LayerProbe Good(const Layer& layer);
[[nodiscard]] LayerProbe Bad(const Layer& layer, std::string step, int error_number,
                             std::string fix);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PROBE_LAYERS_H_
