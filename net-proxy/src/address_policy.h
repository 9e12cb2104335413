// Which addresses a name may lead to. Pure; safe from any thread.
//
// The prefixes are those of the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and its
// updates), of the multicast and reserved spaces, and the metadata services that clouds keep at
// public addresses. What is globally reachable there but serves no names (AS112, AMT) is refused
// too.

#ifndef CORDON_NET_PROXY_SRC_ADDRESS_POLICY_H_
#define CORDON_NET_PROXY_SRC_ADDRESS_POLICY_H_

#include <cstdint>
#include <string_view>

#include "ip_address.h"

namespace cordon::internal::egress {

enum class AddressClass : std::uint8_t {
  kReserved = 0,   // Unassigned, documentation, benchmarking, protocol assignments, discard.
  kUnspecified,    // 0.0.0.0/8, ::
  kLoopback,       // 127.0.0.0/8, ::1
  kPrivate,        // RFC 1918, unique local, site-local, local-use NAT64
  kSharedAddress,  // 100.64.0.0/10, carriers' NAT
  kLinkLocal,      // 169.254.0.0/16, fe80::/10
  kMetadata,       // a cloud's metadata service
  kMulticast,      // and broadcast
  kTransition,     // 6to4, Teredo, IPv4-compatible: tunnels to who knows where
  kPublic,
};

// An address that embeds an IPv4 address (NAT64, 6to4, IPv4-compatible) has the class of that
// address when it is not public. NAT64 of a public address is public.
[[nodiscard]] AddressClass ClassifyAddress(const IpAddress& address);

// The length of the registered prefix that gives `address` a class that is not public: a range
// names it when it is within that prefix. The whole length where an address has its class by
// itself.
[[nodiscard]] int SpecialPrefixBits(const IpAddress& address);

// Words for a sentence: "a private address".
[[nodiscard]] std::string_view AddressClassText(AddressClass address_class);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_ADDRESS_POLICY_H_
