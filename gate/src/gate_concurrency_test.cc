// The gate's records, and its behaviour when several threads use it.

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cordon/gate/gate.h"
#include "cordon/sdk/status.h"
#include "gate_bench.h"
#include "support/catch.h"

namespace cordon {
namespace {

using internal::GateBench;
using internal::Yes;

TEST_CASE("every step is logged under the execution id, without a token") {
  GateBench bench({Yes()});
  const std::vector<Grant> grants = bench.AdmitAndMint(bench.RequestOf("make")).value();
  CHECK(bench.log.Has("request execution tool=bash"));
  CHECK(bench.log.Has("decision execution outcome=approved by=person remember=once"));
  CHECK(bench.log.Has("decision execution outcome=admitted"));
  CHECK(bench.log.Has("grant.issued execution class=command.start.v1"));
  CHECK_FALSE(bench.log.Has(grants[0].token()));
  CHECK_FALSE(bench.gate().Admit(bench.RequestOf("ls"), {}).ok());
  CHECK(bench.log.Has("refused execution code=no_approver"));
}

TEST_CASE("a required log that fails refuses, another does not") {
  GateBench optional({Yes()});
  optional.log.broken = true;
  CHECK(optional.AdmitAndMint(optional.RequestOf("make")).ok());

  GateBench required({Yes(), Yes()});
  required.options.log_required = true;
  const auto admitted = required.gate().Admit(required.RequestOf("make"), {}).value();
  required.log.broken = true;
  CHECK(Is(admitted->Mint().status(), ErrorCode::kLogFailed));
  CHECK(Is(required.gate().Admit(required.RequestOf("make"), {}).status(), ErrorCode::kLogFailed));
  CHECK(required.questions() == 1);
}

class DurableLog final : public internal::MemoryLog {
 public:
  bool IsDurable() const override { return true; }
};

void SetAudit(GateBench& bench, AuditMode mode) {
  ProfileConfig config = bench.options.profile.Settings();
  config.audit = mode;
  bench.options.profile = Profile::Create(config).value();
}

TEST_CASE("a profile that requires a log has nothing admitted without one, or when it fails") {
  GateBench bench({Yes(), Yes()});
  SetAudit(bench, AuditMode::kRequired);
  CHECK(bench.gate().Admit(bench.RequestOf("make"), {}).ok());
  bench.log.broken = true;
  CHECK(Is(bench.gate().Admit(bench.RequestOf("make"), {}).status(), ErrorCode::kLogFailed));

  GateBench without({Yes()});
  without.options.log = nullptr;
  CHECK(without.gate().Admit(without.RequestOf("make"), {}).ok());
  GateBench required({Yes()});
  required.options.log = nullptr;
  SetAudit(required, AuditMode::kRequired);
  CHECK(Is(required.gate().Admit(required.RequestOf("make"), {}).status(), ErrorCode::kLogFailed));
  CHECK(required.questions() == 0);
}

TEST_CASE("a profile that requires a durable log is not decided about with another") {
  GateBench bench;
  SetAudit(bench, AuditMode::kDurable);
  CHECK(Is(Gate::Create(bench.options).status(), ErrorCode::kInvalidOption));
  DurableLog durable;
  bench.options.log = &durable;
  CHECK(Gate::Create(bench.options).ok());
}

TEST_CASE("a decision outlives its gate") {
  GateBench bench({Yes()});
  std::unique_ptr<Admitted> admitted;
  {
    const auto gate = Gate::Create(bench.options).value();
    admitted = gate->Admit(bench.RequestOf("make"), {}).value();
  }
  CHECK(admitted->Mint().ok());
}

TEST_CASE("a cancelled request is not asked about") {
  GateBench bench({Yes()});
  std::stop_source stop;
  stop.request_stop();
  const absl::Status status =
      bench.gate().Admit(bench.RequestOf("make"), stop.get_token()).status();
  CHECK(Is(status, ErrorCode::kCancelled));
  CHECK(bench.questions() == 0);
}

TEST_CASE("questions of many threads come one at a time and answers settle those behind") {
  GateBench bench;
  std::atomic<int> open{0};
  std::atomic<int> asked{0};
  std::atomic<bool> overlapped{false};
  bench.options.approver = std::make_shared<CallbackApprover>(
      [&](const ApprovalCard& card, std::stop_token) -> absl::StatusOr<ApprovalAnswer> {
        if (++open > 1) overlapped = true;
        ++asked;
        --open;
        return ApprovalAnswer{true, Remember::kSession, "", card.digest};
      });
  Gate& gate = bench.gate();
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string text = i % 2 == 0 ? "make" : "ls";
      auto decision = gate.Admit(bench.RequestOf(text), {});
      if (decision.ok() && (*decision)->Mint().ok()) ++admitted;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(admitted == 8);
  CHECK(asked == 2);
  CHECK_FALSE(overlapped);
}

TEST_CASE("a waiting question can be cancelled while another is open") {
  GateBench bench;
  std::atomic<bool> first_is_open{false};
  std::stop_source let_go;
  bench.options.approver = std::make_shared<CallbackApprover>(
      [&](const ApprovalCard& card, std::stop_token) -> absl::StatusOr<ApprovalAnswer> {
        first_is_open = true;
        first_is_open.notify_all();
        std::atomic<bool> released{false};
        const std::stop_callback release(let_go.get_token(), [&released] {
          released = true;
          released.notify_all();
        });
        released.wait(false);
        return ApprovalAnswer{true, Remember::kOnce, "", card.digest};
      });
  Gate& gate = bench.gate();
  absl::Status first_status;
  std::thread first([&] { first_status = gate.Admit(bench.RequestOf("make"), {}).status(); });
  first_is_open.wait(false);
  std::stop_source stop;
  absl::Status second_status;
  std::thread second(
      [&] { second_status = gate.Admit(bench.RequestOf("ls"), stop.get_token()).status(); });
  stop.request_stop();
  second.join();
  CHECK(Is(second_status, ErrorCode::kCancelled));
  let_go.request_stop();
  first.join();
  CHECK(first_status.ok());
}

}  // namespace
}  // namespace cordon
