// What a hostile client or server tries with a way out, each beside the same act that is allowed.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "event_loop.h"
#include "proxy_testing.h"
#include "socket_calls.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

std::string Get(const std::string& host, const std::string& fields = "") {
  return "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n" + fields +
         "Connection: close\r\n\r\n";
}

std::string Basic(const std::string& credential) {
  return "Proxy-Authorization: Basic " + absl::Base64Escape(credential) + "\r\n";
}

// The processor time of this process, all threads.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST_CASE("the address that was judged is the one that is dialled, whatever the name says next") {
  TestServer inside(ServeHttp);
  std::atomic<int> lookups = 0;
  std::vector<std::string> answers = {"192.0.2.1", "127.0.0.1"};
  EgressProxyOptions options;
  options.limits.dial_timeout = std::chrono::milliseconds(300);
  options.lookup = [&](const std::string&) -> absl::StatusOr<std::vector<std::string>> {
    const auto at = static_cast<std::size_t>(lookups++);
    return std::vector<std::string>{answers[std::min(at, answers.size() - 1)]};
  };
  const std::string target = "granted.test:" + std::to_string(inside.port());
  // The first address is granted, so that it is dialled; nobody answers there.
  const Front front(options, Plan({target, "192.0.2.0/24:*"}));
  CHECK_FALSE(front.Ask(Get(target)).find("you asked") != std::string::npos);
  CHECK(lookups == 1);
  CHECK(inside.connections() == 0);
  // Asked again the name leads inside, and that is refused.
  const std::string refused = front.Ask(Get(target));
  CHECK(refused.starts_with("HTTP/1.1 403"));
  CHECK(refused.find("a loopback address") != std::string::npos);
  CHECK(inside.connections() == 0);
  // The control: granted as an address, it is reached by the same name.
  const Front allowed(options, Plan({target, "127.0.0.1:*"}));
  CHECK(allowed.Ask(Get(target)).find("you asked") != std::string::npos);
}

TEST_CASE("where a server sends its client on is decided like everything else") {
  TestServer other(ServeHttp);
  TestServer redirecting([](const TestStream& stream) {
    (void)stream.Read(20);
    stream.Write(
        "HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n");
  });
  EgressProxyOptions options;
  options.overrides = {To("granted.test:80", redirecting.port()),
                       To("other.test:80", other.port())};
  const auto follow = [](const Front& front) {
    const std::string answer = front.Ask(Get("granted.test"));
    REQUIRE(answer.find("Location: http://other.test/") != std::string::npos);
    return front.Ask(Get("other.test"));
  };
  const Front front(options, Plan({"granted.test:80"}));
  CHECK(follow(front).starts_with("HTTP/1.1 403"));
  CHECK(other.connections() == 0);
  const Front both(options, Plan({"granted.test:80", "other.test:80"}));
  CHECK(follow(both).find("you asked") != std::string::npos);
}

TEST_CASE("a credential is not guessed by parts of it, and guessing delays nobody") {
  TestServer server(ServeHttp);
  const Front front(With("granted.test:80", server), Plan({"granted.test:80"}), "user:s3cr3t");
  const Front other(With("granted.test:80", server), Plan({"granted.test:80"}), "user:another");
  std::vector<std::string> guesses = {
      "",
      Basic(""),
      Basic("user:"),
      Basic("user:s3cr3"),
      Basic("user:s3cr3t "),
      Basic("user:s3cr3tt"),
      Basic("USER:s3cr3t"),
      Basic(std::string("user:s3cr3t\0", 12)),
      Basic(std::string("user:s3cr3\0", 11)),
      Basic("user:another"),
      Basic("user:wrong") + Basic("user:s3cr3t"),
      Basic("user:s3cr3t") + Basic("user:s3cr3t"),
      "Proxy-Authorization: Bearer " + absl::Base64Escape("user:s3cr3t") + "\r\n",
      "Proxy-Authorization: Basic user:s3cr3t\r\n",
      "Authorization: Basic " + absl::Base64Escape("user:s3cr3t") + "\r\n",
  };
  for (int i = 0; i < 200; ++i) guesses.push_back(Basic("user:" + std::to_string(i)));
  for (const std::string& guess : guesses) {
    INFO(guess);
    CHECK(front.Ask(Get("granted.test", guess)).starts_with("HTTP/1.1 407"));
  }
  CHECK(server.connections() == 0);
  CHECK(front.Ask(Get("granted.test", Basic("user:s3cr3t"))).find("you asked") !=
        std::string::npos);
  CHECK(other.Ask(Get("granted.test", Basic("user:another"))).find("you asked") !=
        std::string::npos);
}

TEST_CASE("clients that send a byte now and then end in time and delay nobody") {
  TestServer server(ServeHttp);
  EgressProxyOptions options = With("granted.test:80", server);
  options.limits.first_byte_timeout = std::chrono::milliseconds(700);
  const Front front(std::move(options), Plan({"granted.test:80"}));
  std::vector<TestStream> slow;
  for (int i = 0; i < 100; ++i) slow.push_back(front.Connect());
  const std::string head = Get("granted.test");
  std::size_t sent = 0;
  // All of them are given up before half of a head has come.
  const bool all_ended = Eventually([&] {
    for (const TestStream& stream : slow) (void)stream.Write(head.substr(sent % 20, 1));
    ++sent;
    if (sent == 3) CHECK(front.Ask(head).find("you asked") != std::string::npos);
    return std::all_of(slow.begin(), slow.end(), [](const TestStream& stream) {
      char byte = 0;
      const ssize_t count = recv(stream.fd(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
      return count == 0 || (count < 0 && errno != EAGAIN);
    });
  });
  CHECK(all_ended);
  CHECK(server.connections() == 1);
}

TEST_CASE("a server that sends a byte now and then is passed on as it comes") {
  std::atomic<int> taken = 0;
  TestServer server([&taken](const TestStream& stream) {
    (void)stream.Read(1);
    for (int i = 0; i < 5; ++i) {
      stream.Write("x");
      // The next when the client has the one before: nothing is kept until more comes.
      if (!Eventually([&] { return taken > i; })) return;
    }
  });
  const Front front(With("granted.test:7000", server), Plan({"granted.test:7000"}));
  const TestStream stream = front.Connect();
  stream.Write("CONNECT granted.test:7000 HTTP/1.1\r\nHost: x\r\n\r\n" + std::string("\0", 1));
  const std::string agreed = "HTTP/1.1 200 Connection established\r\n\r\n";
  CHECK(stream.Read(agreed.size()) == agreed);
  for (int i = 0; i < 5; ++i) {
    CHECK(stream.Read(1) == "x");
    ++taken;
  }
}

TEST_CASE("a client that does not read stops its server and nobody else") {
  constexpr std::size_t kMost = std::size_t{64} * 1024 * 1024;
  std::atomic<std::size_t> sent = 0;
  TestServer server([&sent](const TestStream& stream) {
    (void)stream.Read(1);
    const std::string block(64 * 1024, 'x');
    // Ends when a write has waited for five seconds, or the client has gone.
    while (sent < kMost && stream.Write(block)) sent += block.size();
  });
  TestServer quick(ServeHttp);
  EgressProxyOptions options = With("granted.test:7000", server);
  options.overrides.push_back(To("quick.test:80", quick.port()));
  const Front front(std::move(options), Plan({"granted.test:7000", "quick.test:80"}));
  TestStream stuck = front.Connect();
  stuck.Write("CONNECT granted.test:7000 HTTP/1.1\r\nHost: x\r\n\r\n" + std::string("\0", 1));
  std::size_t before = 0;
  // Until a while goes by in which nothing more is taken.
  REQUIRE(Eventually([&] {
    const std::size_t now = sent;
    const bool stands = now > 0 && now == std::exchange(before, now);
    return stands && front.Ask(Get("quick.test")).find("you asked") != std::string::npos &&
           sent == now;
  }));
  CHECK(sent < kMost);
  const double cpu = CpuSeconds();
  for (int i = 0; i < 20; ++i) CHECK(front.Ask(Get("quick.test")).size() > 10);
  CHECK(CpuSeconds() - cpu < 2);
  stuck.Close();
}

// As many as the host lets this process have, 10,000 at most.
std::size_t RaiseDescriptors(rlimit& saved) {
  getrlimit(RLIMIT_NOFILE, &saved);
  rlimit raised = saved;
  raised.rlim_cur = std::min<rlim_t>(saved.rlim_max, 16'384);
  setrlimit(RLIMIT_NOFILE, &raised);
  return std::min<std::size_t>(10'000, static_cast<std::size_t>(raised.rlim_cur) - 1'500);
}

TEST_CASE("a flood of half-open connections costs no processor time and ends with its client") {
  TestServer server(ServeHttp);
  EgressProxyOptions options = With("granted.test:80", server);
  options.limits.max_connections = 256;
  options.limits.first_byte_timeout = std::chrono::milliseconds(500);
  const Front front(std::move(options), Plan({"granted.test:80"}));
  CHECK(front.Ask(Get("granted.test")).find("you asked") != std::string::npos);
  rlimit saved{};
  const std::size_t many = RaiseDescriptors(saved);
  const Endpoint peer{IpAddress::V4(0x7f000001), front.front->port()};
  std::vector<UniqueFd> flood;
  for (std::size_t i = 0; i < many; ++i) {
    absl::StatusOr<UniqueFd> fd = MakeHostSocket(AF_INET, SOCK_STREAM);
    if (!fd.ok()) break;
    (void)StartConnect(fd->get(), peer);
    flood.push_back(*std::move(fd));
  }
  CHECK(flood.size() == many);
  // They are given up in turns, one limit's worth at a time: that is work, but no spinning.
  const double cpu = CpuSeconds();
  const auto start = SteadyClock::now();
  const auto wait = std::chrono::milliseconds(1000);
  (void)Eventually([&] { return SteadyClock::now() - start > wait; });
  const double share =
      (CpuSeconds() - cpu) / std::chrono::duration<double>(SteadyClock::now() - start).count();
  CHECK(share < 0.5);
  flood.clear();
  CHECK(front.Ask(Get("granted.test")).find("you asked") != std::string::npos);
  setrlimit(RLIMIT_NOFILE, &saved);
}

}  // namespace
}  // namespace cordon::internal::egress
