// The audit log: an append-only file of JSON lines in which each record holds the SHA-256 of the
// one before.
//
//   {"seq":1,"time":"2026-01-31T12:00:00.000Z","execution_id":"...","event":"request",
//    "fields":{...},"prev":"<64 hex digits>","hash":"<64 hex digits>"}
//
// `hash` is over the bytes of the line before `,"hash":`; the first `prev` is all zero. The length
// and last hash are also kept in `PATH.head`, so that records cut off at the end are missed.
// Whoever can write both files can rewrite history; to prove it later, keep a hash elsewhere.

#ifndef CORDON_GATE_AUDIT_H_
#define CORDON_GATE_AUDIT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/log_sink.h"

namespace cordon {

enum class AuditSync : std::uint8_t {
  kNone,        // Left to the kernel: survives the end of the program, not of the machine.
  kEachRecord,  // fdatasync(2) before `Append` returns.
};

struct AuditOptions {
  AuditSync sync = AuditSync::kNone;
  // Absent: the system's clock.
  std::function<std::chrono::system_clock::time_point()> clock;
};

// Several programs may append to one file, each through a log that it opened itself: one that was
// inherited by fork(2) shares its lock. Safe from any thread.
class AuditLog : public LogSink {
 public:
  // Creates the file with mode 0600 where there is none. Returns kLogFailed when it cannot be
  // opened without following a symbolic link, is no regular file, has several links, or does not
  // end in a whole record.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<AuditLog>> Open(std::string path,
                                                                      AuditOptions options = {});
};

struct AuditRecord {
  std::uint64_t seq = 0;  // From 1, without gaps.
  std::string time;       // UTC, RFC 3339 with milliseconds.
  std::string execution_id;
  std::string event;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string hash;
};

struct AuditVerification {
  bool intact = false;
  std::uint64_t records = 0;        // Whole ones before the first fault.
  std::uint64_t broken_record = 0;  // The first that is changed, missing or out of order; 0: none.
  std::string reason;               // What is wrong with it.
  // Whether the end of the log is known too; without `PATH.head` a cut at the end goes unseen.
  bool end_is_known = false;
};

// Returns kNotFound or kLogFailed when the file cannot be read; a broken chain is a result.
[[nodiscard]] absl::StatusOr<AuditVerification> VerifyAuditLog(const std::string& path);

// Calls `visit` for each record in order until it returns false. Does not check the chain. Returns
// kLogFailed, with the line's number, for a line that is no record.
[[nodiscard]] absl::Status ReadAuditLog(const std::string& path,
                                        const std::function<bool(const AuditRecord&)>& visit);

}  // namespace cordon

#endif  // CORDON_GATE_AUDIT_H_
