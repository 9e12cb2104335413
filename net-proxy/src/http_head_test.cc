#include "http_head.h"

#include <string>

#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

using State = HttpHeadResult::State;
constexpr std::size_t kMax = std::size_t{64} * 1024;

HttpHeadResult Parse(std::string_view bytes) {
  std::size_t scanned = 0;
  return ParseHttpHead(bytes, kMax, scanned);
}

TEST_CASE("an ordinary head is read") {
  const std::string text =
      "POST /a?b=c HTTP/1.1\r\nhOsT: example.com:80 \r\nContent-Length: 12\r\n"
      "Expect: 100-continue\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
      "X-Bytes: \xc3\xa4\t!\r\n\r\nbody";
  const HttpHeadResult result = Parse(text);
  REQUIRE(result.state == State::kComplete);
  CHECK(result.size == text.size() - 4);
  CHECK(result.head.method == "POST");
  CHECK(result.head.target == "/a?b=c");
  CHECK(result.head.host == "example.com:80");
  CHECK(result.head.content_length == 12);
  CHECK(result.head.expects_continue);
  CHECK(result.head.wants_upgrade);
  CHECK_FALSE(result.head.wants_close);
}

TEST_CASE("a head that comes byte by byte is complete with its last byte") {
  const std::string text = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
  std::size_t scanned = 0;
  for (std::size_t size = 1; size < text.size(); ++size) {
    CHECK(ParseHttpHead(text.substr(0, size), kMax, scanned).state == State::kNeedMore);
  }
  CHECK(ParseHttpHead(text, kMax, scanned).state == State::kComplete);
}

// Shapes that servers are known to read in more than one way.
TEST_CASE("the shapes of request smuggling are refused") {
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  const struct {
    const char* what;
    std::string text;
  } rows[] = {
      {"two Hosts", get + "Host: b\r\n\r\n"},
      {"two equal Hosts", get + "Host: a\r\n\r\n"},
      {"both lengths", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {"both lengths, the other way",
       post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"},
      {"two lengths", post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n"},
      {"two equal lengths", post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\n"},
      {"a list of lengths", post + "Content-Length: 4, 4\r\n\r\n"},
      {"a signed length", post + "Content-Length: +4\r\n\r\n"},
      {"a negative length", post + "Content-Length: -4\r\n\r\n"},
      {"a hexadecimal length", post + "Content-Length: 0x4\r\n\r\n"},
      {"an empty length", post + "Content-Length:\r\n\r\n"},
      {"a length with a space", post + "Content-Length: 4 4\r\n\r\n"},
      {"a huge length", post + "Content-Length: 99999999999999999999\r\n\r\n"},
      {"xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n"},
      {"chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {"chunked, identity", post + "Transfer-Encoding: chunked, identity\r\n\r\n"},
      {"identity", post + "Transfer-Encoding: identity\r\n\r\n"},
      {"gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n"},
      {"quoted chunked", post + "Transfer-Encoding: \"chunked\"\r\n\r\n"},
      {"chunked in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {"a vertical tab before chunked", post + "Transfer-Encoding: \x0b"
                                               "chunked\r\n\r\n"},
      {"a space before the colon", post + "Transfer-Encoding : chunked\r\n\r\n"},
      {"a tab before the colon", post + "Content-Length\t: 4\r\n\r\n"},
      {"a space before a name", get + " X: y\r\n\r\n"},
      {"a folded field", get + "X: y\r\n Host: b\r\n\r\n"},
      {"a folded first field", "GET / HTTP/1.1\r\n Host: b\r\nHost: a\r\n\r\n"},
      {"a folded length", post + "Transfer-Encoding:\r\n chunked\r\n\r\n"},
      {"an underscore", post + "Transfer_Encoding: chunked\r\n\r\n"},
      {"an underscore in the length", post + "Content_Length: 4\r\n\r\n"},
      {"no colon", get + "X\r\n\r\n"},
      {"no name", get + ": x\r\n\r\n"},
      {"a lone LF", "GET / HTTP/1.1\nHost: a\n\n"},
      {"a lone LF in between", "GET / HTTP/1.1\r\nX: y\nHost: a\r\n\r\n"},
      {"a lone CR", "GET / HTTP/1.1\r\nX: y\rHost: b\r\nHost: a\r\n\r\n"},
      {"CR CR LF", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"},
      {"a NUL", std::string("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29)},
      {"a control character", get + "X: a\x01"
                                    "b\r\n\r\n"},
      {"a DEL", get + "X: a\x7f"
                      "b\r\n\r\n"},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a tab", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a space at the end", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"},
      {"a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a space before the method", " GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"HTTP/0.9", "GET /\r\n\r\n"},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n"},
      {"HTTP/1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n"},
      {"http/1.1", "GET / http/1.1\r\nHost: a\r\n\r\n"},
      {"HTTP/2.0", "PRI * HTTP/2.0\r\n\r\n"},
      {"a byte above 0x7f in the target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a byte above 0x7f in a name", get + "X\xc3\xa4: y\r\n\r\n"},
      {"a malformed method", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"many empty lines", "\r\n\r\n\r\n\r\n\r\n\r\n" + get + "\r\n"},
  };
  REQUIRE(Parse(get + "\r\n").state == State::kComplete);
  REQUIRE(Parse(post + "Content-Length: 4\r\n\r\n").state == State::kComplete);
  REQUIRE(Parse(post + "Transfer-Encoding: Chunked\r\n\r\n").state == State::kComplete);
  for (const auto& row : rows) {
    INFO(row.what);
    const HttpHeadResult result = Parse(row.text);
    CHECK(result.state == State::kMalformed);
    CHECK_FALSE(result.problem.empty());
  }
}

TEST_CASE("a head beyond the limits is malformed") {
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 300; ++i) many += "X: y\r\n";
  CHECK(Parse(many + "\r\n").state == State::kMalformed);
  CHECK(Parse("GET /" + std::string(kMax, 'a')).state == State::kMalformed);
}

TEST_CASE("an authority is split into one host and one port") {
  const struct {
    const char* text;
    const char* host;
    int port;
  } good[] = {
      {"a.test", "a.test", 0},         {"A.Test.", "a.test", 0},    {"a.test:80", "a.test", 80},
      {"a.test.:80", "a.test", 80},    {"[::1]:8080", "::1", 8080}, {"[::1]", "::1", 0},
      {"127.0.0.1:1", "127.0.0.1", 1},
  };
  for (const auto& row : good) {
    std::string host;
    std::uint16_t port = 1;
    INFO(row.text);
    CHECK(SplitHttpAuthority(row.text, host, port));
    CHECK(host == row.host);
    CHECK(port == row.port);
  }
  for (const char* text : {"", ":80", "a.test:", "a.test:0", "a.test:080", "a.test:65536",
                           "a.test:1x", "a.test:80:81", "[::1", "[::1]80", "[]", "a:+80"}) {
    std::string host;
    std::uint16_t port = 0;
    INFO(text);
    CHECK_FALSE(SplitHttpAuthority(text, host, port));
  }
}

TEST_CASE("the authority of an absolute target ends before its path") {
  const struct {
    const char* target;
    const char* authority;
  } rows[] = {
      {"http://a.test/x", "a.test"},  {"http://a.test", "a.test"},
      {"http://a.test?x", "a.test"},  {"https://a.test:1#x", "a.test:1"},
      {"http://a.test\\b", "a.test"},
  };
  std::string_view authority;
  bool malformed = false;
  for (const auto& row : rows) {
    CHECK(HttpTargetAuthority(row.target, authority, malformed));
    CHECK(authority == row.authority);
    CHECK_FALSE(malformed);
  }
  for (const char* target : {"http://b@a.test/", "http:///x", "http://"}) {
    CHECK(HttpTargetAuthority(target, authority, malformed));
    CHECK(malformed);
  }
  CHECK_FALSE(HttpTargetAuthority("/x?u=http://b.test/", authority, malformed));
  CHECK_FALSE(HttpTargetAuthority("*", authority, malformed));
}

}  // namespace
}  // namespace cordon::internal::egress
