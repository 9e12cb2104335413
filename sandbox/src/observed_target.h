// Where an observed call would connect a socket to.

#ifndef CORDON_SANDBOX_SRC_OBSERVED_TARGET_H_
#define CORDON_SANDBOX_SRC_OBSERVED_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "caller.h"

namespace cordon::internal {

struct ObservedAddress {
  enum class Kind : std::uint8_t { kNone, kInternet, kPath };
  Kind kind = Kind::kNone;
  std::string text;  // kInternet: `address:port` as a network target; kPath: the path.
  // kInternet: its parts. An IPv4 address that was given as a mapped one is `is_v6`, too.
  std::string host;
  std::uint16_t port = 0;
  bool is_v6 = false;
  bool is_mapped = false;
  bool is_inside =
      false;  // kInternet: the sandbox's own, or one of the proxy, which reports itself.
};

// Of the bytes of a socket address (sockaddr(3)); kNone for other families and abstract names.
[[nodiscard]] ObservedAddress ParseObservedAddress(std::string_view bytes);

// Of `size` bytes at `address` of the caller's memory.
[[nodiscard]] ObservedAddress ReadObservedAddress(const Caller& caller, std::uint64_t address,
                                                  std::uint64_t size);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OBSERVED_TARGET_H_
