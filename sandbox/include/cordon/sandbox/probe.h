// What this host can really enforce, found out by building it: every step that a spawn needs is
// performed once in a throw-away child. Nothing is concluded from version numbers or settings.

#ifndef CORDON_SANDBOX_PROBE_H_
#define CORDON_SANDBOX_PROBE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

// The best kind of confinement that can be built. Zero is the weakest.
enum class Tier : std::uint8_t {
  kNone = 0,
  kLandlock = 1,    // Landlock, seccomp and a process group; for hosts without user namespaces.
  kNamespaces = 2,  // User, mount, pid, network, ipc, uts and cgroup namespaces, and the above.
};

[[nodiscard]] std::string_view TierName(Tier tier);  // "none", "landlock", "namespaces"

// One layer of the confinement.
struct LayerProbe {
  std::string layer;     // e.g. "namespaces", "mount view", "landlock", "seccomp"
  bool ok = false;       // It was built, and removed again.
  std::string step;      // Where it failed, e.g. "id maps"; empty when ok.
  int error_number = 0;  // errno of that step; 0 when ok.
  std::string without;   // What its absence costs, one sentence.
  std::string fix;       // What a person can do about it, one sentence; empty when ok.
};

struct HostProbe {
  Tier tier = Tier::kNone;  // The best one.
  bool landlock_tier =
      false;             // Whether `Tier::kLandlock` can be built, also when a better one can.
  int landlock_abi = 0;  // 0: the kernel has no Landlock, or it is switched off.
  // What this kernel's Landlock lacks and newer ones have, one sentence each: what that costs, and
  // from which version on it is there.
  std::vector<std::string> landlock_gaps;
  std::vector<LayerProbe> layers;
};

// The result for this process, found out by the first call (some milliseconds) and kept. Safe from
// any thread. `fallback_directory` is used only where programs cannot be executed from memory; the
// first caller's counts. For tests, the variable CORDON_SIMULATE_FAILURE has steps fail:
// "STEP:ERRNO,..." with the names that `LayerProbe::step` has, e.g. "id maps:1,landlock:38". It
// only ever lowers the tier.
[[nodiscard]] const HostProbe& ProbeHost(const std::string& fallback_directory);

// Whether the limits of commands can be held by cgroups (version 2) here, found out by starting a
// process in one; what it takes is said at `ExecutorSetOptions::cgroup_root`. No tier depends on
// it. Safe from any thread.
[[nodiscard]] LayerProbe ProbeLimits(const std::string& fallback_directory);

}  // namespace cordon

#endif  // CORDON_SANDBOX_PROBE_H_
