#include "tls_hello.h"

#include <string>

#include "hello_testing.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

using State = ClientHello::State;
constexpr std::size_t kMax = std::size_t{64} * 1024;

TEST_CASE("the server name is found however the hello is cut into records") {
  const std::string message = HelloMessage(ServerName("Example.COM"));
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 64U, 16384U}) {
    const std::string records = Records(message, piece);
    const ClientHello hello = ParseClientHello(records, kMax);
    CHECK(hello.state == State::kComplete);
    CHECK(hello.server_name == "example.com");
    CHECK(hello.size == records.size());
  }
}

TEST_CASE("every shorter piece of a hello needs more and none is read wrongly") {
  const std::string records = Records(HelloMessage(ServerName("example.com")), 50);
  for (std::size_t size = 0; size < records.size(); ++size) {
    CHECK(ParseClientHello(records.substr(0, size), kMax).state == State::kNeedMore);
  }
  CHECK(ParseClientHello(records + "more", kMax).size == records.size());
}

TEST_CASE("hellos that a server could read differently are malformed") {
  const std::string name = ServerName("a.test");
  const std::string two_in_list = Big(0, 1) + Big(1, 2) + "a" + Big(0, 1) + Big(1, 2) + "b";
  const struct {
    const char* what;
    std::string records;
  } rows[] = {
      {"two name extensions", Records(HelloMessage(name + ServerName("b.test")))},
      {"two names in one", Records(HelloMessage(Extension(0, Big(8, 2) + two_in_list)))},
      {"a name of another type",
       Records(HelloMessage(Extension(0, Big(4, 2) + "\1" + Big(1, 2) + "a")))},
      {"an empty name", Records(HelloMessage(Extension(0, Big(3, 2) + Big(0, 3))))},
      {"a list longer than the extension", Records(HelloMessage(Extension(0, Big(99, 2) + "a")))},
      {"bytes after the list", Records(HelloMessage(Extension(0, Big(0, 2) + "a")))},
      {"a cut extension", Records(HelloMessage(name.substr(0, name.size() - 1)))},
      {"bytes behind the message", Records(HelloMessage(name) + "x")},
      {"another message first", Records(Big(2, 1) + Big(0, 3))},
      {"an empty record", std::string("\x16\x03\x01\0\0", 5)},
      {"a record that is too long", std::string("\x16\x03\x01\x40\x01", 5)},
      {"another record in between", Records(HelloMessage(name)).substr(0, 0) +
                                        std::string("\x16\x03\x01\0\1\1", 6) +
                                        std::string("\x17\x03\x03\0\1\1", 6)},
      {"a message that never ends", Records(Big(1, 1) + Big(0xffffff, 3))},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    const ClientHello hello = ParseClientHello(row.records, kMax);
    CHECK(hello.state == State::kMalformed);
    CHECK_FALSE(hello.problem.empty());
  }
}

TEST_CASE("a hello without a name, an old one and an encrypted one are told apart") {
  CHECK(ParseClientHello(Records(HelloMessage("")), kMax).server_name.empty());
  const std::string old = HelloMessage("");
  std::string without_extensions = old.substr(0, old.size() - 2);
  without_extensions.replace(1, 3, Big(without_extensions.size() - 4, 3));
  const ClientHello hello = ParseClientHello(Records(without_extensions), kMax);
  CHECK(hello.state == State::kComplete);
  CHECK(hello.server_name.empty());
  for (const std::size_t type : {0xfe0dU, 0xffceU}) {
    const ClientHello encrypted = ParseClientHello(
        Records(HelloMessage(ServerName("outer.test") + Extension(type, "x"))), kMax);
    CHECK(encrypted.is_encrypted);
    CHECK(encrypted.server_name == "outer.test");
  }
}

TEST_CASE("a hello longer than the limit is malformed before it has all come") {
  const std::string records = Records(HelloMessage(Extension(21, std::string(9000, '\0'))));
  CHECK(ParseClientHello(records, 16 * 1024).state == State::kComplete);
  CHECK(ParseClientHello(records.substr(0, 100), 4096).state == State::kMalformed);
}

}  // namespace
}  // namespace cordon::internal::egress
