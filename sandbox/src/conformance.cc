#include "cordon/sandbox/conformance.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "attack_ground.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/status.h"

namespace cordon {
namespace internal {
namespace {

constexpr std::uint64_t kProcessLimit = 16;
constexpr char kMoreProcesses[] = "48";
constexpr std::chrono::seconds kPatience{30};

struct Attack {
  // What shows that it worked.
  enum class Evidence : std::uint8_t {
    kStatus,    // The attacker says so.
    kFiles,     // The same, or the outside folder has changed.
    kContacts,  // Something arrived at a listening socket.
  };

  const char* guarantee;
  const char* name;
  std::vector<std::string> words;
  Evidence evidence = Evidence::kStatus;
};

std::vector<Attack> WriteAttacks(const AttackGround& ground) {
  constexpr auto kFiles = Attack::Evidence::kFiles;
  const std::string kept = ground.Outside("kept");
  const std::string made = ground.Outside("made");
  const auto attack = [](const char* name, std::vector<std::string> words) {
    return Attack{"write_boundary", name, std::move(words), kFiles};
  };
  return {attack("make a file outside", {"write", made}),
          attack("write to a file outside", {"write", kept}),
          attack("truncate a file outside", {"truncate", kept}),
          attack("remove a file outside", {"remove", kept}),
          attack("rename a file outside", {"move", kept, made}),
          attack("link a file outside", {"link", kept, made}),
          attack("change the mode of a file outside", {"mode", kept}),
          attack("change the times of a file outside", {"times", kept})};
}

std::vector<Attack> ReadAttacks(const AttackGround& ground) {
  return {
      {"read_boundary", "read a file outside", {"read", ground.Outside("secret")}},
      {"read_boundary", "list a folder outside", {"list", ground.Outside("")}},
      {"read_boundary", "read a denied file inside", {"read", ground.workspace() + "/.secret"}}};
}

std::vector<Attack> ProcessAttacks(const AttackGround& ground) {
  const std::string pid = ground.victim_pid();
  return {{"process_boundary", "signal a process of the host", {"signal", pid}},
          {"process_boundary", "change the limits of a process of the host", {"limit", pid}},
          {"process_boundary", "read the variables of a process of the host", {"environment", pid}},
          {"process_boundary", "read the arguments of a process of the host", {"arguments", pid}}};
}

std::vector<Attack> NetworkAttacks(const AttackGround& ground) {
  constexpr auto kContacts = Attack::Evidence::kContacts;
  const std::string& socket = ground.socket_path();
  return {{"network_boundary",
           "connect to a port of the host",
           {"connect", ground.stream_port()},
           kContacts},
          {"network_boundary",
           "send a datagram to the host",
           {"datagram", ground.datagram_port()},
           kContacts},
          {"network_boundary", "connect to a unix socket of the host", {"unix", socket}, kContacts},
          {"address_network",
           "connect to an address that was not granted",
           {"connect", ground.stream_port()},
           kContacts},
          {"target_network",
           "connect to a port that was not granted",
           {"connect", ground.stream_port()},
           kContacts}};
}

class Suite {
 public:
  Suite(const ConformanceOptions& options, AttackGround& ground, Executor& executor)
      : options_(options), ground_(ground), executor_(executor) {}

  absl::StatusOr<Conformance> Run() {
    result_.report = executor_.Report();
    for (const std::vector<Attack>& list :
         {WriteAttacks(ground_), ReadAttacks(ground_), ProcessAttacks(ground_),
          NetworkAttacks(ground_), OtherAttacks()}) {
      for (const Attack& attack : list) {
        if (!IsClaimed(attack.guarantee)) continue;
        if (absl::Status status = Try(attack); !status.ok()) return status;
      }
    }
    for (const std::string_view name : AllGuaranteeNames()) {
      result_.verdicts.push_back({std::string(name), VerdictOn(name)});
    }
    return std::move(result_);
  }

 private:
  std::vector<Attack> OtherAttacks() const {
    return {{"env_scrub", "see a variable of the caller", {"variable", options_.planted_variable}},
            {"resource_limits", "make more processes than the limit", {"fork", kMoreProcesses}}};
  }

  bool IsClaimed(std::string_view name) const {
    const std::vector<std::string_view> claimed = GuaranteeNames(result_.report.guarantees);
    return std::find(claimed.begin(), claimed.end(), name) != claimed.end();
  }

  // Whether it worked, given the attacker's status.
  bool Worked(const Attack& attack, int status) const {
    switch (attack.evidence) {
      case Attack::Evidence::kStatus:
        return status == 0;
      case Attack::Evidence::kFiles:
        return status == 0 || !ground_.IsUntouched();
      case Attack::Evidence::kContacts:
        return ground_.TakeContacts();
    }
    return true;
  }

  absl::Status Prepare() const {
    (void)ground_.TakeContacts();
    return ground_.Restore();
  }

  absl::Status Try(const Attack& attack) {
    AttackResult result{attack.guarantee, attack.name, false, false, ""};
    if (absl::Status status = Prepare(); !status.ok()) return status;
    result.works_outside = Worked(attack, ground_.RunOutside(attack.words));
    if (absl::Status status = Prepare(); !status.ok()) return status;
    std::vector<std::string> argv = {ground_.attacker()};
    argv.insert(argv.end(), attack.words.begin(), attack.words.end());
    RunOptions options;
    options.timeout = kPatience;
    const absl::StatusOr<RunResult> run = executor_.RunArgv(ground_.workspace(), argv, options);
    if (!run.ok()) return run.status();
    const int status = run->outcome.code.value_or(-1);
    result.works_inside = Worked(attack, status);
    result.inside = result.works_inside ? "done"
                    : status < 0        ? "ended by a signal"
                    : status == 0       ? "no effect"
                                        : std::strerror(status);
    result_.attacks.push_back(std::move(result));
    return absl::OkStatus();
  }

  Verdict VerdictOn(std::string_view name) const {
    if (!IsClaimed(name)) return Verdict::kNotClaimed;
    Verdict verdict = Verdict::kUnproved;
    for (const AttackResult& attack : result_.attacks) {
      if (attack.guarantee != name) continue;
      if (attack.works_inside) return Verdict::kBroken;
      if (attack.works_outside) verdict = Verdict::kHeld;
    }
    return verdict;
  }

  const ConformanceOptions& options_;
  AttackGround& ground_;
  Executor& executor_;
  Conformance result_;
};

absl::StatusOr<Profile> ProfileFor(const AttackGround& ground) {
  ProfileConfig config;
  config.workspace_root = ground.workspace();
  config.workspace_read = config.workspace_write = config.command = Access::kAllow;
  config.deny_read = {"**/.secret"};
  config.limits.processes = kProcessLimit;
  return Profile::Create(config);
}

absl::StatusOr<Conformance> Prove(const ConformanceOptions& options, AttackGround& ground,
                                  const ExecutorMaker& make) {
  const absl::StatusOr<Profile> profile = ProfileFor(ground);
  if (!profile.ok()) return profile.status();
  const absl::StatusOr<std::shared_ptr<Executor>> executor = make(*profile);
  if (!executor.ok()) return executor.status();
  return Suite(options, ground, **executor).Run();
}

}  // namespace
}  // namespace internal

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBroken:
      return "broken";
    case Verdict::kUnproved:
      return "unproved";
    case Verdict::kHeld:
      return "held";
    case Verdict::kNotClaimed:
      return "not claimed";
  }
  return "broken";
}

bool Conformance::Holds() const {
  return !verdicts.empty() &&
         std::all_of(verdicts.begin(), verdicts.end(), [](const GuaranteeVerdict& verdict) {
           return verdict.verdict >= Verdict::kHeld;
         });
}

absl::StatusOr<Conformance> ProveConformance(const ConformanceOptions& options,
                                             const ExecutorMaker& make) {
  const absl::StatusOr<std::string> root = ResolveSymlinks(options.scratch_root);
  if (!root.ok()) {
    return MakeError(ErrorCode::kInvalidOption, "scratch_root must be an existing folder");
  }
  absl::StatusOr<std::unique_ptr<internal::AttackGround>> ground =
      internal::AttackGround::Create(*root);
  if (!ground.ok()) return ground.status();
  return internal::Prove(options, **ground, make);
}

absl::StatusOr<Conformance> ProveConformance(const ConformanceOptions& options, Backend backend) {
  std::unique_ptr<ExecutorSet> set;
  return ProveConformance(options,
                          [&](const Profile& profile) -> absl::StatusOr<std::shared_ptr<Executor>> {
                            ExecutorSetOptions set_options;
                            set_options.scratch_root = options.scratch_root;
                            set_options.max_executors = 1;
                            set_options.backend = backend;
                            absl::StatusOr<std::unique_ptr<ExecutorSet>> made =
                                ExecutorSet::Create(profile, std::move(set_options));
                            if (!made.ok()) return made.status();
                            set = *std::move(made);
                            return set->For("conformance");
                          });
}

}  // namespace cordon
