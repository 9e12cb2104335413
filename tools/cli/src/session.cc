#include "session.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cache_folder.h"
#include "cordon/gate/approver.h"
#include "cordon/gate/audit.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/grants.h"
#include "cordon/gate/rules.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "egress.h"
#include "values.h"

namespace cordon::cli {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<Backend> BackendOf(const std::string& name) {
  if (name.empty() || name == "auto") return Backend::kAuto;
  if (name == "namespaces") return Backend::kNamespaces;
  if (name == "landlock") return Backend::kLandlock;
  return MakeError(ErrorCode::kInvalidOption,
                   absl::StrFormat("--backend '%s': it is auto, namespaces or landlock", name));
}

// Null when nobody can be asked.
absl::StatusOr<std::shared_ptr<Approver>> ApproverOf(const SessionOptions& options) {
  if (options.gate == "approve") return std::make_shared<ApproveEverything>();
  if (options.gate == "deny") return nullptr;
  if (!options.gate.empty() && options.gate != "ask") {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("--gate '%s': it is ask, deny or approve", options.gate));
  }
  if (options.approver != nullptr) return options.approver;
  if (AtTerminal()) return std::make_shared<TerminalApprover>();
  return nullptr;
}

bool IsMissing(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() == fs::file_type::not_found;
}

absl::Status CheckAudit(const SessionOptions& options, const Profile& profile) {
  if (profile.Settings().audit == AuditMode::kOptional || !options.audit.empty()) {
    return absl::OkStatus();
  }
  return MakeError(ErrorCode::kInvalidOption,
                   "the profile's \"audit\" requires an audit log: name one with --audit FILE");
}

absl::StatusOr<AuditOptions> AuditOptionsOf(const SessionOptions& options, const Profile& profile) {
  AuditOptions audit;
  const bool durable = profile.Settings().audit == AuditMode::kDurable;
  if (options.audit_sync || durable) audit.sync = AuditSync::kEachRecord;
  if (options.audit_rotate.empty()) return audit;
  const auto bytes = ParseSize(options.audit_rotate);
  if (!bytes.ok()) return Annotate(bytes.status(), "--audit-rotate");
  audit.max_file_bytes = *bytes;
  return audit;
}

// What is not there yet cannot be kept from being made, and then by the command.
absl::Status CheckMissingRules(const std::string& path, const Profile& profile) {
  if (!IsMissing(path)) return absl::OkStatus();
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(path, error).parent_path(), error);
  if (profile.Explain(Axis::kWrite, folder.string()).access == Access::kDeny) {
    return absl::OkStatus();
  }
  return MakeError(
      ErrorCode::kInvalidOption,
      absl::StrFormat(
          "--rules '%s': it is not there, and the command may write in its folder; make "
          "it first with `cordon rules add`, or keep it elsewhere",
          path));
}

class OpenSession : public Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Profile& profile,
                                                       const SessionOptions& options) {
    auto session = std::unique_ptr<OpenSession>(new OpenSession(options));
    if (const auto status = session->Build(profile); !status.ok()) return status;
    return session;
  }

  Executor& executor() override { return *executor_; }
  std::shared_ptr<Executor> shared_executor() override { return executor_; }
  Admission& admission() override { return *admission_; }
  LogSink* log() override { return log_.get(); }

  absl::StatusOr<std::vector<Grant>> AdmitCommand(const Command& command,
                                                  const std::string& execution_id) override {
    auto admitted = admission_->Admit(CommandRequest(command, execution_id, *executor_), {});
    if (!admitted.ok()) return admitted.status();
    return (*admitted)->Mint();
  }

  std::vector<ReportEntry> Entries() const override {
    std::vector<ReportEntry> entries;
    if (options_.gate == "approve") {
      entries.push_back({"gate", FeatureStatus::kUnenforced,
                         "--gate approve: every gated need was approved without a person"});
    }
    if (rules_were_missing_) {
      entries.push_back({"rules", FeatureStatus::kNarrowed, MissingRulesText(options_.rules)});
    }
    if (!options_.policy.resolve.empty()) {
      entries.push_back({"resolve", FeatureStatus::kNarrowed,
                         absl::StrFormat("addresses replaced for tests: %s",
                                         absl::StrJoin(options_.policy.resolve, ", "))});
    }
    return entries;
  }

  absl::Status Close() override { return set_->Close(); }

 private:
  explicit OpenSession(const SessionOptions& options) : options_(options) {}

  absl::Status Build(const Profile& profile) {
    const auto backend = BackendOf(options_.backend);
    if (!backend.ok()) return backend.status();
    auto approver = ApproverOf(options_);
    if (!approver.ok()) return approver.status();
    rules_were_missing_ = !options_.rules.empty() && IsMissing(options_.rules);
    auto rules = OpenSessionRules(options_, profile);
    if (!rules.ok()) return rules.status();
    if (auto status = CheckAudit(options_, profile); !status.ok()) return status;
    if (!options_.audit.empty()) {
      const auto audit_options = AuditOptionsOf(options_, profile);
      if (!audit_options.ok()) return audit_options.status();
      auto log = AuditLog::Open(options_.audit, *audit_options);
      if (!log.ok()) return Annotate(log.status(), "--audit");
      log_ = *std::move(log);
    }

    auto egress = SessionEgress::Create(options_.policy.resolve, profile.Settings().network_route,
                                        log_, *approver != nullptr || !options_.rules.empty());
    if (!egress.ok()) return egress.status();
    egress_ = *std::move(egress);

    ExecutorSetOptions set_options;
    set_options.scratch_root = ScratchRoot(profile);
    set_options.max_executors = 1;
    set_options.backend = *backend;
    set_options.index_cache = CacheFolder();
    if (!options_.many_commands) set_options.ready_sandboxes = 0;
    set_options.make_authority = HmacGrantAuthorityFactory();
    set_options.explain_paths = options_.explain;
    set_options.log = log_.get();
    set_options.egress = egress_->proxy();
    set_options.share_network = options_.share_network;
    set_options.late_proof = options_.late_proof;
    if (profile.Settings().limits != Limits()) LeaveDelegatedCgroup();
    auto set = ExecutorSet::Create(profile, std::move(set_options));
    if (!set.ok()) return set.status();
    set_ = *std::move(set);
    auto executor = set_->For("command-line");
    if (!executor.ok()) return executor.status();
    executor_ = *std::move(executor);

    GateOptions gate_options;
    gate_options.profile = profile;
    gate_options.rules = *std::move(rules);
    gate_options.approver = *approver != nullptr ? *approver : std::make_shared<NoApprover>();
    gate_options.log = log_.get();
    gate_options.log_required = log_ != nullptr;
    gate_options.authorities = {executor_->grant_authority()};
    auto gate = Gate::Create(std::move(gate_options));
    if (!gate.ok()) return gate.status();
    gate_ = *std::move(gate);
    // It has a thread of its own.
    const bool decides = egress_->proxy()->HasAuthorizer();
    admission_ = egress_->DecideWith(*gate_, decides ? gate_->MakeEgressGate({}) : nullptr);
    return absl::OkStatus();
  }

  const SessionOptions options_;
  bool rules_were_missing_ = false;
  std::shared_ptr<AuditLog> log_;  // Outlives everything that writes to it.
  std::unique_ptr<SessionEgress> egress_;
  std::unique_ptr<ExecutorSet> set_;
  std::shared_ptr<Executor> executor_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Admission> admission_;
};

}  // namespace

std::string ScratchRoot(const Profile& profile) {
  std::error_code error;
  const fs::path preferred = fs::temp_directory_path(error);
  for (const std::string& candidate : {preferred.string(), std::string("/var/tmp")}) {
    const auto resolved = candidate.empty() ? absl::StatusOr<std::string>(std::string("/tmp"))
                                            : ResolveSymlinks(NormalizePath(candidate));
    if (!resolved.ok()) continue;
    if (profile.Explain(Axis::kWrite, *resolved).access == Access::kDeny) return *resolved;
  }
  return "/tmp";
}

void AddSessionOptions(CLI::App& app, SessionOptions& options) {
  AddPolicyOptions(app, options.policy);
  app.add_option("--gate", options.gate,
                 "Who answers for gated needs: ask (a person at the terminal), deny, or approve "
                 "(everything; for tests)")
      ->type_name("MODE");
  app.add_option("--rules", options.rules, "Stored approvals to use and to add to")
      ->type_name("FILE");
  app.add_option("--backend", options.backend, "auto (the default), namespaces or landlock")
      ->type_name("NAME");
  app.add_option("--audit", options.audit, "Append to this audit log")->type_name("FILE");
  app.add_option("--audit-rotate", options.audit_rotate, "Go on in a new file beyond this size")
      ->type_name("SIZE");
  app.add_flag("--audit-sync", options.audit_sync, "Wait until each record is on the disk");
}

absl::StatusOr<Profile> BuildSessionProfile(const SessionOptions& options) {
  PolicyOptions policy = options.policy;
  // What decides about commands, and what tells of them, is not theirs to change.
  const auto protect = [&policy](const std::string& own, const std::vector<std::string>& beside) {
    if (own.empty()) return;
    std::error_code error;
    const std::string path = fs::absolute(own, error).lexically_normal().string();
    policy.deny_write.push_back(path);
    for (const std::string& suffix : beside) policy.deny_write.push_back(path + suffix);
  };
  protect(options.rules, {".lock", ".used"});
  protect(options.audit, {".head", ".[0-9]*"});
  return BuildProfile(policy);
}

bool AtTerminal() { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0; }

absl::StatusOr<std::shared_ptr<RuleSet>> OpenSessionRules(const SessionOptions& options,
                                                          const Profile& profile) {
  RuleSet::Options rule_options;
  rule_options.program_path = ProgramSearchPath(profile);
  if (options.rules.empty()) return RuleSet::InMemory(std::move(rule_options));
  if (const auto status = CheckMissingRules(options.rules, profile); !status.ok()) return status;
  auto rules = RuleSet::Open(options.rules, /*create=*/true, std::move(rule_options));
  if (!rules.ok()) return Annotate(rules.status(), "--rules");
  return rules;
}

std::string MissingRulesText(const std::string& path) {
  return absl::StrFormat("the rule file %s was not there: no stored rule held",
                         EscapeForDisplay(path));
}

Request CommandRequest(const Command& command, const std::string& execution_id,
                       const Executor& executor) {
  Request request;
  request.tool = "cordon";
  request.call_id = "run";
  request.execution_id = execution_id;
  request.command = command;
  request.authority = std::vector<Requirement>{RequireCommand(command)};
  request.binding = executor.BindingFor(command, execution_id);
  return request;
}

absl::StatusOr<std::string> StartDirectory(const std::string& chdir,
                                           const std::string& workspace_root) {
  std::error_code error;
  if (chdir.empty()) {
    const fs::path current = fs::current_path(error);
    if (!error && IsWithin(current.string(), workspace_root)) return current.string();
    return workspace_root;
  }
  const fs::path folder = fs::canonical(chdir, error);
  if (error || !fs::is_directory(folder, error)) {
    return MakeError(ErrorCode::kInvalidOption, absl::StrFormat("-C '%s': no such folder", chdir));
  }
  return folder.string();
}

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const Profile& profile,
                                                       const SessionOptions& options) {
  return OpenSession::Open(profile, options);
}

}  // namespace cordon::cli
