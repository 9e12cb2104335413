// The way in for commands whose sockets are connected for them.

#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "expected_connections.h"
#include "proxy_testing.h"
#include "socket_calls.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

// A door, and what connects sockets to it.
struct Door {
  std::unique_ptr<NetProxy> proxy;
  std::unique_ptr<EgressDoor> door;

  Door(EgressProxyOptions options, EgressPlan plan) {
    proxy = NewEgressProxy(std::move(options)).value();
    door = proxy->ServeDoor(std::move(plan)).value();
  }

  // A socket with a port at `address` of the host.
  [[nodiscard]] static UniqueFd Bound(const std::string& address, std::uint16_t port = 0) {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress local = ToSocketAddress({*IpAddress::Parse(address), port});
    REQUIRE(bind(fd.get(), local.get(), local.size) == 0);
    return fd;
  }
  [[nodiscard]] TestStream Join(UniqueFd fd) const {
    const SocketAddress peer = ToSocketAddress({IpAddress::V4(0x7f000001), door->port()});
    REQUIRE(connect(fd.get(), peer.get(), peer.size) == 0);
    return TestStream(std::move(fd));
  }
  // As if to `address`; not valid when that is refused.
  [[nodiscard]] TestStream Connect(const std::string& address, std::uint16_t port,
                                   int* refused = nullptr) const {
    UniqueFd fd = Bound("127.0.0.1");
    const int error = door->Expect(LocalEndpoint(fd.get()).port, address, port);
    if (refused != nullptr) *refused = error;
    return error == 0 ? Join(std::move(fd)) : TestStream();
  }
  [[nodiscard]] int ErrorOf(const std::string& address, std::uint16_t port) const {
    int error = 0;
    (void)Connect(address, port, &error);
    return error;
  }
  // What the resolver at `resolver` says about `name`.
  [[nodiscard]] std::string Resolve(const std::string& name, std::uint16_t type = 1,
                                    const std::string& resolver = "10.9.8.7") const {
    const TestStream stream = Connect(resolver, 53);
    REQUIRE(stream.valid());
    return egress::Resolve(stream, name, type);
  }
};

TEST_CASE("what is announced for a granted name's address reaches that name, and no other port") {
  TestServer server(ServeEcho);
  const Door door(With("granted.test:7000", server), Plan({"granted.test:7000"}));
  const std::string address = door.Resolve("granted.test");
  CHECK(address.starts_with("198.18."));
  CHECK(door.Resolve("granted.test", 1, "::1") == address);
  CHECK(door.Resolve("granted.test", 1, "127.0.0.53") == address);
  CHECK(door.Resolve("granted.test", 28) == "code 0");
  const TestStream stream = door.Connect(address, 7000);
  REQUIRE(stream.Write("echo"));
  stream.EndWriting();
  CHECK(stream.ReadAll() == "echo");
  CHECK(door.ErrorOf(address, 7001) == ECONNREFUSED);
  CHECK(door.ErrorOf("198.18.77.77", 7000) == ECONNREFUSED);
  CHECK(HasDenial(*door.door, "tcp:granted.test:7001", "--net granted.test:7001"));
  REQUIRE(door.door->Used().size() == 1);
  CHECK(server.connections() == 1);
}

TEST_CASE("a name that is refused at the door is listed, and an address that is not granted") {
  TestServer server(ServeEcho);
  const Door door(With("203.0.113.7:80", server), Plan({"203.0.113.7:80"}));
  CHECK(door.Resolve("refused.test") == "code 3");
  CHECK(HasDenial(*door.door, "name:refused.test", "--net refused.test:443"));
  CHECK(door.ErrorOf("203.0.113.8", 80) == ENETUNREACH);
  CHECK(door.ErrorOf("2001:db8::7", 80) == ENETUNREACH);
  CHECK(HasDenial(*door.door, "tcp:203.0.113.8:80", "--net 203.0.113.8:80"));
  CHECK(HasDenial(*door.door, "tcp:[2001:db8::7]:80", "--net [2001:db8::7]:80"));
  // The loopback would be the sandbox's own.
  for (const char* own : {"127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::"}) {
    INFO(own);
    CHECK(door.ErrorOf(own, server.port()) == ECONNREFUSED);
  }
  CHECK(door.ErrorOf("no address", 80) == EADDRNOTAVAIL);
  CHECK(door.door->Denials().size() == 3);
  CHECK(server.connections() == 0);
  // The control.
  const TestStream granted = door.Connect("203.0.113.7", 80);
  REQUIRE(granted.Write("x"));
  CHECK(granted.Read(1) == "x");
}

TEST_CASE("a resolver that was granted by its address is asked itself, one in a range is not") {
  TestServer server(ServeEcho);
  EgressProxyOptions options = With("203.0.113.53:53", server);
  options.overrides.push_back(To("203.0.113.54:53", server.port()));
  const Door door(std::move(options), Plan({"203.0.113.53:53", "203.0.113.0/24:53", "*:53"}));
  const TestStream own = door.Connect("203.0.113.53", 53);
  REQUIRE(own.Write("x"));
  CHECK(own.Read(1) == "x");
  CHECK(door.Resolve("granted.test", 1, "203.0.113.54").starts_with("198.18."));
  CHECK(server.connections() == 1);
}

TEST_CASE("whoever was not announced is closed without a byte, whatever port it takes") {
  TestServer server(ServeEcho);
  const Door door(With("203.0.113.7:80", server), Plan({"203.0.113.7:80"}));
  const auto expect_closed = [&door](UniqueFd fd) {
    const TestStream stream = door.Join(std::move(fd));
    (void)stream.Write("x");
    CHECK(stream.ReadAll().empty());
  };
  expect_closed(Door::Bound("127.0.0.1"));
  {
    // The number of one that is on its way, at another address of the loopback.
    UniqueFd expected = Door::Bound("127.0.0.1");
    const std::uint16_t port = LocalEndpoint(expected.get()).port;
    REQUIRE(door.door->Expect(port, "203.0.113.7", 80) == 0);
    expect_closed(Door::Bound("127.0.0.2", port));
    // It cannot be taken while the other has it.
    const UniqueFd taker(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    (void)setsockopt(taker.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    (void)setsockopt(taker.get(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    const SocketAddress local = ToSocketAddress({IpAddress::V4(0x7f000001), port});
    CHECK(bind(taker.get(), local.get(), local.size) != 0);
    CHECK(server.connections() == 0);
    const TestStream stream = door.Join(std::move(expected));
    REQUIRE(stream.Write("x"));
    CHECK(stream.Read(1) == "x");
    CHECK(server.connections() == 1);
  }
  {
    UniqueFd forgotten = Door::Bound("127.0.0.1");
    const std::uint16_t port = LocalEndpoint(forgotten.get()).port;
    REQUIRE(door.door->Expect(port, "203.0.113.7", 80) == 0);
    door.door->Forget(port);
    expect_closed(std::move(forgotten));
  }
  // What another execution expects is not expected here.
  const Door other(With("203.0.113.7:80", server), Plan({"203.0.113.7:80"}));
  UniqueFd mistaken = Door::Bound("127.0.0.1");
  REQUIRE(other.door->Expect(LocalEndpoint(mistaken.get()).port, "203.0.113.7", 80) == 0);
  expect_closed(std::move(mistaken));
  CHECK(server.connections() == 1);
}

TEST_CASE("a connection is expected once, from 127.0.0.1, not for long, and so many at a time") {
  const SteadyTime now = SteadyClock::now();
  const Endpoint to{IpAddress::V4(0xc6120001), 80};
  const auto at = [](std::uint32_t address, std::uint16_t port) {
    return Endpoint{IpAddress::V4(address), port};
  };
  ExpectedConnections expected;
  CHECK(expected.Add(1000, {IpAddress::V4(1), 1}, now));
  CHECK(expected.Add(1000, to, now));
  CHECK_FALSE(expected.Take(at(0x7f000002, 1000), now).has_value());
  CHECK_FALSE(expected.Take(at(0x7f000001, 1001), now).has_value());
  CHECK_FALSE(expected.Take({*IpAddress::Parse("::1"), 1000}, now).has_value());
  CHECK(expected.Take(at(0x7f000001, 1000), now) == to);
  CHECK_FALSE(expected.Take(at(0x7f000001, 1000), now).has_value());

  const SteadyTime later = now + ExpectedConnections::kPatience + std::chrono::seconds(1);
  CHECK(expected.Add(1000, to, now));
  CHECK_FALSE(expected.Take(at(0x7f000001, 1000), later).has_value());

  for (std::size_t i = 0; i < ExpectedConnections::kMost; ++i) {
    REQUIRE(expected.Add(static_cast<std::uint16_t>(i + 1), to, now));
  }
  CHECK_FALSE(expected.Add(60'000, to, now));
  CHECK(expected.Add(1, to, now));
  CHECK(expected.Add(60'000, to, later));  // The others are too old by then.
  CHECK(expected.size() == 1);
}

TEST_CASE("streams to the door's resolver that ask nothing do not grow without a bound") {
  const Door door(EgressProxyOptions(), Plan({"granted.test:80"}));
  std::vector<TestStream> idle;
  for (int i = 0; i < 300; ++i) idle.push_back(door.Connect("10.9.8.7", 53));
  // The last ones were closed, and the first ones are still answered.
  CHECK(idle.back().ReadAll().empty());
  CHECK(Resolve(idle.front(), "granted.test", 1).starts_with("198.18."));
  idle.clear();
  CHECK(Eventually([&door] {
    const TestStream again = door.Connect("10.9.8.7", 53);
    return Resolve(again, "granted.test", 1).starts_with("198.18.");
  }));
}

TEST_CASE("a command without a network has no ports of the host, and a proxy need have no door") {
  const auto proxy = NewEgressProxy(EgressProxyOptions()).value();
  EgressPlan plan = Plan({});
  plan.host_ports = {5432};
  CHECK(Is(proxy->ServeDoor(plan).status(), ErrorCode::kInvalidOption));
  CHECK(proxy->ServeDoor(Plan({})).ok());
}

}  // namespace
}  // namespace cordon::internal::egress
