// Grant authorities: they sign, verify and spend the grants of one executor (cordon/sdk/grant.h).
//
// A token is `v1.` + base64url(claims) + `.` + base64url(HMAC-SHA-256) and has exactly one
// spelling. The key is 32 random bytes, one per authority, in memory only and overwritten by
// `Close`. Which tokens are spent is remembered by their signed 128-bit nonce, for as long as they
// could still be presented. gate/README.md argues why one grant starts at most one command.

#ifndef CORDON_GATE_GRANTS_H_
#define CORDON_GATE_GRANTS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/grant.h"

namespace cordon {

struct GrantAuthorityOptions {
  // Time since any fixed moment; called from any thread. Absent: CLOCK_BOOTTIME, which no one sets
  // and which goes on while the machine sleeps. A clock that steps back is taken to stand still.
  std::function<std::chrono::milliseconds()> clock;
  // Fills the span, or returns false; called from any thread. Absent: getrandom(2).
  std::function<bool(absl::Span<std::uint8_t>)> random;
  // Grants that may be remembered at a time: outstanding ones, and spent ones until they expire.
  std::size_t capacity = 4096;
};

// Wrong uses of an authentic token (another command, directory, profile, ...) before it is burned.
inline constexpr int kMaxGrantFaults = 3;

// Returns kInvalidOption for an empty id or a zero capacity, kInternal without random bytes. The
// result is safe from any thread. Strings of a binding and a target must be UTF-8: `Issue` returns
// kInvalidTarget for others.
[[nodiscard]] absl::StatusOr<std::shared_ptr<GrantAuthority>> NewHmacGrantAuthority(
    std::string executor_id, GrantAuthorityOptions options = {});

// The same as a factory, in the form that an executor set takes.
[[nodiscard]] std::function<absl::StatusOr<std::shared_ptr<GrantAuthority>>(std::string)>
HmacGrantAuthorityFactory(GrantAuthorityOptions options = {});

}  // namespace cordon

#endif  // CORDON_GATE_GRANTS_H_
