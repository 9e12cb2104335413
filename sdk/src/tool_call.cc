#include "cordon/sdk/tool_call.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "tool_call_text.h"

namespace cordon {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Calls code of somebody else, which may throw; `code` is what that then is. `call` returns a
// Status or a StatusOr.
template <typename Call>
auto Contain(ErrorCode code, std::string_view who, Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return MakeError(code, absl::StrFormat("%s threw: %s", who, EscapeForDisplay(thrown.what())));
  } catch (...) {
    return MakeError(code, absl::StrFormat("%s threw what is no std::exception", who));
  }
}

std::string ToolText(std::string_view name) {
  return absl::StrFormat("the tool \"%s\"", EscapeForDisplay(name));
}

// One call on its way. Each belongs to one thread at a time.
struct Flight {
  explicit Flight(const ToolCall& of) : call(of) {}

  const ToolCall& call;
  Tool* tool = nullptr;
  std::optional<PreparedCall> prepared;
  std::unique_ptr<Admitted> admitted;
  bool has_ended = false;
  bool has_run = false;
  ToolCallOutcome outcome;
};

Fields RequestFields(const Request& request) {
  Fields fields = {{"digest", DigestHex(RequestDigest(request))}};
  if (request.command) {
    fields.emplace_back("command", CommandDisplay(*request.command));
    fields.emplace_back("directory", EscapeForDisplay(request.command->working_directory));
  }
  if (const auto* none = std::get_if<NoAuthority>(&request.authority)) {
    fields.emplace_back("no_authority", EscapeForDisplay(none->reason));
    return fields;
  }
  for (const Requirement& requirement : std::get<std::vector<Requirement>>(request.authority)) {
    fields.emplace_back("requires", absl::StrFormat("%s %s", CapabilityKindName(requirement.kind),
                                                    requirement.display));
  }
  return fields;
}

class Batch {
 public:
  Batch(const ToolCallOptions& options, absl::Span<const ToolCall> calls, std::stop_token stop)
      : options_(options), stop_(std::move(stop)) {
    flights_.reserve(calls.size());
    for (const ToolCall& call : calls) {
      Flight& flight = flights_.emplace_back(call);
      flight.outcome.call_id = call.id;
      flight.outcome.execution_id = RandomId();
    }
  }

  std::vector<ToolCallOutcome> Run() {
    for (Flight& flight : flights_) Advance(flight, &Batch::Prepare);
    AdmitTogether();
    for (Flight& flight : flights_) {
      if (flight.admitted == nullptr) Advance(flight, &Batch::Admit);
    }
    Dispatch();
    std::vector<ToolCallOutcome> outcomes;
    outcomes.reserve(flights_.size());
    for (Flight& flight : flights_) outcomes.push_back(std::move(flight.outcome));
    return outcomes;
  }

 private:
  using Stage = absl::Status (Batch::*)(Flight&);

  void Advance(Flight& flight, Stage stage) {
    if (flight.has_ended) return;
    const absl::Status status =
        stop_.stop_requested()
            ? MakeError(ErrorCode::kCancelled, "the call was cancelled before it started")
            : (this->*stage)(flight);
    if (!status.ok()) End(flight, status);
  }

  absl::Status Prepare(Flight& flight) {
    absl::Status status = FindTool(flight);
    if (!status.ok()) return status;
    absl::StatusOr<PreparedCall> prepared =
        Contain(ErrorCode::kToolFailed, ToolText(flight.call.tool), [&] {
          return flight.tool->Prepare(flight.call.arguments_json,
                                      {flight.call.id, flight.outcome.execution_id});
        });
    if (!prepared.ok()) return prepared.status();
    status = CheckRequest(flight, prepared->request());
    if (!status.ok()) return status;
    flight.prepared = *std::move(prepared);
    return Log(flight, "request", RequestFields(flight.prepared->request()));
  }

  absl::Status FindTool(Flight& flight) const {
    std::string known;
    for (Tool* tool : options_.tools) {
      if (tool->name() == flight.call.tool) flight.tool = tool;
      known += absl::StrFormat("%s%s", known.empty() ? "" : ", ", tool->name());
    }
    if (flight.tool != nullptr) return absl::OkStatus();
    return MakeError(ErrorCode::kInvalidArguments,
                     absl::StrFormat("there is no tool \"%s\"; there are: %s",
                                     EscapeForDisplay(flight.call.tool), known));
  }

  // A tool may speak only for itself and for the call that it was asked about.
  absl::Status CheckRequest(const Flight& flight, const Request& request) const {
    if (request.tool != flight.call.tool || request.call_id != flight.call.id ||
        request.execution_id != flight.outcome.execution_id) {
      return MakeError(
          ErrorCode::kToolFailed,
          absl::StrFormat("%s prepared the request of another call", ToolText(flight.call.tool)));
    }
    return ValidateRequest(request);
  }

  // Leaves to `Admit` what the admission does not decide together.
  void AdmitTogether() {
    std::vector<Flight*> ready;
    std::vector<Request> requests;
    for (Flight& flight : flights_) {
      if (flight.has_ended) continue;
      ready.push_back(&flight);
      requests.push_back(flight.prepared->request());
    }
    if (ready.size() < 2 || stop_.stop_requested()) return;
    using Decisions = std::vector<absl::StatusOr<std::unique_ptr<Admitted>>>;
    absl::StatusOr<Decisions> decisions =
        Contain(ErrorCode::kInternal, "the admission", [&]() -> absl::StatusOr<Decisions> {
          return options_.admission->AdmitTogether(requests, stop_);
        });
    if (decisions.ok() && decisions->empty()) return;
    if (decisions.ok() && decisions->size() != ready.size()) {
      decisions = MakeError(ErrorCode::kInternal, "the admission lost count of its decisions");
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const absl::Status status =
          decisions.ok() ? TakeDecision(*ready[i], std::move((*decisions)[i])) : decisions.status();
      if (!status.ok()) End(*ready[i], status);
    }
  }

  absl::Status Admit(Flight& flight) {
    return TakeDecision(flight, Contain(ErrorCode::kInternal, "the admission", [&] {
                          return options_.admission->Admit(flight.prepared->request(), stop_);
                        }));
  }

  absl::Status TakeDecision(Flight& flight, absl::StatusOr<std::unique_ptr<Admitted>> admitted) {
    if (!admitted.ok()) return admitted.status();
    if (*admitted == nullptr) {
      return MakeError(ErrorCode::kInternal, "the admission returned no decision");
    }
    flight.admitted = *std::move(admitted);
    return Log(flight, "decision", {{"verdict", "admitted"}});
  }

  // The calling thread works too, so that a thread that cannot be had only costs time.
  void Dispatch() {
    std::vector<Flight*> ready;
    for (Flight& flight : flights_) {
      if (!flight.has_ended) ready.push_back(&flight);
    }
    if (ready.empty()) return;
    std::atomic<std::size_t> next = 0;
    const auto work = [this, &ready, &next] {
      for (std::size_t i = next++; i < ready.size(); i = next++)
        Advance(*ready[i], &Batch::RunTool);
    };
    const std::size_t more_threads = std::min(options_.max_parallel, ready.size()) - 1;
    std::vector<std::jthread> threads;
    threads.reserve(more_threads);
    try {
      while (threads.size() < more_threads) threads.emplace_back(work);
    } catch (const std::system_error&) {
    }
    work();
  }

  absl::Status RunTool(Flight& flight) {
    absl::StatusOr<std::vector<Grant>> grants =
        Contain(ErrorCode::kInternal, "the admission", [&] { return flight.admitted->Mint(); });
    if (!grants.ok()) return grants.status();
    flight.has_run = true;
    absl::StatusOr<ToolResult> result =
        Contain(ErrorCode::kToolFailed, ToolText(flight.call.tool),
                [&] { return flight.tool->Run(*flight.prepared, *std::move(grants), stop_); });
    if (!result.ok()) return result.status();
    flight.outcome.result = *std::move(result);
    Finish(flight);
    return absl::OkStatus();
  }

  void End(Flight& flight, const absl::Status& status) {
    flight.outcome.status = status;
    const Request* request = flight.prepared ? &flight.prepared->request() : nullptr;
    flight.outcome.result = internal::RenderError(status, request);
    Finish(flight);
  }

  // The last record is not waited for: what it tells has happened. A log that fails here fails
  // again at the next request, which then does not run.
  void Finish(Flight& flight) {
    flight.has_ended = true;
    ToolResult& result = flight.outcome.result;
    const std::size_t bytes = result.text.size();
    result.text = internal::BoundText(internal::PresentableText(std::move(result.text)),
                                      options_.max_result_bytes);
    const absl::Status& status = flight.outcome.status;
    Fields fields = {{"code", status.ok() ? "ok" : internal::ErrorName(status)}};
    if (!status.ok()) {
      fields.emplace_back("message", EscapeForDisplay(std::string(status.message())));
    } else {
      fields.emplace_back("is_error", result.is_error ? "true" : "false");
      fields.emplace_back("text_bytes", absl::StrFormat("%d", bytes));
    }
    Log(flight, flight.has_run ? "result" : "refused", std::move(fields)).IgnoreError();
  }

  absl::Status Log(const Flight& flight, std::string event, Fields fields) const {
    if (options_.log == nullptr) return absl::OkStatus();
    LogRecord record{std::move(event), flight.outcome.execution_id, {}};
    record.fields.emplace_back("tool", EscapeForDisplay(flight.call.tool));
    record.fields.emplace_back("call_id", EscapeForDisplay(flight.call.id));
    std::move(fields.begin(), fields.end(), std::back_inserter(record.fields));
    return Contain(ErrorCode::kLogFailed, "the log", [&] { return options_.log->Append(record); });
  }

  const ToolCallOptions& options_;
  const std::stop_token stop_;
  std::vector<Flight> flights_;
};

absl::Status InvalidOption(std::string_view message) {
  return MakeError(ErrorCode::kInvalidOption, message);
}

}  // namespace

absl::StatusOr<ToolCallStep> ToolCallStep::Create(ToolCallOptions options) {
  if (options.admission == nullptr) return InvalidOption("an admission is mandatory");
  if (options.max_parallel == 0) return InvalidOption("max_parallel must be at least 1");
  if (options.max_result_bytes == 0) return InvalidOption("max_result_bytes must be at least 1");
  std::set<std::string_view> names;
  for (const Tool* tool : options.tools) {
    if (tool == nullptr) return InvalidOption("a tool is null");
    if (tool->name().empty()) return InvalidOption("a tool has no name");
    if (!names.insert(tool->name()).second) {
      return InvalidOption(absl::StrFormat("two tools are called \"%s\"", tool->name()));
    }
  }
  return ToolCallStep(std::move(options));
}

ToolCallOutcome ToolCallStep::Run(const ToolCall& call, std::stop_token stop) const {
  return std::move(RunBatch(absl::MakeConstSpan(&call, 1), std::move(stop)).front());
}

std::vector<ToolCallOutcome> ToolCallStep::RunBatch(absl::Span<const ToolCall> calls,
                                                    std::stop_token stop) const {
  return Batch(options_, calls, std::move(stop)).Run();
}

}  // namespace cordon
