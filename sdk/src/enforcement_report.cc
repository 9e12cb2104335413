#include "cordon/sdk/enforcement_report.h"

#include <array>
#include <cstddef>

namespace cordon {
namespace {

struct Field {
  std::string_view name;
  bool Guarantees::*member;
};

// In the order of the fields: the position is the bit.
constexpr std::array<Field, 8> kFields = {{
    {"process_boundary", &Guarantees::process_boundary},
    {"write_boundary", &Guarantees::write_boundary},
    {"read_boundary", &Guarantees::read_boundary},
    {"env_scrub", &Guarantees::env_scrub},
    {"network_boundary", &Guarantees::network_boundary},
    {"address_network", &Guarantees::address_network},
    {"target_network", &Guarantees::target_network},
    {"resource_limits", &Guarantees::resource_limits},
}};
static_assert(sizeof(Guarantees) == kFields.size(), "a field of Guarantees has no bit");

}  // namespace

std::string_view LevelName(Level level) {
  switch (level) {
    case Level::kNone:
      return "none";
    case Level::kDegraded:
      return "degraded";
    case Level::kFull:
      return "full";
  }
  return "none";
}

std::uint8_t GuaranteesToBits(const Guarantees& guarantees) {
  unsigned bits = 0;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (guarantees.*kFields[i].member) bits |= 1U << i;
  }
  return static_cast<std::uint8_t>(bits);
}

Guarantees GuaranteesFromBits(std::uint8_t bits) {
  Guarantees guarantees;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    guarantees.*kFields[i].member = ((bits >> i) & 1U) != 0;
  }
  return guarantees;
}

std::vector<std::string_view> GuaranteeNames(const Guarantees& guarantees) {
  std::vector<std::string_view> names;
  for (const Field& field : kFields) {
    if (guarantees.*field.member) names.push_back(field.name);
  }
  return names;
}

const std::vector<std::string_view>& AllGuaranteeNames() {
  static const std::vector<std::string_view> names = GuaranteeNames(GuaranteesFromBits(0xff));
  return names;
}

std::optional<Guarantees> GuaranteeFromName(std::string_view name) {
  for (const Field& field : kFields) {
    if (name != field.name) continue;
    Guarantees guarantees;
    guarantees.*field.member = true;
    return guarantees;
  }
  return std::nullopt;
}

Guarantees Missing(const Guarantees& required, const Guarantees& achieved) {
  const unsigned missing = GuaranteesToBits(required) & ~unsigned{GuaranteesToBits(achieved)};
  return GuaranteesFromBits(static_cast<std::uint8_t>(missing));
}

std::string_view FeatureStatusName(FeatureStatus status) {
  switch (status) {
    case FeatureStatus::kUnenforced:
      return "unenforced";
    case FeatureStatus::kNarrowed:
      return "narrowed";
    case FeatureStatus::kEnforced:
      return "enforced";
  }
  return "unenforced";
}

std::string_view LifetimeContainmentName(LifetimeContainment containment) {
  switch (containment) {
    case LifetimeContainment::kUnspecified:
      return "unspecified";
    case LifetimeContainment::kBestEffort:
      return "best_effort";
    case LifetimeContainment::kEnforced:
      return "enforced";
  }
  return "unspecified";
}

}  // namespace cordon
