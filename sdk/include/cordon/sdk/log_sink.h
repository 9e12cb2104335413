// Where the parts of cordon write what happened. The audit log of cordon/gate implements it.

#ifndef CORDON_SDK_LOG_SINK_H_
#define CORDON_SDK_LOG_SINK_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace cordon {

// One event under one execution id. Never a secret: no token, no value of a variable.
struct LogRecord {
  // "request", "decision", "grant.issued", "grant.consumed", "grant.refused", "spawn", "exit",
  // "egress", "refused" (a call ended before its tool ran), "result" (its tool ran).
  std::string event;
  std::string execution_id;
  std::vector<std::pair<std::string, std::string>> fields;  // In the order given.
};

// Implementations are safe from any thread.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // Returns kLogFailed when the record could not be kept; callers that require the log then refuse
  // to go on.
  [[nodiscard]] virtual absl::Status Append(const LogRecord& record) = 0;
  // Whether what `Append` took survives a crash of the machine.
  [[nodiscard]] virtual bool IsDurable() const { return false; }
};

}  // namespace cordon

#endif  // CORDON_SDK_LOG_SINK_H_
