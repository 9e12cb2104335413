#include "cordon/net-proxy/proxy.h"

#include <string>
#include <vector>

#include "cordon/sdk/status.h"
#include "network_testing.h"
#include "proxy_testing.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

constexpr const char* kRequest =
    "GET / HTTP/1.1\r\nHost: granted.test\r\nConnection: close\r\n\r\n";
constexpr const char* kOther = "GET / HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n";

TEST_CASE("a granted name is reached by its synthetic address and another name does not exist") {
  const auto network = TestNetwork::Create();
  if (network == nullptr) CORDON_SKIP("userns", "no user namespaces");
  TestServer server(ServeHttp);
  EgressProxyOptions options;
  options.overrides = {To("granted.test:80", server.port()), To("other.test:80", server.port())};
  const auto proxy = NewEgressProxy(std::move(options)).value();
  const auto session = proxy->Serve(Plan({"granted.test:80"}), network).value();

  const std::string address = Resolve(*network, "granted.test");
  CHECK(address == "198.18.0.1");
  CHECK(Resolve(*network, "GRANTED.Test") == address);
  CHECK(Resolve(*network, "granted.test", 28) == "code 0");
  const TestStream stream = TestStream::Connect(network.get(), address, 80);
  REQUIRE(stream.valid());
  stream.Write(kRequest);
  CHECK(stream.ReadAll().find("you asked GET / HTTP/1.1") != std::string::npos);
  CHECK(session->Denials().empty());
  CHECK(session->Used() == std::vector<NetworkTarget>{Target("granted.test:80")});

  CHECK(Resolve(*network, "other.test") == "code 3");
  CHECK(HasDenial(*session, "name:other.test", "--net other.test"));
}

TEST_CASE("a request for another host is refused with words and never reaches the server") {
  const auto network = TestNetwork::Create();
  if (network == nullptr) CORDON_SKIP("userns", "no user namespaces");
  TestServer server(ServeHttp);
  EgressProxyOptions options;
  options.overrides = {To("granted.test:80", server.port())};
  const auto proxy = NewEgressProxy(std::move(options)).value();
  const auto session = proxy->Serve(Plan({"granted.test:80"}), network).value();
  const std::string address = Resolve(*network, "granted.test");

  const TestStream stream = TestStream::Connect(network.get(), address, 80);
  REQUIRE(stream.valid());
  stream.Write(kOther);
  const std::string answer = stream.ReadAll();
  CHECK(answer.starts_with("HTTP/1.1 403"));
  CHECK(answer.find("--net other.test:80") != std::string::npos);
  CHECK(answer.find("you asked") == std::string::npos);
  CHECK(HasDenial(*session, "tcp:other.test:80", "--net other.test:80"));
}

TEST_CASE("a connect to a port or an address that nobody listens at is a denial with its target") {
  const auto network = TestNetwork::Create();
  if (network == nullptr) CORDON_SKIP("userns", "no user namespaces");
  TestServer server(ServeHttp);
  EgressProxyOptions options;
  options.overrides = {To("granted.test:80", server.port())};
  const auto proxy = NewEgressProxy(std::move(options)).value();
  const auto session = proxy->Serve(Plan({"granted.test:80"}), network).value();
  const std::string address = Resolve(*network, "granted.test");
  // An address that gets to the gateway, and that nobody granted.
  REQUIRE(network->RouteAddress("203.0.113.7").ok());

  CHECK_FALSE(TestStream::Connect(network.get(), address, 81).valid());
  CHECK_FALSE(TestStream::Connect(network.get(), address, 81).valid());
  CHECK_FALSE(TestStream::Connect(network.get(), "203.0.113.7", 443).valid());
  CHECK(session->Denials().size() == 2);
  CHECK(HasDenial(*session, "tcp:granted.test:81", "--net granted.test:81"));
  CHECK(HasDenial(*session, "tcp:203.0.113.7:443", "--net 203.0.113.7:443"));
  for (const Denial& denial : session->Denials()) {
    CHECK(denial.count == (denial.target == "tcp:granted.test:81" ? 2 : 1));
  }

  const TestStream granted = TestStream::Connect(network.get(), address, 80);
  granted.Write(kRequest);
  CHECK(granted.ReadAll().find("you asked") != std::string::npos);
  CHECK(session->Denials().size() == 2);
}

TEST_CASE(
    "any port of a target is refused with words where a network cannot listen at all of them") {
  const auto network = TestNetwork::Create();
  if (network == nullptr) CORDON_SKIP("userns", "no user namespaces");
  const auto proxy = NewEgressProxy({}).value();
  const auto session = proxy->Serve(Plan({"granted.test:*"}), network);
  REQUIRE(Is(session.status(), ErrorCode::kUnavailable));
  CHECK(session.status().message().find("name the ports") != absl::string_view::npos);
}

}  // namespace
}  // namespace cordon::internal::egress
