#include "cordon/sdk/address_class.h"

#include <string>

#include "support/catch.h"

namespace cordon {
namespace {

using enum AddressClass;

struct Row {
  const char* address;
  AddressClass expected;
};

// First and last of each prefix, and their public neighbours.
constexpr Row kRows[] = {
    {"0.0.0.0", kUnspecified},
    {"0.255.255.255", kUnspecified},
    {"1.0.0.0", kPublic},
    {"8.8.8.8", kPublic},
    {"9.255.255.255", kPublic},
    {"10.0.0.0", kPrivate},
    {"10.255.255.255", kPrivate},
    {"11.0.0.0", kPublic},
    {"100.63.255.255", kPublic},
    {"100.64.0.0", kSharedAddress},
    {"100.100.100.200", kMetadata},
    {"100.127.255.255", kSharedAddress},
    {"100.128.0.0", kPublic},
    {"126.255.255.255", kPublic},
    {"127.0.0.0", kLoopback},
    {"127.0.0.1", kLoopback},
    {"127.255.255.255", kLoopback},
    {"128.0.0.0", kPublic},
    {"168.63.129.16", kMetadata},
    {"168.63.129.17", kPublic},
    {"169.253.255.255", kPublic},
    {"169.254.0.0", kLinkLocal},
    {"169.254.169.254", kMetadata},
    {"169.254.170.2", kMetadata},
    {"169.254.255.255", kLinkLocal},
    {"169.255.0.0", kPublic},
    {"172.15.255.255", kPublic},
    {"172.16.0.0", kPrivate},
    {"172.31.255.255", kPrivate},
    {"172.32.0.0", kPublic},
    {"192.0.0.0", kReserved},
    {"192.0.0.192", kMetadata},
    {"192.0.0.255", kReserved},
    {"192.0.1.0", kPublic},
    {"192.0.2.1", kReserved},
    {"192.31.196.1", kReserved},
    {"192.52.193.1", kReserved},
    {"192.88.99.1", kTransition},
    {"192.167.255.255", kPublic},
    {"192.168.0.0", kPrivate},
    {"192.168.255.255", kPrivate},
    {"192.169.0.0", kPublic},
    {"192.175.48.1", kReserved},
    {"198.17.255.255", kPublic},
    {"198.18.0.0", kReserved},
    {"198.19.255.255", kReserved},
    {"198.20.0.0", kPublic},
    {"198.51.100.1", kReserved},
    {"203.0.113.255", kReserved},
    {"203.0.114.0", kPublic},
    {"223.255.255.255", kPublic},
    {"224.0.0.1", kMulticast},
    {"239.255.255.255", kMulticast},
    {"240.0.0.0", kReserved},
    {"255.255.255.254", kReserved},
    {"255.255.255.255", kMulticast},
    {"::", kUnspecified},
    {"::1", kLoopback},
    {"::2", kUnspecified},  // IPv4-compatible 0.0.0.2
    {"::127.0.0.1", kLoopback},
    {"::8.8.8.8", kTransition},
    {"::ffff:127.0.0.1", kLoopback},
    {"::ffff:10.0.0.1", kPrivate},
    {"::ffff:169.254.169.254", kMetadata},
    {"::ffff:8.8.8.8", kPublic},
    {"::ffff:0:127.0.0.1", kLoopback},  // IPv4-translated, RFC 2765
    {"::ffff:0:8.8.8.8", kTransition},
    {"64:ff9b::8.8.8.8", kPublic},
    {"64:ff9b::127.0.0.1", kLoopback},
    {"64:ff9b::192.168.1.1", kPrivate},
    {"64:ff9b::169.254.169.254", kMetadata},
    {"64:ff9b:1::1", kPrivate},
    {"64:ff9b:1:ffff::8.8.8.8", kPrivate},
    {"64:ff9b:2::1", kReserved},
    {"100::1", kReserved},
    {"100:0:0:1::1", kReserved},
    {"2001::1", kTransition},
    {"2001:0:4136:e378:8000:63bf:3fff:fdd2", kTransition},
    {"2001:1::1", kReserved},
    {"2001:2::1", kReserved},
    {"2001:20::1", kReserved},
    {"2001:1ff:ffff::1", kReserved},
    {"2001:200::1", kPublic},
    {"2001:4860:4860::8888", kPublic},
    {"2001:db8::1", kReserved},
    {"2001:db9::1", kPublic},
    {"2002:7f00:1::1", kLoopback},
    {"2002:a00:1::1", kPrivate},
    {"2002:a9fe:a9fe::1", kMetadata},
    {"2002:808:808::1", kTransition},
    {"2003::1", kPublic},
    {"2620:4f:8000::1", kReserved},
    {"2606:4700::1111", kPublic},
    {"3ffe::1", kPublic},
    {"3fff::1", kReserved},
    {"3fff:fff::1", kReserved},
    {"3fff:1000::1", kPublic},
    {"4000::1", kReserved},
    {"5f00::1", kReserved},
    {"fbff::1", kReserved},
    {"fc00::1", kPrivate},
    {"fd00:ec2::254", kMetadata},
    {"fd20:ce::254", kMetadata},
    {"fdff:ffff::1", kPrivate},
    {"fe00::1", kReserved},
    {"fe80::1", kLinkLocal},
    {"febf::1", kLinkLocal},
    {"fec0::1", kPrivate},
    {"ff02::1", kMulticast},
};

TEST_CASE("each special-purpose prefix has its class and its neighbours are public") {
  for (const Row& row : kRows) {
    INFO(row.address);
    CHECK(static_cast<int>(ClassifyAddress(*IpAddress::Parse(row.address))) ==
          static_cast<int>(row.expected));
  }
}

TEST_CASE("no reserved first octet of IPv4 is taken for a public one") {
  for (std::uint32_t first : {0U, 10U, 127U, 224U, 239U, 240U, 255U}) {
    INFO(first);
    CHECK(ClassifyAddress(IpAddress::V4(first << 24 | 0x00abcdefU)) != kPublic);
  }
}

TEST_CASE("a rule grants what it covers, and what is not public only when it names it") {
  struct {
    const char* granted;
    const char* target;
    bool grants;
  } const rows[] = {
      {"*:443", "a.test:443", true},
      {"*:443", "8.8.8.8:443", true},
      {"*:443", "[2606:4700::1]:443", true},
      {"*:443", "8.8.8.8:80", false},
      {"*:443", "10.0.0.5:443", false},
      {"*:443", "[::1]:443", false},
      {"*:443", "[64:ff9b::a00:5]:443", false},
      {"*:443", "[64:ff9b::808:808]:443", true},
      {"*:443", "10.0.0.0/8:443", false},
      {"*:443", "172.0.0.0/8:443", true},  // Its public ones: 172.16.0.0/12 is not named by it.
      {"0.0.0.0/0:443", "9.9.9.9:443", true},
      {"0.0.0.0/0:443", "127.0.0.1:443", false},
      {"10.0.0.5:443", "10.0.0.5:443", true},
      {"10.0.0.0/8:443", "10.0.0.5:443", true},
      {"10.0.0.0/8:443", "10.1.0.0/16:443", true},
      {"10.0.0.0/7:443", "10.0.0.5:443", false},
      {"169.254.0.0/16:80", "169.254.3.3:80", true},
      {"169.254.0.0/16:80", "169.254.169.254:80", false},
      {"169.254.0.0/16:80", "169.254.169.254/31:80", true},  // Its first address is not named.
      {"0.0.0.0/0:80", "169.254.169.254/31:80", false},
      {"[fd00::/8]:22", "[fd00::1]:22", true},
      {"[::/0]:22", "[fd00::1]:22", false},
      {"[2002::/16]:22", "[2002:808:808::1]:22", false},
      {"[2002:808:808::1]:22", "[2002:808:808::1]:22", true},
      {"*.test:443", "8.8.8.8:443", false},
  };
  for (const auto& row : rows) {
    INFO(row.granted << " " << row.target);
    CHECK(Grants(ParseNetworkTarget(row.granted).value(), ParseNetworkTarget(row.target).value()) ==
          row.grants);
  }
}

}  // namespace
}  // namespace cordon
