#include "cordon/sandbox/conformance.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

#include "descriptor_testing.h"
#include "executor_testing.h"
#include "landlock_abi.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::TemporaryFolder;

ConformanceOptions Options(const TemporaryFolder& folder) {
  ConformanceOptions options;
  options.scratch_root = folder.path();
  options.planted_variable = "CORDON_TEST_PLANTED";
  setenv("CORDON_TEST_PLANTED", "x", 1);
  return options;
}

Verdict On(const Conformance& result, std::string_view name) {
  for (const GuaranteeVerdict& verdict : result.verdicts) {
    if (verdict.guarantee == name) return verdict.verdict;
  }
  FAIL(name);
  return Verdict::kBroken;
}

void CheckHolds(Backend backend) {
  const DescriptorGuard guard;
  const TemporaryFolder folder;
  const absl::StatusOr<Conformance> result = ProveConformance(Options(folder), backend);
  if (!result.ok()) FAIL(result.status());
  for (const AttackResult& attack : result->attacks) {
    INFO(attack.attack << ": " << attack.inside);
    CHECK(attack.works_outside);
    CHECK_FALSE(attack.works_inside);
  }
  CHECK(result->Holds());
  for (const char* name :
       {"write_boundary", "read_boundary", "process_boundary", "env_scrub", "network_boundary"}) {
    INFO(name);
    CHECK(On(*result, name) == Verdict::kHeld);
  }
}

TEST_CASE("conformance: what the namespaces tier claims holds against every attack") {
  CORDON_NEED_NAMESPACES();
  CheckHolds(Backend::kNamespaces);
}

TEST_CASE("conformance: what the landlock tier claims holds against every attack") {
  if (LandlockScopesOf(QueryLandlockAbi()) == 0) CORDON_SKIP("landlock", "no scopes");
  CheckHolds(Backend::kLandlock);
}

// Runs commands without any confinement, and claims what the test says.
class Boaster final : public Executor {
 public:
  Boaster(std::shared_ptr<Executor> inner, const cordon::Guarantees& claimed)
      : inner_(std::move(inner)) {
    report_.backend = "none";
    report_.guarantees = claimed;
  }
  absl::StatusOr<RunResult> Run(const Command& command,
                                const cordon::RunOptions& options) override {
    ++runs;
    return inner_->Run(command, options);
  }
  absl::StatusOr<std::unique_ptr<PreparedProcess>> PrepareProcess(
      const Command& command, const ProcessOptions& options) override {
    return inner_->PrepareProcess(command, options);
  }
  GrantBinding BindingFor(const Command& command, std::string_view id) const override {
    return inner_->BindingFor(command, id);
  }
  std::shared_ptr<GrantAuthority> grant_authority() const override { return nullptr; }
  const Profile& profile() const override { return inner_->profile(); }
  const CompileReport& Report() const override { return report_; }

  int runs = 0;

 private:
  std::shared_ptr<Executor> inner_;
  CompileReport report_;
};

// What the suite says of an executor that claims `claimed` and confines nothing.
absl::StatusOr<Conformance> ProveBoaster(const Guarantees& claimed, int* runs) {
  const TemporaryFolder folder;
  std::unique_ptr<ExecutorSet> set;
  std::shared_ptr<Boaster> boaster;
  auto result = ProveConformance(
      Options(folder), [&](const Profile& profile) -> absl::StatusOr<std::shared_ptr<Executor>> {
        ProfileConfig config;
        config.workspace_root = profile.Settings().workspace_root;
        config.workspace_read = config.workspace_write = config.command = Access::kAllow;
        config.host_read = config.host_write = config.network = Access::kAllow;
        config.isolation = Isolation::kUnconfined;
        config.ack_unconfined = UnconfinedAcknowledgement::CommandsRunWithMyFullAuthority();
        ExecutorSetOptions options;
        options.scratch_root = folder.path();
        options.max_executors = 1;
        auto made = ExecutorSet::Create(Profile::Create(config).value(), options);
        REQUIRE(made.ok());
        set = *std::move(made);
        boaster = std::make_shared<Boaster>(set->For("x").value(), claimed);
        return boaster;
      });
  if (runs != nullptr) *runs = boaster->runs;
  return result;
}

TEST_CASE(
    "conformance: a claim that does not hold is found out, one that is not made is not tried") {
  Guarantees claimed;
  claimed.write_boundary = claimed.read_boundary = true;
  claimed.process_boundary = claimed.network_boundary = true;
  const absl::StatusOr<Conformance> result = ProveBoaster(claimed, nullptr);
  if (!result.ok()) FAIL(result.status());
  CHECK_FALSE(result->Holds());
  for (const char* name :
       {"write_boundary", "read_boundary", "process_boundary", "network_boundary"}) {
    INFO(name);
    CHECK(On(*result, name) == Verdict::kBroken);
  }
  CHECK(On(*result, "target_network") == Verdict::kNotClaimed);

  int runs = -1;
  const absl::StatusOr<Conformance> modest = ProveBoaster({}, &runs);
  REQUIRE(modest.ok());
  CHECK(modest->Holds());
  CHECK(runs == 0);
}

TEST_CASE("conformance: an attack without a control proves nothing") {
  const TemporaryFolder folder;
  ConformanceOptions options = Options(folder);
  options.planted_variable = "CORDON_TEST_ABSENT";
  const absl::StatusOr<Conformance> result = ProveConformance(options);
  if (!result.ok()) CORDON_SKIP("userns", std::string(result.status().message()));
  CHECK(On(*result, "env_scrub") == Verdict::kUnproved);
  CHECK_FALSE(result->Holds());
}

}  // namespace
}  // namespace cordon::internal
