// Names of network targets: `tcp:host:port`. One spelling per target, odd spellings are refused.
// Pure; safe from any thread. Resolving and dialling belong to the egress proxy, not here.

#ifndef CORDON_SDK_NETWORK_TARGET_H_
#define CORDON_SDK_NETWORK_TARGET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cordon {

// One target, or a pattern of them.
struct NetworkTarget {
  // Lower case without a trailing dot; punycode; a canonical address (IPv6 without brackets) or
  // range of addresses, `address/length` (RFC 4632, RFC 4291); or `*.` and a name, which stands for
  // its subdomains only; or `*`, any host.
  std::string host;
  std::uint16_t port = 0;   // 0 stands for any port.
  bool is_address = false;  // Also of a range.

  friend bool operator==(const NetworkTarget&, const NetworkTarget&) = default;
  friend auto operator<=>(const NetworkTarget&, const NetworkTarget&) = default;
};

// Reads `HOST:PORT` or `[V6]:PORT`, optionally preceded by `tcp:`; PORT is a number or `*`. A range
// is `10.0.0.0/8:PORT` or `[2001:db8::/32]:PORT`. Returns kInvalidTarget for a missing or zero
// port, an empty or over-long label, an address in any but its usual spelling (`0x7f.1`, decimal,
// octal, a zone id), a range of one address or with bits behind its prefix, and other malformed
// text.
[[nodiscard]] absl::StatusOr<NetworkTarget> ParseNetworkTarget(std::string_view text);

// `host:port`, IPv6 in brackets, `*` for any port.
[[nodiscard]] std::string NetworkTargetText(const NetworkTarget& target);

// Whether it stands for more than one host and port.
[[nodiscard]] bool IsPattern(const NetworkTarget& target);

// True when every connection that `inner` stands for is one that `outer` stands for.
[[nodiscard]] bool Covers(const NetworkTarget& outer, const NetworkTarget& inner);

}  // namespace cordon

#endif  // CORDON_SDK_NETWORK_TARGET_H_
