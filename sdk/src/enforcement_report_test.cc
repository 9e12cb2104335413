#include "cordon/sdk/enforcement_report.h"

#include <set>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace cordon {
namespace {

TEST_CASE("bits and guarantees correspond one to one over all 256 values") {
  for (int bits = 0; bits <= 0xff; ++bits) {
    const auto byte = static_cast<std::uint8_t>(bits);
    CHECK(GuaranteesToBits(GuaranteesFromBits(byte)) == byte);
  }
}

TEST_CASE("the bit and the name of each guarantee are pinned") {
  const std::vector<std::pair<std::string_view, bool Guarantees::*>> fields = {
      {"process_boundary", &Guarantees::process_boundary},
      {"write_boundary", &Guarantees::write_boundary},
      {"read_boundary", &Guarantees::read_boundary},
      {"env_scrub", &Guarantees::env_scrub},
      {"network_boundary", &Guarantees::network_boundary},
      {"address_network", &Guarantees::address_network},
      {"target_network", &Guarantees::target_network},
      {"resource_limits", &Guarantees::resource_limits},
  };
  REQUIRE(AllGuaranteeNames().size() == fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [name, member] = fields[i];
    Guarantees one;
    one.*member = true;
    CHECK(GuaranteesToBits(one) == 1U << i);
    CHECK(AllGuaranteeNames()[i] == name);
    CHECK(GuaranteeFromName(name) == one);
    CHECK(GuaranteeNames(one) == std::vector<std::string_view>{name});
  }
  CHECK_FALSE(GuaranteeFromName("").has_value());
  CHECK_FALSE(GuaranteeFromName("write").has_value());
}

TEST_CASE("nothing is guaranteed by default") {
  CHECK(GuaranteesToBits(Guarantees{}) == 0);
  CHECK(GuaranteeNames(Guarantees{}).empty());
  CHECK(Level{} == Level::kNone);
  CHECK(FeatureStatus{} == FeatureStatus::kUnenforced);
  CHECK(CompileReport{}.lifetime == LifetimeContainment::kUnspecified);
}

TEST_CASE("what is missing is what is required and not achieved") {
  for (int required = 0; required <= 0xff; required += 5) {
    for (int achieved = 0; achieved <= 0xff; achieved += 3) {
      const Guarantees missing = Missing(GuaranteesFromBits(static_cast<std::uint8_t>(required)),
                                         GuaranteesFromBits(static_cast<std::uint8_t>(achieved)));
      CHECK(GuaranteesToBits(missing) == (required & ~achieved));
    }
  }
}

TEST_CASE("names of levels, statuses and lifetimes") {
  CHECK(LevelName(Level::kNone) == "none");
  CHECK(LevelName(Level::kDegraded) == "degraded");
  CHECK(LevelName(Level::kFull) == "full");
  CHECK(FeatureStatusName(FeatureStatus::kUnenforced) == "unenforced");
  CHECK(FeatureStatusName(FeatureStatus::kNarrowed) == "narrowed");
  CHECK(FeatureStatusName(FeatureStatus::kEnforced) == "enforced");
  CHECK(LifetimeContainmentName(LifetimeContainment::kUnspecified) == "unspecified");
  CHECK(LifetimeContainmentName(LifetimeContainment::kBestEffort) == "best_effort");
  CHECK(LifetimeContainmentName(LifetimeContainment::kEnforced) == "enforced");
}

}  // namespace
}  // namespace cordon
