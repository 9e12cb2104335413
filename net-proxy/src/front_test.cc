#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "cordon/sdk/status.h"
#include "credential.h"
#include "hello_testing.h"
#include "http_forward.h"
#include "proxy_testing.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

std::string Get(const std::string& host, const std::string& fields = "Connection: close\r\n") {
  return "GET http://" + host + "/x?y HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}

TEST_CASE("a request in absolute form reaches its target in origin form") {
  TestServer server(ServeHttp);
  const Front front(With("granted.test:80", server), Plan({"granted.test:80"}));
  const std::string answer =
      front.Ask(Get("granted.test", "Connection: close\r\nProxy-Connection: x\r\nX-Kept: 1\r\n"));
  CHECK(answer.find("you asked GET /x?y HTTP/1.1\r\nHost: granted.test\r\nConnection: "
                    "close\r\nX-Kept: 1\r\n\r\n") != std::string::npos);
  CHECK(front.front->Used().size() == 1);
  CHECK(front.front->Denials().empty());
}

TEST_CASE("a target that is not granted is refused with words in each protocol") {
  TestServer server(ServeHttp);
  const Front front(With("other.test:80", server), Plan({"granted.test:80"}));
  for (const std::string& text :
       {Get("other.test"), std::string("CONNECT other.test:80 HTTP/1.1\r\nHost: x\r\n\r\n")}) {
    const std::string answer = front.Ask(text);
    CHECK(answer.starts_with("HTTP/1.1 403"));
    CHECK(answer.find("--net other.test:80") != std::string::npos);
  }
  CHECK(front.Ask(std::string("\5\1\0\5\1\0\3\x0aother.test\0\x50", 20)) ==
        std::string("\5\0\5\2\0\1\0\0\0\0\0\0", 12));
  CHECK(server.connections() == 0);
  CHECK(HasDenial(*front.front, "tcp:other.test:80", "--net other.test:80"));
  CHECK(front.front->Denials().at(0).count == 3);
}

// As at the transparent front: see decision_test.cc for the whole table.
TEST_CASE("a rule for any host opens no address that has to be named") {
  TestServer server(ServeHttp);
  const std::string port = std::to_string(server.port());
  const std::string socks = {static_cast<char>(server.port() >> 8),
                             static_cast<char>(server.port() & 0xff)};
  {
    const Front front(EgressProxyOptions(), Plan({"*:" + port, "0.0.0.0/0:" + port}));
    for (const std::string host : {"localhost", "127.0.0.1", "127.0.0.2", "10.0.0.5",
                                   "169.254.169.254", "[::1]", "[fd00::1]"}) {
      INFO(host);
      CHECK(front.Ask(Get(host + ":" + port)).starts_with("HTTP/1.1 403"));
      const std::string authority = host + ":" + port;
      CHECK(front.Ask("CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n")
                .starts_with("HTTP/1.1 403"));
    }
    CHECK(front.Ask(std::string("\5\1\0\5\1\0\1\x7f\0\0\1", 11) + socks) ==
          std::string("\5\0\5\2\0\1\0\0\0\0\0\0", 12));
    CHECK(server.connections() == 0);
    CHECK(HasDenial(*front.front, "tcp:127.0.0.1:" + port, "--net 127.0.0.1:" + port));
  }
  const Front named(EgressProxyOptions(), Plan({"*:" + port, "127.0.0.0/8:" + port}));
  CHECK(named.Ask(Get("127.0.0.1:" + port)).find("you asked GET") != std::string::npos);
  CHECK(server.connections() == 1);
}

TEST_CASE("one connection of a client goes to several targets, each decided on its own") {
  TestServer first(ServeHttp);
  TestServer second(ServeHttp);
  EgressProxyOptions options;
  options.overrides = {To("a.test:80", first.port()), To("b.test:80", second.port()),
                       To("c.test:80", second.port())};
  const Front front(std::move(options), Plan({"a.test:80", "b.test:80"}));
  const TestStream stream = front.Connect();
  const auto exchange = [&stream](const std::string& host) {
    stream.Write(Get(host, ""));
    const std::string expected = "GET /x?y HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
    const std::string head =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(expected.size() + 10) + "\r\n\r\n";
    return stream.Read(head.size() + expected.size() + 10) == head + "you asked " + expected;
  };
  CHECK(exchange("a.test"));
  CHECK(exchange("a.test"));
  CHECK(exchange("b.test"));
  CHECK(exchange("a.test"));
  stream.Write(Get("c.test", ""));
  CHECK(stream.ReadAll().starts_with("HTTP/1.1 403"));
  CHECK(first.connections() == 2);
  CHECK(second.connections() == 1);
}

TEST_CASE("a tunnel carries bytes both ways and is checked like any connection") {
  TestServer server(ServeEcho);
  const Front front(With("granted.test:443", server), Plan({"granted.test:443"}));
  const std::string connect = "CONNECT granted.test:443 HTTP/1.1\r\nHost: granted.test:443\r\n\r\n";
  const std::string agreed = "HTTP/1.1 200 Connection established\r\n\r\n";
  const TestStream good = front.Connect();
  good.Write(connect + std::string("\0early", 6));
  CHECK(good.Read(agreed.size()) == agreed);
  CHECK(good.Read(6) == std::string("\0early", 6));
  good.EndWriting();
  CHECK(good.ReadAll().empty());

  const TestStream fronting = front.Connect();
  fronting.Write(connect + HelloFor("other.test"));
  CHECK(fronting.Read(agreed.size()) == agreed);
  CHECK(fronting.ReadAll() == std::string("\x15\x03\x03\0\2\2\x31", 7));
  CHECK(HasDenial(*front.front, "tcp:other.test:443", "--net other.test:443"));
}

TEST_CASE("a target that does not answer is told apart from one that is refused") {
  std::uint16_t closed = 0;
  {
    TestServer server(ServeEcho);
    closed = server.port();
  }
  EgressProxyOptions options;
  options.overrides = {To("granted.test:80", closed)};
  const Front front(std::move(options), Plan({"granted.test:80"}));
  CHECK(front.Ask(Get("granted.test")).starts_with("HTTP/1.1 502"));
  CHECK(front.Ask(std::string("\5\1\0\5\1\0\3\x0cgranted.test\0\x50", 22)).substr(2, 2) == "\5\5");
  CHECK(front.front->Denials().empty());
}

TEST_CASE("without the right credential nothing is reached, in each protocol") {
  TestServer server(ServeHttp);
  const Front front(With("granted.test:80", server), Plan({"granted.test:80"}), "user:secret");
  const auto basic = [](const std::string& text) {
    return "Proxy-Authorization: Basic " + absl::Base64Escape(text) + "\r\nConnection: close\r\n";
  };
  CHECK(front.Ask(Get("granted.test", basic("user:secret"))).find("you asked") !=
        std::string::npos);
  for (const std::string& fields :
       {std::string(), basic("user:secreT"), basic("user:secre"), basic("user:secret "), basic(""),
        basic("user:secret") + basic("user:secret"),
        std::string("Proxy-Authorization: Bearer secret\r\n")}) {
    INFO(fields);
    const std::string answer = front.Ask(Get("granted.test", fields));
    CHECK(answer.starts_with("HTTP/1.1 407"));
    CHECK(answer.find("Proxy-Authenticate: Basic") != std::string::npos);
  }
  const std::string greeting("\5\1\2", 3);
  const std::string request("\5\1\0\3\x0cgranted.test\0\x50", 19);
  CHECK(front.Ask(std::string("\5\1\0", 3)) == "\5\xff");
  CHECK(front.Ask(greeting + "\1\4user\5wrong" + request) == "\5\2\1\1");
  const TestStream stream = front.Connect();
  stream.Write(greeting + "\1\4user\6secret" + request);
  CHECK(stream.Read(14) == std::string("\5\2\1\0\5\0\0\1\0\0\0\0\0\0", 14));
  stream.Write("GET / HTTP/1.1\r\nHost: granted.test\r\nConnection: close\r\n\r\n");
  CHECK(stream.ReadAll().find("you asked") != std::string::npos);
  CHECK(server.connections() == 2);
  // The secret goes no further.
  CHECK(front.Ask(Get("granted.test", basic("user:secret"))).find("roxy-") == std::string::npos);
}

TEST_CASE("requests that are read in more than one way are refused and reach nobody") {
  TestServer server(ServeHttp);
  const Front front(With("granted.test:80", server), Plan({"granted.test:80"}));
  for (const std::string& text : {
           std::string("GET / HTTP/1.1\r\nHost: granted.test\r\n\r\n"),
           std::string("GET https://granted.test/ HTTP/1.1\r\nHost: granted.test\r\n\r\n"),
           std::string("GET http://granted.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n"),
           std::string("GET http://granted.test@other.test/ HTTP/1.1\r\nHost: x\r\n\r\n"),
           std::string("GET http://granted.test:80#@x/ HTTP/1.1\r\nHost: granted.test\r\n\r\n"),
           std::string("GET http://granted.test\\@x/ HTTP/1.1\r\nHost: granted.test\r\n\r\n"),
           std::string("GET http://*.test/ HTTP/1.1\r\nHost: *.test\r\n\r\n"),
           std::string("GET http://0x7f.1/ HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n"),
           std::string("GET http://granted.test/ HTTP/1.1\r\nHost: granted.test\r\n"
                       "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
           std::string("CONNECT granted.test HTTP/1.1\r\nHost: granted.test\r\n\r\n"),
           std::string("CONNECT granted.test:80 HTTP/1.1\r\nContent-Length: 1\r\n\r\n"),
           std::string("CONNECT *:80 HTTP/1.1\r\nHost: x\r\n\r\n"),
           std::string("hello\r\n\r\n"),
       }) {
    INFO(text);
    CHECK(front.Ask(text).starts_with("HTTP/1.1 400"));
  }
  CHECK(server.connections() == 0);
}

TEST_CASE("an upload in chunks with trailers goes through a forward proxy unchanged") {
  std::string heard;
  const std::string body = "3\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n";
  TestServer server([&](const TestStream& stream) {
    while (!heard.ends_with(body)) {
      const std::string c = stream.Read(1);
      if (c.empty()) return;
      heard += c;
    }
    stream.Write("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  });
  const Front front(With("granted.test:80", server), Plan({"granted.test:80"}));
  const std::string answer = front.Ask(
      "POST http://granted.test/ HTTP/1.1\r\nHost: granted.test\r\nExpect: 100-continue\r\n"
      "Transfer-Encoding: chunked\r\n\r\n" +
      body);
  CHECK(answer.starts_with("HTTP/1.1 204"));
  CHECK(heard ==
        "POST / HTTP/1.1\r\nHost: granted.test\r\nExpect: 100-continue\r\n"
        "Transfer-Encoding: chunked\r\n\r\n" +
            body);
}

TEST_CASE("an explicit front serves any port of a target") {
  TestServer server(ServeHttp);
  EgressProxyOptions options;
  options.overrides = {To("granted.test:8123", server.port())};
  const Front front(std::move(options), Plan({"granted.test:*"}));
  CHECK(front.Ask(Get("granted.test:8123")).find("you asked") != std::string::npos);
  CHECK(server.connections() == 1);
}

TEST_CASE("a front refuses what it cannot be") {
  const auto proxy = NewEgressProxy({}).value();
  EgressPlan plan = Plan({});
  plan.host_ports = {80};
  CHECK(Is(proxy->ServeFront(std::move(plan), {}).status(), ErrorCode::kInvalidOption));
  EgressFrontOptions nowhere;
  nowhere.address = "example.com";
  CHECK(Is(proxy->ServeFront(Plan({}), nowhere).status(), ErrorCode::kInvalidTarget));
  EgressFrontOptions foreign;
  foreign.address = "203.0.113.1";
  CHECK(Is(proxy->ServeFront(Plan({}), foreign).status(), ErrorCode::kUnavailable));
}

}  // namespace
}  // namespace cordon::internal::egress
