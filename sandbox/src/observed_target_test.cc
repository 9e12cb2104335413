#include "observed_target.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <string>

#include "support/catch.h"

namespace cordon::internal {
namespace {

TEST_CASE("addresses are read as the kernel reads them") {
  const auto parse = [](const auto& address, std::size_t size) {
    return ParseObservedAddress({reinterpret_cast<const char*>(&address), size});
  };
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(443);
  four.sin_addr.s_addr = htonl(0xc6336407);
  CHECK(parse(four, sizeof four).text == "198.51.100.7:443");
  CHECK(parse(four, sizeof four - 1).kind == ObservedAddress::Kind::kNone);
  four.sin_port = 0;
  CHECK(parse(four, sizeof four).kind == ObservedAddress::Kind::kNone);

  sockaddr_un path = {};
  path.sun_family = AF_UNIX;
  const std::string text = "/run/x";
  text.copy(path.sun_path, text.size());
  const std::size_t start = offsetof(sockaddr_un, sun_path);
  CHECK(parse(path, sizeof path).text == text);
  CHECK(parse(path, start + 4).text == "/run");
  CHECK(parse(path, start).kind == ObservedAddress::Kind::kNone);
  CHECK(parse(path, 1).kind == ObservedAddress::Kind::kNone);
  path.sun_path[0] = '\0';
  CHECK(parse(path, sizeof path).kind == ObservedAddress::Kind::kNone);
  CHECK(ParseObservedAddress({}).kind == ObservedAddress::Kind::kNone);
}

}  // namespace
}  // namespace cordon::internal
