// The audit log: an append-only file of JSON lines in which each record holds the SHA-256 of the
// one before.
//
//   {"seq":1,"time":"2026-01-31T12:00:00.000Z","execution_id":"...","event":"request",
//    "fields":{...},"prev":"<64 hex digits>","hash":"<64 hex digits>"}
//
// `hash` is over the bytes of the line before `,"hash":`; the first `prev` is all zero. The length
// and last hash are also kept in `PATH.head`, so that records cut off at the end are missed.
// Whoever can write both files can rewrite history; to prove it later, keep a hash elsewhere.
//
// A log that grows beyond its size goes on in a new file: PATH becomes PATH.1, later PATH.2 and so
// on, and the new PATH begins with a record "log.rotated" that continues the chain.
//
// What looks like a credential in a field is masked; see gate/README.md for what is not found.

#ifndef CORDON_GATE_AUDIT_H_
#define CORDON_GATE_AUDIT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
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
  // The file is not let grow beyond this, single records aside. 0: it is never rotated.
  std::uint64_t max_file_bytes = 0;
  // Rotated files that are kept; older ones are removed. 0: all.
  std::size_t max_rotated_files = 0;
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
  std::uint64_t records = 0;        // Whole ones before the first fault, of all files.
  std::uint64_t first_record = 1;   // Above 1: earlier ones are in rotated files that are gone.
  std::uint64_t broken_record = 0;  // The first that is changed, missing or out of order; 0: none.
  std::string reason;               // What is wrong with it.
  // Whether the end of the log is known too; without `PATH.head` a cut at the end goes unseen.
  bool end_is_known = false;
};

// The log with its rotated files. Returns kNotFound or kLogFailed when a file cannot be read; a
// broken chain is a result.
[[nodiscard]] absl::StatusOr<AuditVerification> VerifyAuditLog(const std::string& path);

// Calls `visit` for each record in order, those of rotated files first, until it returns false.
// Does not check the chain. Returns kLogFailed, with the line's number, for a line that is no
// record.
[[nodiscard]] absl::Status ReadAuditLog(const std::string& path,
                                        const std::function<bool(const AuditRecord&)>& visit);

// The same, and then waits for more, through rotations, until `visit` returns false or `stop` is
// requested.
[[nodiscard]] absl::Status FollowAuditLog(const std::string& path,
                                          const std::function<bool(const AuditRecord&)>& visit,
                                          std::stop_token stop);

}  // namespace cordon

#endif  // CORDON_GATE_AUDIT_H_
