#include "client_inspector.h"

#include <string>
#include <vector>

#include "hello_testing.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

using Verdict = ClientInspector::Verdict;

InspectorRules Rules() {
  InspectorRules rules;
  rules.host = "a.test";
  rules.port = 80;
  return rules;
}

struct Run {
  Verdict verdict = Verdict::kGoOn;
  std::string out;
  ClientInspector::Refusal refusal;
  std::string protocol;
};

// What goes on when `text` comes in pieces of `piece` bytes.
Run Feed(std::string_view text, std::size_t piece) {
  ClientInspector inspector(Rules());
  Run run;
  while (!text.empty() && run.verdict != Verdict::kRefuse) {
    const std::string_view part = text.substr(0, piece);
    if (run.verdict == Verdict::kRaw) {
      run.out += part;
    } else {
      run.verdict = inspector.Feed(part, run.out);
    }
    text.remove_prefix(part.size());
  }
  run.refusal = inspector.refusal();
  run.protocol = inspector.protocol();
  return run;
}

const std::string kGet = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const std::string kOther = "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n";

TEST_CASE("what is for the host of the connection goes on unchanged however it is cut") {
  const std::string rows[] = {
      kGet,
      kGet + kGet + "\r\n" + kGet,
      "GET / HTTP/1.1\r\nHost: A.TEST.:80\r\n\r\n",
      "GET http://a.test/x HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nHost:" + kGet,
      "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n" +
          kGet,
      HelloFor("a.test") + "\x17\x03\x03rest",
      // A second hello after a HelloRetryRequest.
      HelloFor("a.test") + std::string("\x14\x03\x03\0\1\1", 6) + HelloFor("A.test") + "\x17zz",
      "SSH-2.0-OpenSSH_9.2\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
      "*1\r\n$4\r\nPING\r\n",
      std::string("\0\0\0\x08\x04\xd2\x16\x2f", 8),
      "0032git-upload-pack /x\n",
      std::string("\x16\x02zz", 4),
      "EHLO x\r\n",
      std::string("\0ECT a.test HTTP/1.1\r\n\r\n", 24),
      std::string(300, 'a') + " / HTTP/1.1\r\n\r\n",
      "\xff\xfe\x00",
  };
  for (const std::string& text : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, text.size()}) {
      INFO(text << " in pieces of " << piece);
      const Run run = Feed(text, piece);
      CHECK(run.verdict != Verdict::kRefuse);
      CHECK(run.out == text);
    }
  }
}

TEST_CASE("what is for another host stops before the head that says so") {
  const struct {
    std::string before;
    std::string text;
    std::string other;
  } rows[] = {
      {"", kOther, "b.test"},
      {"", "\r\n" + kOther, "b.test"},
      {kGet, kOther, "b.test"},
      {kGet + kGet, kOther, "b.test"},
      {"", "GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "b.test"},
      {"", "GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", "b.test"},
      {"", "GET http://a.test@b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
      {"", "GET b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
      {"", "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n", ""},
      {"", "GET / HTTP/1.1\r\n\r\n", ""},
      {"", "GET / HTTP/1.0\r\n\r\n", ""},
      {"", "GET / HTTP/1.1\r\nHost:\r\n\r\n", ""},
      {"", "GET / HTTP/1.1\r\nHost: a.test:81\r\n\r\n", ""},
      {"", "GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n", "a.test, b.test"},
      {"", "GET / HTTP/1.1\r\nHost: xa.test\r\n\r\n", "xa.test"},
      {"", "GET / HTTP/1.1\r\nHost: a.test.b\r\n\r\n", "a.test.b"},
      {"", "GET /\r\n\r\n", ""},
      {"", "get / http/1.1\r\nHost: b.test\r\n\r\n", ""},
      {"", " GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", ""},
      {"", "GET /\x01 HTTP/1.1\r\nHost: b.test\r\n\r\n", ""},
      {"", std::string("GET /\0 HTTP/1.1\r\nHost: b.test\r\n\r\n", 33), ""},
      {"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""},
      {"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nxx", kOther, "b.test"},
      {"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
       kOther, "b.test"},
      {"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n", "1x\r\n", ""},
      {"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n", "-1\r\n", ""},
      {"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n", "1\n", ""},
      {"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx", "y\r\n", ""},
      {"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
       "Host: b.test\r\n", ""},
      {"", HelloFor("b.test"), "b.test"},
      {"", Records(HelloMessage("")), ""},
      {"", Records(HelloMessage(ServerName("a.test") + Extension(0xfe0d, "x"))), ""},
      {"", Records(Big(2, 1) + Big(0, 3)), ""},
      {HelloFor("a.test"), HelloFor("b.test"), "b.test"},
      {"", std::string("\x80\x2e\x01\x03\x01", 5), ""},
      {"", std::string("\x80\x2e\x01\x00\x02", 5), ""},
  };
  for (const auto& row : rows) {
    const std::string text = row.before + row.text;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()}) {
      INFO(text << " in pieces of " << piece);
      const Run run = Feed(text, piece);
      CHECK(run.verdict == Verdict::kRefuse);
      CHECK(run.out == row.before);
      CHECK(run.refusal.other_host == row.other);
      CHECK_FALSE(run.refusal.reason.empty());
    }
  }
}

TEST_CASE("what is longer than a limit is refused however it is cut") {
  const std::string head = "GET / HTTP/1.1\r\nHost: a.test\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string large(Rules().max_head_bytes, 'x');
  struct Row {
    const char* what;
    std::string text;
    Verdict expected;
  };
  const Row rows[] = {
      {"a chunk's line at its limit", chunked + "0;" + std::string(253, 'x') + "\r\n\r\n",
       Verdict::kRefuse},
      {"a chunk's line below it", chunked + "0;" + std::string(252, 'x') + "\r\n\r\n",
       Verdict::kGoOn},
      {"a trailer", chunked + "0\r\nX: " + large + "\r\n\r\n", Verdict::kRefuse},
      {"a field", head + "X: " + large + "\r\n\r\n", Verdict::kRefuse},
      {"a first line", "GET /" + large + " HTTP/1.1\r\nHost: a.test\r\n\r\n", Verdict::kRefuse},
      {"a line that is no request", "hello " + large + "\r\n", Verdict::kRefuse},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const Run whole = Feed(row.text, row.text.size());
    CHECK(whole.verdict == row.expected);
    for (const std::size_t piece : {1U, 7U, 4096U}) {
      const Run cut = Feed(row.text, piece);
      CHECK(cut.verdict == row.expected);
      CHECK(cut.out == whole.out);
      CHECK(cut.refusal.reason == whole.refusal.reason);
    }
  }
}

TEST_CASE("refusals are in the client's own protocol") {
  CHECK(Feed(kOther, 999).refusal.answer.starts_with("HTTP/1.1 403"));
  CHECK(Feed(kOther, 999).refusal.answer.find("--net b.test:80") != std::string::npos);
  CHECK(Feed(HelloFor("b.test"), 999).refusal.answer == "\x15\x03\x03" + Big(2, 2) + "\2\x31");
}

TEST_CASE("part of a line goes on when the client waits, and the look at it goes on too") {
  ClientInspector inspector(Rules());
  std::string out;
  CHECK(inspector.Feed("GET /", out) == Verdict::kGoOn);
  CHECK(out.empty());
  CHECK(inspector.holds_partial_line());
  inspector.Release(out);
  CHECK(out == "GET /");
  CHECK(inspector.Feed(" HTTP/1.1\r\nHost: b.test\r\n", out) == Verdict::kGoOn);
  CHECK(out == "GET /");
  CHECK(inspector.Feed("\r\n", out) == Verdict::kRefuse);
  CHECK(out == "GET /");

  ClientInspector plain(Rules());
  out.clear();
  CHECK(plain.Feed("hello", out) == Verdict::kGoOn);
  plain.Release(out);
  CHECK(plain.Feed(" again\n", out) == Verdict::kRaw);
  CHECK(out == "hello again\n");
}

TEST_CASE("text without an end of line that no request begins with is no head") {
  ClientInspector inspector(Rules());
  std::string out;
  CHECK(inspector.Feed(std::string(257, 'y'), out) == Verdict::kRaw);
  CHECK(out.size() == 257);
  ClientInspector request(Rules());
  CHECK(request.Feed("GET /" + std::string(300, 'y'), out) == Verdict::kGoOn);
}

TEST_CASE("part of a hello never goes on alone") {
  ClientInspector inspector(Rules());
  std::string out;
  CHECK(inspector.Feed(HelloFor("a.test").substr(0, 20), out) == Verdict::kGoOn);
  inspector.Release(out);
  inspector.Finish(out);
  CHECK(out.empty());
}

TEST_CASE("after a switch of protocols agreed by the server nothing is looked at") {
  const std::string upgrade =
      "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  ClientInspector inspector(Rules());
  std::string out;
  CHECK(inspector.Feed(upgrade, out) == Verdict::kGoOn);
  REQUIRE(inspector.awaits_switch());
  CHECK(inspector.FeedServer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 10", out) == Verdict::kGoOn);
  CHECK(inspector.FeedServer("1 Switching\r\n", out) == Verdict::kGoOn);
  CHECK(inspector.FeedServer("\r\nframes", out) == Verdict::kRaw);
  CHECK(out == upgrade);

  // A server that does not agree: requests as before.
  ClientInspector refused(Rules());
  out.clear();
  CHECK(refused.Feed(upgrade, out) == Verdict::kGoOn);
  CHECK(refused.FeedServer("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 no\r\n\r\n", out) ==
        Verdict::kGoOn);
  CHECK_FALSE(refused.awaits_switch());
  CHECK(refused.Feed(kOther, out) == Verdict::kRefuse);

  // In a later request it is not found for sure, so requests go on to be checked.
  ClientInspector late(Rules());
  out.clear();
  CHECK(late.Feed(kGet + upgrade, out) == Verdict::kGoOn);
  CHECK_FALSE(late.awaits_switch());
  CHECK(late.Feed(kOther, out) == Verdict::kRefuse);
}

TEST_CASE("an offer of HTTP/2 without TLS is taken out of the request") {
  const std::string text =
      "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
      "HTTP2-Settings: x\r\n\r\n";
  const Run run = Feed(text, 10);
  CHECK(run.verdict == Verdict::kGoOn);
  CHECK(run.out.size() == text.size());
  CHECK(run.out.find("h2c") == std::string::npos);
  CHECK(run.out.find("Upgrade: ---\r\n") != std::string::npos);
}

TEST_CASE("an encrypted hello passes by its outer name where that is allowed") {
  InspectorRules rules = Rules();
  rules.allow_encrypted_hello = true;
  ClientInspector inspector(rules);
  std::string out;
  const std::string hello =
      Records(HelloMessage(ServerName("a.test") + Extension(0xfe0d, "x"))) + "\x17";
  CHECK(inspector.Feed(hello, out) == Verdict::kRaw);
  CHECK(out == hello);
}

}  // namespace
}  // namespace cordon::internal::egress
