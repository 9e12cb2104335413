// A gate with everything around it, for tests: a folder, a log in memory, a scripted person, a
// grant authority, and a profile whose commands and network are gated.

#ifndef CORDON_GATE_SRC_GATE_BENCH_H_
#define CORDON_GATE_SRC_GATE_BENCH_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/gate/approver.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/grants.h"
#include "cordon/sdk/status.h"
#include "temporary_folder.h"

namespace cordon::internal {

// Keeps what was logged, or refuses to.
class MemoryLog : public LogSink {
 public:
  absl::Status Append(const LogRecord& record) override {
    const std::lock_guard lock(mutex_);
    if (broken) return MakeError(ErrorCode::kLogFailed, "the disk is full");
    std::string line = record.event + " " + record.execution_id;
    for (const auto& [key, value] : record.fields) line += " " + key + "=" + value;
    lines.push_back(line);
    return absl::OkStatus();
  }
  [[nodiscard]] bool Has(std::string_view text) const {
    for (const std::string& line : lines) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }
  std::vector<std::string> lines;
  std::atomic<bool> broken{false};

 private:
  std::mutex mutex_;
};

inline ApprovalAnswer Yes(Remember remember = Remember::kOnce) { return {true, remember, "", {}}; }
inline ApprovalAnswer No(std::string words = "") {
  return {false, Remember::kOnce, std::move(words), {}};
}

// A gate on a profile whose commands and network are gated, with everything around it.
class GateBench {
 public:
  explicit GateBench(std::vector<ApprovalAnswer> answers = {}, Access command = Access::kGated)
      : approver(std::make_shared<ScriptedApprover>(std::move(answers))) {
    ProfileConfig config;
    config.workspace_root = folder.Path();
    config.workspace_read = Access::kAllow;
    config.workspace_write = Access::kGated;
    config.network = Access::kGated;
    config.network_targets = {"allowed.example:443"};
    config.command = command;
    options.profile = Profile::Create(config).value();
    options.rules = RuleSet::Open(folder.Path("rules"), true).value();
    options.approver = approver;
    options.log = &log;
    authority = NewHmacGrantAuthority("executor").value();
    options.authorities = {authority};
  }

  Gate& gate() {
    if (gate_ == nullptr) gate_ = Gate::Create(options).value();
    return *gate_;
  }

  [[nodiscard]] Request RequestOf(const std::string& text,
                                  std::vector<Requirement> more = {}) const {
    Request request;
    request.tool = "bash";
    request.call_id = "call";
    request.execution_id = "execution";
    request.command = Command::Shell(text, folder.Path());
    more.insert(more.begin(), RequireCommand(*request.command));
    request.authority = std::move(more);
    GrantBinding binding;
    binding.executor_id = "executor";
    binding.execution_id = "execution";
    binding.command_digest = CommandDigest(*request.command);
    binding.working_directory = folder.Path();
    binding.profile_fingerprint = options.profile.Fingerprint();
    binding.route_fingerprint = "direct";
    request.binding = binding;
    return request;
  }

  absl::StatusOr<std::vector<Grant>> AdmitAndMint(const Request& request) {
    auto admitted = gate().Admit(request, {});
    if (!admitted.ok()) return admitted.status();
    return (*admitted)->Mint();
  }
  [[nodiscard]] std::size_t questions() const { return approver->cards().size(); }

  TemporaryFolder folder;
  MemoryLog log;
  std::shared_ptr<ScriptedApprover> approver;
  std::shared_ptr<GrantAuthority> authority;
  GateOptions options;

 private:
  std::unique_ptr<Gate> gate_;
};

inline Requirement Target(std::string_view text) {
  return RequireNetwork(ParseNetworkTarget(text).value());
}

inline bool Mentions(const absl::Status& status, std::string_view text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_GATE_BENCH_H_
