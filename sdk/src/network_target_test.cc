#include "cordon/sdk/network_target.h"

#include <string>
#include <string_view>
#include <utility>

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon {
namespace {

NetworkTarget Parsed(std::string_view text) {
  const absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(text);
  INFO(text);
  REQUIRE(target.ok());
  return *target;
}

TEST_CASE("a target has one spelling") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"example.com:443", "example.com:443"},
      {"tcp:example.com:443", "example.com:443"},
      {"EXAMPLE.Com.:443", "example.com:443"},
      {"*.Example.com:80", "*.example.com:80"},
      {"*:*", "*:*"},
      {"example.com:*", "example.com:*"},
      {"localhost:1", "localhost:1"},
      {"_srv.a-b.example:65535", "_srv.a-b.example:65535"},
      {"xn--bcher-kva.example:443", "xn--bcher-kva.example:443"},
      {"192.0.2.1:53", "192.0.2.1:53"},
      {"[2001:DB8:0:0::1]:443", "[2001:db8::1]:443"},
      {"tcp:[::1]:*", "[::1]:*"},
  };
  for (const auto& [text, expected] : cases) {
    CHECK(NetworkTargetText(Parsed(text)) == expected);
    CHECK(Parsed(expected) == Parsed(text));
  }
  CHECK(Parsed("192.0.2.1:53").is_address);
  CHECK(Parsed("[::1]:53").is_address);
  CHECK(Parsed("[::1]:53").host == "::1");
  CHECK_FALSE(Parsed("a.example:53").is_address);
  CHECK(Parsed("a.example:*").port == 0);
}

TEST_CASE("malformed targets are refused") {
  const std::string long_label(64, 'a');
  std::string long_name;
  for (int i = 0; i < 64; ++i) long_name += "abc.";
  for (const std::string& text : {
           std::string(""),
           std::string(":"),
           std::string("example.com"),
           std::string("example.com:"),
           std::string(":443"),
           std::string("example.com:0"),
           std::string("example.com:00443"),
           std::string("example.com:65536"),
           std::string("example.com:+443"),
           std::string("example.com:443 "),
           std::string(" example.com:443"),
           std::string("example.com:https"),
           std::string("example..com:443"),
           std::string(".example.com:443"),
           std::string("example.com..:443"),
           std::string(".:443"),
           std::string("-a.example:443"),
           std::string("a-.example:443"),
           std::string("a b.example:443"),
           std::string("a/b:443"),
           std::string("u@h.example:443"),
           std::string("a.*.example:443"),
           std::string("*example.com:443"),
           std::string("*.:443"),
           std::string("*.*.example:443"),
           std::string("**:443"),
           std::string("*.*:443"),
           std::string("bücher.example:443"),
           std::string("udp:example.com:53"),
           std::string("tcp:tcp:a.example:1"),
           std::string("tcP:708"),
           std::string("tcp:tcp:1"),
           std::string("TCP.:1"),
           std::string("http://a.example:80"),
           long_label + ".example:443",
           long_name + "example:443",
           std::string(2000, 'a') + ":443",
           std::string("a\0b.example:443", 15),
           std::string("a\r\nb.example:443"),
       }) {
    INFO(text);
    CHECK(Is(ParseNetworkTarget(text).status(), ErrorCode::kInvalidTarget));
  }
}

TEST_CASE("an address in an unusual spelling is refused") {
  for (const std::string_view text : {"0x7f.1:80",
                                      "127.1:80",
                                      "2130706433:80",
                                      "0177.0.0.1:80",
                                      "127.0.0.01:80",
                                      "127.0.0.1.:80",
                                      "256.0.0.1:80",
                                      "1.2.3.4.5:80",
                                      "0x7f000001:80",
                                      "a.0x1:80",
                                      "*.1.2.3.4:80",
                                      "*.4:80",
                                      "::1:80",
                                      "[::1%eth0]:80",
                                      "[::1%1]:80",
                                      "[127.0.0.1]:80",
                                      "[::ffff:127.0.0.1]:80",
                                      "[::ffff:7f00:1]:80",
                                      "[]:80",
                                      "[example.com]:80",
                                      "[::1:80",
                                      "::1]:80",
                                      "[[::1]]:80"}) {
    INFO(text);
    CHECK(Is(ParseNetworkTarget(text).status(), ErrorCode::kInvalidTarget));
  }
}

TEST_CASE("a range of addresses has one spelling") {
  for (const std::string_view text : {"10.0.0.0/8:443", "0.0.0.0/0:*", "192.0.2.128/25:1",
                                      "[2001:db8::/32]:443", "[::/0]:80", "[fe80::/10]:*"}) {
    INFO(text);
    CHECK(NetworkTargetText(Parsed(text)) == text);
    CHECK(Parsed(text).is_address);
    CHECK(IsPattern(Parsed(text)));
  }
  CHECK(NetworkTargetText(Parsed("tcp:[2001:DB8:0::/32]:443")) == "[2001:db8::/32]:443");
  for (const std::string_view text : {"10.0.0.1/8:443",
                                      "10.0.0.0/08:443",
                                      "10.0.0.0/33:443",
                                      "10.0.0.0/:443",
                                      "10.0.0.0/-1:443",
                                      "10.0.0.0/8/8:443",
                                      "10.0.0.0/255.0.0.0:443",
                                      "10/8:443",
                                      "0xa.0.0.0/8:443",
                                      "10.0.0.1/32:443",
                                      "[2001:db8::1/32]:443",
                                      "[2001:db8::1/128]:443",
                                      "[2001:db8::/129]:443",
                                      "[2001:db8::]/32:443",
                                      "2001:db8::/32:443",
                                      "[10.0.0.0/8]:443",
                                      "[::ffff:10.0.0.0/104]:443",
                                      "[fe80::%1/64]:443",
                                      "a.example/8:443",
                                      "*/8:443",
                                      "*.example/8:443",
                                      "/8:443"}) {
    INFO(text);
    CHECK(Is(ParseNetworkTarget(text).status(), ErrorCode::kInvalidTarget));
  }
}

TEST_CASE("what stands for several hosts or ports is a pattern") {
  for (const std::string_view text : {"*:443", "*.a.example:443", "a.example:*", "10.0.0.0/8:1"}) {
    CHECK(IsPattern(Parsed(text)));
  }
  for (const std::string_view text : {"a.example:443", "10.0.0.0:443", "[::]:443"}) {
    CHECK_FALSE(IsPattern(Parsed(text)));
  }
}

TEST_CASE("a range covers its addresses and narrower ranges of the same family") {
  const auto covers = [](std::string_view outer, std::string_view inner) {
    return Covers(Parsed(outer), Parsed(inner));
  };
  CHECK(covers("10.0.0.0/8:443", "10.255.0.1:443"));
  CHECK_FALSE(covers("10.0.0.0/8:443", "11.0.0.1:443"));
  CHECK_FALSE(covers("10.0.0.0/8:443", "10.0.0.1:80"));
  CHECK(covers("10.0.0.0/8:*", "10.1.0.0/16:443"));
  CHECK_FALSE(covers("10.1.0.0/16:443", "10.0.0.0/8:443"));
  CHECK(covers("192.0.2.128/25:1", "192.0.2.128:1"));
  CHECK_FALSE(covers("192.0.2.128/25:1", "192.0.2.127:1"));
  CHECK(covers("0.0.0.0/0:1", "192.0.2.127:1"));
  CHECK_FALSE(covers("0.0.0.0/0:1", "[::1]:1"));
  CHECK_FALSE(covers("[::/0]:1", "192.0.2.127:1"));
  CHECK(covers("[2001:db8::/33]:1", "[2001:db8:7fff::1]:1"));
  CHECK_FALSE(covers("[2001:db8::/33]:1", "[2001:db8:8000::1]:1"));
  CHECK_FALSE(covers("10.0.0.0/8:443", "a.example:443"));
  CHECK_FALSE(covers("10.0.0.0/8:443", "*:443"));
  CHECK(covers("*:443", "10.0.0.0/8:443"));
}

TEST_CASE("errors about targets escape what they quote") {
  const absl::Status status = ParseNetworkTarget("a\x1b[31m:443").status();
  CHECK(std::string(status.message()).find('\x1b') == std::string::npos);
}

TEST_CASE("a target covers what every connection to it is") {
  const auto covers = [](std::string_view outer, std::string_view inner) {
    return Covers(Parsed(outer), Parsed(inner));
  };
  CHECK(covers("a.example:443", "a.example:443"));
  CHECK(covers("a.example:*", "a.example:443"));
  CHECK(covers("a.example:*", "a.example:*"));
  CHECK_FALSE(covers("a.example:443", "a.example:*"));
  CHECK_FALSE(covers("a.example:443", "a.example:80"));
  CHECK(covers("*.example:443", "a.example:443"));
  CHECK(covers("*.example:443", "a.b.example:443"));
  CHECK(covers("*.example:443", "*.b.example:443"));
  CHECK(covers("*.example:443", "*.example:443"));
  CHECK_FALSE(covers("*.example:443", "example:443"));
  CHECK_FALSE(covers("*.example:443", "badexample:443"));
  CHECK_FALSE(covers("*.b.example:443", "*.example:443"));
  CHECK_FALSE(covers("a.example:443", "b.a.example:443"));
  CHECK(covers("*:443", "a.example:443"));
  CHECK(covers("*:443", "192.0.2.1:443"));
  CHECK(covers("*:*", "*.example:443"));
  CHECK_FALSE(covers("*.example:443", "*:443"));
  CHECK(covers("[::1]:*", "[0:0::1]:9"));
  CHECK_FALSE(covers("192.0.2.1:80", "192.0.2.2:80"));
}

}  // namespace
}  // namespace cordon
