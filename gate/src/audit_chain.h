// One record of the audit log as a line, and back. Pure.

#ifndef CORDON_GATE_SRC_AUDIT_CHAIN_H_
#define CORDON_GATE_SRC_AUDIT_CHAIN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/gate/audit.h"
#include "cordon/sdk/log_sink.h"

namespace cordon::internal {

// The end of a chain: how many records there are, and the hash of the last.
struct ChainEnd {
  std::uint64_t seq = 0;
  std::string hash = std::string(64, '0');

  friend bool operator==(const ChainEnd&, const ChainEnd&) = default;
};

inline constexpr std::size_t kMaxAuditLineBytes = std::size_t{1} << 20;

struct ChainLine {
  std::string line;  // With its newline.
  ChainEnd end;      // After it.
};

// The line that continues `end`. Text that is not UTF-8 becomes U+FFFD; a repeated key of `fields`
// gets a number; values that would make the line too long are cut with a mark.
[[nodiscard]] ChainLine MakeChainLine(const ChainEnd& end, const LogRecord& record,
                                      std::chrono::system_clock::time_point time);

// The record in `line`, which has no newline, and the hash that it names as the one before. Returns
// absl kInvalidArgument, saying what is wrong, also when its own hash is not that of its bytes.
struct ParsedLine {
  AuditRecord record;
  std::string prev;
};
[[nodiscard]] absl::StatusOr<ParsedLine> ParseChainLine(std::string_view line);

// The content of `PATH.head`, always of the same length, so that it is replaced by one write.
[[nodiscard]] std::string HeadText(const ChainEnd& end);
[[nodiscard]] absl::StatusOr<ChainEnd> ParseHead(std::string_view text);
inline constexpr std::size_t kHeadBytes = 20 + 1 + 64 + 1;

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_AUDIT_CHAIN_H_
