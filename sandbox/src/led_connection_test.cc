#include "led_connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/unique_fd.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

using std::chrono::steady_clock;

// At the host's 127.0.0.1, with a queue of `backlog` in which nobody is looked after.
class IdleDoor final : public EgressDoor {
 public:
  explicit IdleDoor(int backlog = 16) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(fd_.get(), backlog) == 0);
    socklen_t size = sizeof address;
    REQUIRE(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  std::vector<Denial> Denials() const override { return {}; }
  std::vector<NetworkTarget> Used() const override { return {}; }
  std::uint16_t port() const override { return port_; }
  int Expect(std::uint16_t source_port, const std::string& address, std::uint16_t port) override {
    expected[source_port] = address + " " + std::to_string(port);
    return error;
  }
  void Forget(std::uint16_t source_port) override { expected.erase(source_port); }

  // What was said of the next visitor; `nobody` when there is none in time.
  [[nodiscard]] std::string Visitor() const {
    if (!WaitReadable(fd_.get())) return "nobody";
    sockaddr_in peer = {};
    socklen_t size = sizeof peer;
    const UniqueFd visitor(
        accept4(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC));
    if (peer.sin_addr.s_addr != htonl(INADDR_LOOPBACK)) return "elsewhere";
    const auto found = expected.find(ntohs(peer.sin_port));
    return found == expected.end() ? "stranger" : found->second;
  }

  std::map<std::uint16_t, std::string> expected;
  int error = 0;

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

ObservedAddress To(int family, const std::string& host = "198.18.0.1") {
  ObservedAddress to;
  to.kind = ObservedAddress::Kind::kInternet;
  to.host = host;
  to.port = 443;
  to.is_v6 = family == AF_INET6;
  return to;
}

UniqueFd Socket(int family, int type = SOCK_STREAM) {
  UniqueFd made(socket(family, type | SOCK_CLOEXEC, 0));
  REQUIRE(made.valid());
  return made;
}

TEST_CASE("a TCP socket of either family is connected as said, and keeps its way of blocking") {
  const auto door = std::make_shared<IdleDoor>();
  LedConnections connections(door);
  for (const int family : {AF_INET, AF_INET6}) {
    const UniqueFd blocking(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!blocking.valid()) continue;  // Without IPv6.
    CHECK(connections.Connect(blocking.get(), To(family)) == 0);
    CHECK(door->Visitor() == "198.18.0.1 443");
    CHECK((fcntl(blocking.get(), F_GETFL) & O_NONBLOCK) == 0);
    CHECK(connections.Connect(blocking.get(), To(family, "198.18.0.2")) == EISCONN);
    CHECK(door->expected.size() == 1);

    const UniqueFd other = Socket(family, SOCK_STREAM | SOCK_NONBLOCK);
    const int begun = connections.Connect(other.get(), To(family, "198.18.0.3"));
    CHECK((begun == 0 || begun == EINPROGRESS));
    CHECK(door->Visitor() == "198.18.0.3 443");
    CHECK((fcntl(other.get(), F_GETFL) & O_NONBLOCK) != 0);
    door->expected.clear();
  }
}

TEST_CASE("what the door refuses is not connected, and the socket can be used for another target") {
  const auto door = std::make_shared<IdleDoor>();
  LedConnections connections(door);
  const UniqueFd socket = Socket(AF_INET);
  door->error = ENETUNREACH;
  CHECK(connections.Connect(socket.get(), To(AF_INET)) == ENETUNREACH);
  CHECK(connections.Connect(socket.get(), To(AF_INET)) == ENETUNREACH);
  door->error = 0;
  CHECK(connections.Connect(socket.get(), To(AF_INET, "198.18.0.2")) == 0);
  CHECK(door->Visitor() == "198.18.0.2 443");
}

TEST_CASE("nothing but a TCP socket is connected, and none where there is no door") {
  const auto door = std::make_shared<IdleDoor>();
  LedConnections connections(door);
  const ObservedAddress to = To(AF_INET);
  CHECK(connections.Connect(Socket(AF_INET, SOCK_DGRAM).get(), to) == EACCES);
  CHECK(connections.Connect(Socket(AF_UNIX).get(), to) == EACCES);
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(connections.Connect(file.get(), to) == EACCES);
  CHECK(connections.Connect(-1, to) == EACCES);
  CHECK(connections.Connect(Socket(AF_INET).get(), To(AF_INET6)) == EAFNOSUPPORT);
  CHECK(door->expected.empty());
  LedConnections nowhere{std::weak_ptr<EgressDoor>()};
  CHECK(nowhere.Connect(Socket(AF_INET).get(), to) == EACCES);
}

TEST_CASE("a proxy that takes nobody in delays others for a bounded time") {
  const auto door = std::make_shared<IdleDoor>(0);
  LedConnections connections(door);
  std::vector<UniqueFd> sockets;
  const auto begin = steady_clock::now();
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    sockets.push_back(Socket(AF_INET));
    if (connections.Connect(sockets.back().get(), To(AF_INET)) == ECONNREFUSED) ++refused;
  }
  CHECK(refused > LedConnections::kMostWaits);
  // All waits, and as much again for a busy machine.
  CHECK(steady_clock::now() - begin < 2 * LedConnections::kMostWaits * LedConnections::kPatience);
}

TEST_CASE("a command that changes how its socket blocks meanwhile delays nobody either") {
  const auto door = std::make_shared<IdleDoor>(0);
  LedConnections connections(door);
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 4; ++i) {  // Until nobody fits in.
    sockets.push_back(Socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK));
    (void)connections.Connect(sockets.back().get(), To(AF_INET));
  }
  const UniqueFd flipped = Socket(AF_INET);
  const std::jthread flipper([&flipped](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      (void)fcntl(flipped.get(), F_SETFL, O_NONBLOCK);
      (void)fcntl(flipped.get(), F_SETFL, 0);
    }
  });
  const auto begin = steady_clock::now();
  for (int i = 0; i < 2000; ++i) {
    (void)connections.Connect(flipped.get(), To(AF_INET));
    sockaddr none = {};
    (void)connect(flipped.get(), &none, sizeof none);
  }
  CHECK(steady_clock::now() - begin < std::chrono::seconds(10));  // A blocked one takes minutes.
}

}  // namespace
}  // namespace cordon::internal::testing
