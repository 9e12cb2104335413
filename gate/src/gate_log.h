// The gate's records. They never hold a token, nor the details of a request, which may name values
// of variables.

#ifndef CORDON_GATE_SRC_GATE_LOG_H_
#define CORDON_GATE_SRC_GATE_LOG_H_

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "assessment.h"
#include "cordon/sdk/admission.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/request.h"

namespace cordon::internal {

class GateLog {
 public:
  // `sink` may be null. Without `required` a sink that fails is ignored.
  GateLog(LogSink* sink, bool required) : sink_(sink), required_(required) {}

  // Each returns kLogFailed when the log is required and could not be written.
  [[nodiscard]] absl::Status Asked(const Request& request) const;
  // `by` is "profile", "rule", "person" or what else decided.
  [[nodiscard]] absl::Status Admitted(const Request& request, std::string_view by,
                                      const Assessment& assessment) const;
  [[nodiscard]] absl::Status Approved(const Request& request, Remember remember) const;
  [[nodiscard]] absl::Status Issued(const Request& request, const Requirement& requirement,
                                    std::chrono::milliseconds ttl) const;
  // What was granted to a command that runs already, and whether a connection of it was allowed.
  [[nodiscard]] absl::Status Consumed(const Request& request, const GrantSubject& subject) const;
  [[nodiscard]] absl::Status Egress(const Request& request, bool allowed,
                                    std::string_view decided_by) const;
  // Records why, and returns `status`, or kLogFailed.
  [[nodiscard]] absl::Status Refused(const Request& request, absl::Status status) const;

 private:
  [[nodiscard]] absl::Status Append(LogRecord record) const;

  LogSink* sink_;
  bool required_;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_GATE_LOG_H_
