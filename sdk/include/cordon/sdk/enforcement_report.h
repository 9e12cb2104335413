// What the host enforced, as opposed to what the policy asked for. Pure values; safe from any
// thread.

#ifndef CORDON_SDK_ENFORCEMENT_REPORT_H_
#define CORDON_SDK_ENFORCEMENT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

// Zero is the weakest. `kFull` implies `write_boundary`; `write_boundary` implies at least
// `kDegraded`.
enum class Level : std::uint8_t { kNone = 0, kDegraded = 1, kFull = 2 };

[[nodiscard]] std::string_view LevelName(Level level);  // "none", "degraded", "full"

// Each bit that is true must hold against a hostile program; an unset bit promises nothing.
// `address_network` and `target_network` imply `network_boundary`.
struct Guarantees {
  bool process_boundary = false;  // Nothing outside can be signalled, traced or read.
  bool write_boundary = false;    // Nothing outside the writable paths changes.
  bool read_boundary = false;     // Nothing outside the readable paths is read.
  bool env_scrub = false;         // No variable of the caller arrives unless the profile names it.
  bool network_boundary = false;  // The network is closed but for what follows.
  bool address_network = false;   // Only granted addresses are reachable.
  bool target_network = false;    // Only granted names and ports are reachable.
  bool resource_limits = false;   // Every limit that the profile sets holds for the whole tree.

  friend bool operator==(const Guarantees&, const Guarantees&) = default;
};

// Bit N is the Nth field above. A bijection over all 256 values.
[[nodiscard]] std::uint8_t GuaranteesToBits(const Guarantees& guarantees);
[[nodiscard]] Guarantees GuaranteesFromBits(std::uint8_t bits);

// The names of the fields that are set, in the order above.
[[nodiscard]] std::vector<std::string_view> GuaranteeNames(const Guarantees& guarantees);

// Every field's name, in the order above.
[[nodiscard]] const std::vector<std::string_view>& AllGuaranteeNames();

// One guarantee by its field name; nothing for an unknown name.
[[nodiscard]] std::optional<Guarantees> GuaranteeFromName(std::string_view name);

// What `required` asks and `achieved` lacks.
[[nodiscard]] Guarantees Missing(const Guarantees& required, const Guarantees& achieved);

// `kEnforced` appears only where the matching guarantee bit is set.
enum class FeatureStatus : std::uint8_t { kUnenforced = 0, kNarrowed = 1, kEnforced = 2 };

[[nodiscard]] std::string_view FeatureStatusName(FeatureStatus status);

struct ReportEntry {
  std::string feature;  // e.g. "filesystem.write"
  FeatureStatus status = FeatureStatus::kUnenforced;
  std::string detail;  // How, or what is missing and how to get it.

  friend bool operator==(const ReportEntry&, const ReportEntry&) = default;
};

// How surely everything that a spawn started has ended when its result is returned.
enum class LifetimeContainment : std::uint8_t { kUnspecified = 0, kBestEffort = 1, kEnforced = 2 };

[[nodiscard]] std::string_view LifetimeContainmentName(LifetimeContainment containment);

struct CompileReport {
  std::string backend;  // "namespaces", "landlock" or "none"
  Level level = Level::kNone;
  Guarantees guarantees;
  LifetimeContainment lifetime = LifetimeContainment::kUnspecified;
  std::vector<ReportEntry> entries;
};

}  // namespace cordon

#endif  // CORDON_SDK_ENFORCEMENT_REPORT_H_
