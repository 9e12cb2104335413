#include "socks5.h"

#include <string>

#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

std::string Bytes(const char* text, std::size_t size) { return {text, size}; }

TEST_CASE("a greeting says which methods the client knows") {
  const SocksGreeting both = ParseSocksGreeting(Bytes("\5\2\0\2more", 8));
  CHECK(both.state == SocksState::kComplete);
  CHECK(both.offers_none);
  CHECK(both.offers_password);
  CHECK(both.size == 4);
  CHECK(ParseSocksGreeting(Bytes("\5\0", 2)).state == SocksState::kComplete);
  CHECK_FALSE(ParseSocksGreeting(Bytes("\5\1\1", 3)).offers_none);
  CHECK(ParseSocksGreeting(Bytes("\5\2\0", 3)).state == SocksState::kNeedMore);
  CHECK(ParseSocksGreeting("").state == SocksState::kNeedMore);
  CHECK(ParseSocksGreeting(Bytes("\4\1\0\x50", 4)).state == SocksState::kMalformed);
}

TEST_CASE("a user name and a password are read") {
  const std::string bytes = Bytes("\1\4user\3pwdx", 11);
  const SocksPassword given = ParseSocksPassword(bytes);
  CHECK(given.state == SocksState::kComplete);
  CHECK(given.user == "user");
  CHECK(given.password == "pwd");
  CHECK(given.size == 10);
  for (std::size_t size = 0; size < 10; ++size) {
    CHECK(ParseSocksPassword(std::string_view("\1\4user\3pwd", 10).substr(0, size)).state ==
          SocksState::kNeedMore);
  }
  CHECK(ParseSocksPassword(Bytes("\5\1\0", 3)).state == SocksState::kMalformed);
}

TEST_CASE("a request names its target in each form of address") {
  const struct {
    std::string bytes;
    const char* target;
  } rows[] = {
      {Bytes("\5\1\0\1\x7f\0\0\1\0\x50", 10), "127.0.0.1:80"},
      {Bytes("\5\1\0\3\6a.test\1\xbb", 13), "a.test:443"},
      {Bytes("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50", 22), "[::1]:80"},
      {Bytes("\5\1\0\3\3::1\0\x50", 10), "[::1]:80"},
  };
  for (const auto& row : rows) {
    const SocksRequest request = ParseSocksRequest(row.bytes + "early");
    CHECK(request.state == SocksState::kComplete);
    CHECK(request.command == kSocksConnect);
    CHECK(request.target == row.target);
    CHECK(request.size == row.bytes.size());
    for (std::size_t size = 0; size < row.bytes.size(); ++size) {
      CHECK(ParseSocksRequest(row.bytes.substr(0, size)).state == SocksState::kNeedMore);
    }
  }
  CHECK_FALSE(ParseSocksRequest(Bytes("\5\1\0\2\0", 5)).known_address);
  CHECK(ParseSocksRequest(Bytes("\4\1\0\1\0", 5)).state == SocksState::kMalformed);
  CHECK(ParseSocksRequest(Bytes("\5\1\1\1\0", 5)).state == SocksState::kMalformed);
}

}  // namespace
}  // namespace cordon::internal::egress
