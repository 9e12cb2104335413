#include "cordon/sdk/address_class.h"

#include <array>
#include <cstddef>
#include <optional>

namespace cordon {
namespace {

using enum AddressClass;

struct V4Prefix {
  std::uint32_t address;
  int bits;
  AddressClass address_class;
};

constexpr std::uint32_t Quad(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

// The first that holds decides, so the narrower stand before the wider.
constexpr V4Prefix kV4[] = {
    {Quad(0, 0, 0, 0), 8, kUnspecified},
    {Quad(10, 0, 0, 0), 8, kPrivate},
    {Quad(100, 100, 100, 200), 32, kMetadata},  // Alibaba Cloud
    {Quad(100, 64, 0, 0), 10, kSharedAddress},
    {Quad(127, 0, 0, 0), 8, kLoopback},
    {Quad(168, 63, 129, 16), 32, kMetadata},  // Azure
    {Quad(169, 254, 169, 254), 32, kMetadata},
    {Quad(169, 254, 170, 2), 32, kMetadata},  // Amazon ECS
    {Quad(169, 254, 0, 0), 16, kLinkLocal},
    {Quad(172, 16, 0, 0), 12, kPrivate},
    {Quad(192, 0, 0, 192), 32, kMetadata},  // Oracle Cloud
    {Quad(192, 0, 0, 0), 24, kReserved},
    {Quad(192, 0, 2, 0), 24, kReserved},
    {Quad(192, 31, 196, 0), 24, kReserved},
    {Quad(192, 52, 193, 0), 24, kReserved},
    {Quad(192, 88, 99, 0), 24, kTransition},
    {Quad(192, 168, 0, 0), 16, kPrivate},
    {Quad(192, 175, 48, 0), 24, kReserved},
    {Quad(198, 18, 0, 0), 15, kReserved},
    {Quad(198, 51, 100, 0), 24, kReserved},
    {Quad(203, 0, 113, 0), 24, kReserved},
    {Quad(224, 0, 0, 0), 4, kMulticast},
    {Quad(255, 255, 255, 255), 32, kMulticast},
    {Quad(240, 0, 0, 0), 4, kReserved},
};

struct V6Prefix {
  std::array<std::uint16_t, 8> groups;
  int bits;
  AddressClass address_class;
};

constexpr V6Prefix kV6[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0}, 128, kUnspecified},
    {{0, 0, 0, 0, 0, 0, 0, 1}, 128, kLoopback},
    {{0x64, 0xff9b, 1}, 48, kPrivate},
    {{0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254}, 128, kMetadata},  // Amazon EC2
    {{0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254}, 128, kMetadata},   // Google Cloud
    {{0xfc00}, 7, kPrivate},
    {{0xfe80}, 10, kLinkLocal},
    {{0xfec0}, 10, kPrivate},
    {{0xff00}, 8, kMulticast},
    {{0x2001, 0}, 32, kTransition},  // Teredo
    {{0x2001}, 23, kReserved},       // IETF protocol assignments
    {{0x2001, 0xdb8}, 32, kReserved},
    {{0x2620, 0x4f, 0x8000}, 48, kReserved},
    {{0x3fff}, 20, kReserved},
    {{0x2000}, 3, kPublic},  // All that is assigned for unicast; the rest is not routed.
};

constexpr std::array<std::uint16_t, 8> kNat64 = {0x64, 0xff9b};
constexpr std::array<std::uint16_t, 8> kSixToFour = {0x2002};
constexpr std::array<std::uint16_t, 8> kMapped = {0, 0, 0, 0, 0, 0xffff};
constexpr std::array<std::uint16_t, 8> kTranslated = {0, 0, 0, 0, 0xffff, 0};
constexpr std::array<std::uint16_t, 8> kCompatible = {};

AddressClass ClassifyV4(std::uint32_t address) {
  for (const V4Prefix& prefix : kV4) {
    if ((address ^ prefix.address) >> (32 - prefix.bits) == 0) return prefix.address_class;
  }
  return kPublic;
}

bool HasPrefix(const IpAddress& address, const V4Prefix& prefix) {
  return (address.V4Value() ^ prefix.address) >> (32 - prefix.bits) == 0;
}

bool HasPrefix(const IpAddress& address, const std::array<std::uint16_t, 8>& groups, int bits) {
  for (std::size_t i = 0; i < 8 && bits > 0; ++i, bits -= 16) {
    const unsigned group =
        static_cast<unsigned>(address.bytes[2 * i] << 8U) | address.bytes[2 * i + 1];
    const int drop = bits >= 16 ? 0 : 16 - bits;
    if ((group ^ groups[i]) >> drop != 0) return false;
  }
  return true;
}

AddressClass ClassifyEmbedded(const IpAddress& address, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | address.bytes[at + i];
  return ClassifyV4(value);
}

AddressClass TunnelClass(AddressClass embedded) {
  return embedded == kPublic ? kTransition : embedded;
}

}  // namespace

AddressClass ClassifyAddress(const IpAddress& address) {
  if (!address.is_v6) return ClassifyV4(address.V4Value());
  if (HasPrefix(address, kMapped, 96) || HasPrefix(address, kNat64, 96)) {
    return ClassifyEmbedded(address, 12);
  }
  if (HasPrefix(address, kSixToFour, 16)) return TunnelClass(ClassifyEmbedded(address, 2));
  if (HasPrefix(address, kTranslated, 96)) return TunnelClass(ClassifyEmbedded(address, 12));
  for (const V6Prefix& prefix : kV6) {
    if (HasPrefix(address, prefix.groups, prefix.bits)) return prefix.address_class;
  }
  if (HasPrefix(address, kCompatible, 96)) return TunnelClass(ClassifyEmbedded(address, 12));
  return kReserved;
}

int SpecialPrefixBits(const IpPrefix& range) {
  const IpAddress& first = range.address;
  if (!first.is_v6) {
    for (const V4Prefix& prefix : kV4) {
      if (prefix.bits <= range.bits && HasPrefix(first, prefix)) return prefix.bits;
    }
    return 0;
  }
  const int alone = range.bits == 128 && ClassifyAddress(first) != kPublic ? 128 : 0;
  for (const auto* embedding : {&kMapped, &kNat64, &kTranslated}) {
    if (HasPrefix(first, *embedding, 96)) return alone;
  }
  if (HasPrefix(first, kSixToFour, 16)) return alone;
  for (const V6Prefix& prefix : kV6) {
    if (prefix.bits > range.bits || !HasPrefix(first, prefix.groups, prefix.bits)) continue;
    return prefix.address_class == kPublic ? 0 : prefix.bits;
  }
  return alone;
}

bool Grants(const NetworkTarget& granted, const NetworkTarget& target) {
  if (!Covers(granted, target)) return false;
  if (!target.is_address) return true;
  const std::optional<IpPrefix> range = IpPrefix::Parse(target.host);
  if (!range.has_value()) return false;
  const int special = SpecialPrefixBits(*range);
  if (special == 0) return true;
  const std::optional<IpPrefix> named =
      granted.is_address ? IpPrefix::Parse(granted.host) : std::nullopt;
  return named.has_value() && named->bits >= special;
}

std::string_view AddressClassText(AddressClass address_class) {
  switch (address_class) {
    case kReserved:
      return "a reserved address";
    case kUnspecified:
      return "an unspecified address";
    case kLoopback:
      return "a loopback address";
    case kPrivate:
      return "a private address";
    case kSharedAddress:
      return "a shared (CGNAT) address";
    case kLinkLocal:
      return "a link-local address";
    case kMetadata:
      return "the address of a metadata service";
    case kMulticast:
      return "a multicast address";
    case kTransition:
      return "an address of a tunnel (6to4, Teredo)";
    case kPublic:
      return "a public address";
  }
  return "an address of no known class";
}

}  // namespace cordon
