// For tests: a tool, an admission and a log whose behaviour each case writes down.

#ifndef CORDON_SDK_SRC_TOOL_CALL_FAKES_H_
#define CORDON_SDK_SRC_TOOL_CALL_FAKES_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/admission.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/tool.h"
#include "cordon/sdk/tool_call.h"
#include "support/catch.h"

namespace cordon::test {

// What `FakeTool` seals: the model's arguments as they were.
struct FakeArtifact {
  std::string arguments;
};

inline Request RequestFor(const Tool& tool, const PrepareContext& context) {
  Request request;
  request.tool = std::string(tool.name());
  request.call_id = context.call_id;
  request.execution_id = context.execution_id;
  request.authority = NoAuthority("a fake");
  return request;
}

// Answers with its own arguments unless a case says otherwise.
class FakeTool : public Tool {
 public:
  using PrepareFunction =
      std::function<absl::StatusOr<PreparedCall>(std::string_view, const PrepareContext&)>;
  using RunFunction = std::function<absl::StatusOr<ToolResult>(
      const PreparedCall&, std::vector<Grant>, std::stop_token)>;

  explicit FakeTool(std::string name = "fake") : name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  std::string description() const override { return "a fake"; }
  std::string input_schema_json() const override { return "{}"; }

  absl::StatusOr<PreparedCall> Prepare(std::string_view arguments,
                                       const PrepareContext& context) override {
    if (on_prepare) return on_prepare(arguments, context);
    return PreparedCall(RequestFor(*this, context),
                        SealedArtifact::Seal(FakeArtifact{std::string(arguments)}));
  }

  absl::StatusOr<ToolResult> Run(const PreparedCall& call, std::vector<Grant> grants,
                                 std::stop_token stop) override {
    if (on_run) return on_run(call, std::move(grants), stop);
    return ToolResult{Arguments(call), "", false};
  }

  static std::string Arguments(const PreparedCall& call) {
    const auto* artifact = call.artifact().Open<FakeArtifact>();
    return artifact == nullptr ? "not mine" : artifact->arguments;
  }

  PrepareFunction on_prepare;
  RunFunction on_run;

 private:
  std::string name_;
};

class FakeAdmitted : public Admitted {
 public:
  using MintFunction = std::function<absl::StatusOr<std::vector<Grant>>()>;
  explicit FakeAdmitted(MintFunction on_mint) : on_mint_(std::move(on_mint)) {}
  absl::StatusOr<std::vector<Grant>> Mint() override { return on_mint_(); }

 private:
  MintFunction on_mint_;
};

inline absl::StatusOr<std::unique_ptr<Admitted>> AdmitWith(FakeAdmitted::MintFunction on_mint) {
  return std::make_unique<FakeAdmitted>(std::move(on_mint));
}

inline absl::StatusOr<std::unique_ptr<Admitted>> AdmitWithoutGrants() {
  return AdmitWith([] { return std::vector<Grant>(); });
}

// Admits everything unless a case says otherwise.
class FakeAdmission : public Admission {
 public:
  absl::StatusOr<std::unique_ptr<Admitted>> Admit(const Request& request,
                                                  std::stop_token stop) override {
    if (on_admit) return on_admit(request, stop);
    return AdmitWithoutGrants();
  }
  std::vector<absl::StatusOr<std::unique_ptr<Admitted>>> AdmitTogether(
      absl::Span<const Request> requests, std::stop_token) override {
    if (on_admit_together) return on_admit_together(requests);
    return {};
  }

  std::function<absl::StatusOr<std::unique_ptr<Admitted>>(const Request&, std::stop_token)>
      on_admit;
  std::function<std::vector<absl::StatusOr<std::unique_ptr<Admitted>>>(absl::Span<const Request>)>
      on_admit_together;
};

class FakeLog : public LogSink {
 public:
  absl::Status Append(const LogRecord& record) override {
    const std::lock_guard lock(mutex_);
    if (on_append) {
      const absl::Status status = on_append(record);
      if (!status.ok()) return status;
    }
    records_.push_back(record);
    return absl::OkStatus();
  }

  std::vector<std::string> EventsOf(std::string_view execution_id) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> events;
    for (const LogRecord& record : records_) {
      if (record.execution_id == execution_id) events.push_back(record.event);
    }
    return events;
  }

  std::vector<LogRecord> records() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }

  std::function<absl::Status(const LogRecord&)> on_append;

 private:
  mutable std::mutex mutex_;
  std::vector<LogRecord> records_;
};

// Lets threads wait for each other, but not for ever.
class Rendezvous {
 public:
  // Counts this arrival and waits until `count` have arrived; false when they did not.
  bool ArriveAndWaitFor(int count) {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    return changed_.wait_for(lock, kDeadline, [&] { return arrived_ >= count; });
  }
  int arrived() const {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }

 private:
  static constexpr std::chrono::seconds kDeadline{20};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
};

// A step over one fake tool, one fake admission and one fake log.
struct Fixture {
  Fixture() { options = {{&tool}, &admission, &log, 4, 256 * 1024}; }

  ToolCallStep Step() const {
    absl::StatusOr<ToolCallStep> step = ToolCallStep::Create(options);
    REQUIRE(step.ok());
    return *std::move(step);
  }
  ToolCallOutcome Run(std::string arguments = "{}") const {
    return Step().Run({"call", "fake", std::move(arguments)});
  }

  FakeTool tool;
  FakeAdmission admission;
  FakeLog log;
  ToolCallOptions options;
};

inline std::vector<ToolCall> Calls(int count) {
  std::vector<ToolCall> calls;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    calls.push_back({"call-" + number, "fake", number});
  }
  return calls;
}

inline void CheckFailed(const ToolCallOutcome& outcome, ErrorCode code, std::string_view words) {
  INFO(outcome.status);
  CHECK(Is(outcome.status, code));
  CHECK(outcome.result.is_error);
  CHECK(outcome.result.text.find(ErrorCodeName(code)) != std::string::npos);
  CHECK(outcome.result.text.find(words) != std::string::npos);
}

}  // namespace cordon::test

#endif  // CORDON_SDK_SRC_TOOL_CALL_FAKES_H_
