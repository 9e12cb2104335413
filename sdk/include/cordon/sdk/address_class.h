// Which addresses are public, so that a name may lead to them and a pattern stands for them. Others
// have to be named. Pure; safe from any thread.
//
// The prefixes are those of the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and its
// updates), of the multicast and reserved spaces, and the metadata services that clouds keep at
// public addresses. What is globally reachable there but serves no names (AS112, AMT) is refused
// too.

#ifndef CORDON_SDK_ADDRESS_CLASS_H_
#define CORDON_SDK_ADDRESS_CLASS_H_

#include <cstdint>
#include <string_view>

#include "cordon/sdk/ip_address.h"
#include "cordon/sdk/network_target.h"

namespace cordon {

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

// The length of the narrowest registered prefix, of a class that is not public, in which all of
// `range` lies: who grants it must name it by a range that is no wider than that. The whole length
// where an address has its class by itself; 0 when there is no such prefix.
[[nodiscard]] int SpecialPrefixBits(const IpPrefix& range);

// Whether the rule `granted` allows all that `target` means: it covers it (`Covers`), and where
// that is addresses that are not public it names them, as an address or as a range within the
// prefix that makes them special. So `*:443` and `0.0.0.0/0:443` do not allow `10.0.0.5:443`. The
// one answer for profiles, rules and every front of the egress proxy.
[[nodiscard]] bool Grants(const NetworkTarget& granted, const NetworkTarget& target);

// Words for a sentence: "a private address".
[[nodiscard]] std::string_view AddressClassText(AddressClass address_class);

}  // namespace cordon

#endif  // CORDON_SDK_ADDRESS_CLASS_H_
