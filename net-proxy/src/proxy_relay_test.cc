#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hello_testing.h"
#include "proxy_testing.h"
#include "socket_calls.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

const std::string kKeep = "GET / HTTP/1.1\r\nHost: granted.test\r\n\r\n";
const std::string kLast = "GET / HTTP/1.1\r\nHost: granted.test\r\nConnection: close\r\n\r\n";
const std::string kOther = "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n";

std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13);
  return bytes;
}

TEST_CASE("bytes and the end of each direction arrive as they were sent") {
  TestServer server(ServeEcho);
  Served served;
  if (!served.Start(With("granted.test:7000", server), Plan({"granted.test:7000"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  for (const std::size_t size : {0U, 1U, 70'000U, 8'000'000U}) {
    const std::string sent = Pattern(size);
    const TestStream stream = served.Connect("granted.test", 7000);
    REQUIRE(stream.valid());
    std::thread writer([&] {
      stream.Write(sent);
      stream.EndWriting();
    });
    const std::string got = stream.ReadAll();
    writer.join();
    CHECK((got == sent));
  }
}

TEST_CASE("a server that speaks first and ends its direction is still listened to") {
  std::atomic<bool> heard = false;
  TestServer server([&heard](const TestStream& stream) {
    stream.Write("last words");
    stream.EndWriting();
    heard = stream.ReadAll() == "an answer";
  });
  {
    Served served;
    if (!served.Start(With("granted.test:7000", server), Plan({"granted.test:7000"}))) {
      CORDON_SKIP("userns", "no user namespaces");
    }
    const TestStream stream = served.Connect("granted.test", 7000);
    CHECK(stream.ReadAll() == "last words");
    stream.Write("an answer");
    stream.EndWriting();
    CHECK(Eventually([&] { return heard.load(); }));
  }
}

TEST_CASE("a reset of either side reaches the other") {
  std::atomic<bool> server_saw_reset = false;
  TestServer server([&](const TestStream& stream) {
    if (stream.Read(1) == "s") {
      SetResetOnClose(stream.fd());
      return;
    }
    bool was_reset = false;
    (void)stream.ReadAll(&was_reset);
    server_saw_reset = was_reset;
  });
  Served served;
  if (!served.Start(With("granted.test:7000", server), Plan({"granted.test:7000"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream first = served.Connect("granted.test", 7000);
  first.Write(std::string("s\0", 2));
  bool reset = false;
  CHECK(first.ReadAll(&reset).empty());
  CHECK(reset);
  TestStream second = served.Connect("granted.test", 7000);
  second.Write(std::string("c\0", 2));
  SetResetOnClose(second.fd());
  second.Close();
  CHECK(Eventually([&] { return server_saw_reset.load(); }));
}

TEST_CASE("an answer that ends before the upload does is not lost") {
  TestServer server([](const TestStream& stream) {
    (void)stream.Read(100);
    stream.Write("HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\nno");
    // Closed with unread bytes: the kernel sends a reset.
  });
  Served served;
  if (!served.Start(With("granted.test:80", server), Plan({"granted.test:80"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream stream = served.Connect("granted.test", 80);
  std::thread writer([&] {
    stream.Write("POST / HTTP/1.1\r\nHost: granted.test\r\nContent-Length: 3000000\r\n\r\n");
    stream.Write(Pattern(3'000'000));
  });
  const std::string answer = stream.ReadAll();
  writer.join();
  CHECK(answer.starts_with("HTTP/1.1 413"));
}

TEST_CASE("a second request for another host is refused and the first one is answered") {
  TestServer server(ServeHttp);
  Served served;
  if (!served.Start(With("granted.test:80", server), Plan({"granted.test:80"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream good = served.Connect("granted.test", 80);
  good.Write(kKeep + kKeep + kLast);
  const std::string answers = good.ReadAll();
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("you asked", at)) != std::string::npos; ++at) ++count;
  CHECK(count == 3);

  const TestStream bad = served.Connect("granted.test", 80);
  bad.Write(kKeep + kOther);
  const std::string answer = bad.ReadAll();
  CHECK(answer.find("you asked GET / HTTP/1.1\r\nHost: granted.test") != std::string::npos);
  CHECK(answer.find("HTTP/1.1 403") != std::string::npos);
  CHECK(answer.find("you asked GET / HTTP/1.1\r\nHost: other.test") == std::string::npos);
  CHECK(HasDenial(*served.session, "tcp:other.test:80", "--net other.test:80"));
}

TEST_CASE("a TLS client that asks for another server name gets an alert and the server nothing") {
  std::mutex mutex;
  std::string heard;
  TestServer server([&](const TestStream& stream) {
    const std::string all = stream.ReadAll();
    const std::lock_guard lock(mutex);
    heard += all;
    stream.Write("from the server");
  });
  const auto what_was_heard = [&] {
    const std::lock_guard lock(mutex);
    return heard;
  };
  Served served;
  if (!served.Start(With("granted.test:443", server), Plan({"granted.test:443"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream bad = served.Connect("granted.test", 443);
  bad.Write(HelloFor("other.test"));
  CHECK(bad.ReadAll() == std::string("\x15\x03\x03\0\2\2\x31", 7));
  CHECK(HasDenial(*served.session, "tcp:other.test:443", "--net other.test:443"));
  const TestStream unnamed = served.Connect("granted.test", 443);
  unnamed.Write(Records(HelloMessage("")));
  CHECK(unnamed.ReadAll() == std::string("\x15\x03\x03\0\2\2\x31", 7));
  CHECK(Eventually([&] { return server.connections() == 2; }));
  CHECK(what_was_heard().empty());

  const TestStream good = served.Connect("granted.test", 443);
  const std::string hello = HelloFor("granted.test");
  for (const char c : hello) good.Write({&c, 1});
  good.EndWriting();
  CHECK(good.ReadAll() == "from the server");
  CHECK(what_was_heard() == hello);
}

TEST_CASE("text without an end of line is passed on before the client gives up") {
  TestServer server(ServeEcho);
  Served served;
  if (!served.Start(With("granted.test:7000", server), Plan({"granted.test:7000"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream stream = served.Connect("granted.test", 7000);
  stream.Write("ping");
  CHECK(stream.Read(4) == "ping");
}

TEST_CASE("frames pass after a switch to another protocol") {
  TestServer server([](const TestStream& stream) {
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
      const std::string c = stream.Read(1);
      if (c.empty()) return;
      head += c;
    }
    stream.Write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    ServeEcho(stream);
  });
  Served served;
  if (!served.Start(With("granted.test:80", server), Plan({"granted.test:80"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream stream = served.Connect("granted.test", 80);
  stream.Write(
      "GET / HTTP/1.1\r\nHost: granted.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
  const std::string agreed = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
  CHECK(stream.Read(agreed.size()) == agreed);
  stream.Write(kOther);
  stream.EndWriting();
  CHECK(stream.ReadAll() == kOther);
}

TEST_CASE("a connection on which nobody speaks ends") {
  TestServer server([](const TestStream& stream) { (void)stream.ReadAll(); });
  EgressProxyOptions options = With("granted.test:7000", server);
  options.limits.first_byte_timeout = std::chrono::milliseconds(50);
  Served served;
  if (!served.Start(std::move(options), Plan({"granted.test:7000"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream stream = served.Connect("granted.test", 7000);
  bool reset = false;
  CHECK(stream.ReadAll(&reset).empty());
  CHECK(reset);
}

TEST_CASE("connections beyond the limit wait and are served when others have ended") {
  TestServer server(ServeEcho);
  EgressProxyOptions options = With("granted.test:7000", server);
  options.limits.max_connections = 4;
  Served served;
  if (!served.Start(std::move(options), Plan({"granted.test:7000"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  std::vector<TestStream> streams;
  for (int i = 0; i < 12; ++i) {
    streams.push_back(served.Connect("granted.test", 7000));
    streams.back().Write(std::string("\0ping", 5));
  }
  CHECK(streams[3].Read(5).size() == 5);
  CHECK(server.connections() == 4);
  streams[3].Close();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (i == 3) continue;
    CHECK(streams[i].Read(5).size() == 5);
    streams[i].Close();
  }
  CHECK(server.connections() == 12);
}

TEST_CASE("connections are served on while the process has no descriptors left for new ones") {
  TestServer server(ServeEcho);
  Served served;
  if (!served.Start(With("granted.test:7000", server), Plan({"granted.test:7000"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream before = served.Connect("granted.test", 7000);
  before.Write(std::string("\0a", 2));
  CHECK(before.Read(2).size() == 2);
  const std::string address = Resolve(*served.network, "granted.test");
  absl::StatusOr<UniqueFd> socket =
      served.network->MakeSocket(SandboxNetwork::Side::kSandbox, AF_INET, SOCK_STREAM);
  REQUIRE(socket.ok());
  const TestStream waiting(*std::move(socket));
  rlimit saved{};
  getrlimit(RLIMIT_NOFILE, &saved);
  const rlimit none{3, saved.rlim_max};
  // Nothing is checked meanwhile: a sanitizer needs descriptors for that itself.
  const bool is_limited = setrlimit(RLIMIT_NOFILE, &none) == 0;
  const SocketAddress peer = ToSocketAddress({*IpAddress::Parse(address), 7000});
  const bool connected = connect(waiting.fd(), peer.get(), peer.size) == 0;
  before.Write(std::string("\0b", 2));
  const std::string while_full = before.Read(2);
  setrlimit(RLIMIT_NOFILE, &saved);
  CHECK(is_limited);
  CHECK(connected);
  CHECK(while_full.size() == 2);
  waiting.Write(std::string("\0c", 2));
  CHECK(waiting.Read(2).size() == 2);
}

TEST_CASE("closing a session ends its connections and frees its ports") {
  TestServer server(ServeEcho);
  Served served;
  if (!served.Start(With("granted.test:7000", server), Plan({"granted.test:7000"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream stream = served.Connect("granted.test", 7000);
  stream.Write(std::string("\0", 1));
  CHECK(stream.Read(1).size() == 1);
  served.session.reset();
  CHECK(stream.ReadAll().empty());
  CHECK_FALSE(TestStream::Connect(served.network.get(), "198.18.0.1", 7000).valid());
  served.session = served.proxy->Serve(Plan({"granted.test:7000"}), served.network).value();
  CHECK(served.Connect("granted.test", 7000).valid());
}

}  // namespace
}  // namespace cordon::internal::egress
