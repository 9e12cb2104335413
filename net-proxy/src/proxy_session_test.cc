#include <sys/socket.h>

#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "proxy_testing.h"
#include "socket_calls.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

const std::string kRequest = "GET / HTTP/1.1\r\nHost: granted.test\r\nConnection: close\r\n\r\n";

EgressProxyOptions Looking(std::function<std::vector<std::string>(const std::string&)> lookup) {
  EgressProxyOptions options;
  options.lookup = [lookup = std::move(lookup)](
                       const std::string& name) -> absl::StatusOr<std::vector<std::string>> {
    return lookup(name);
  };
  options.limits.dial_timeout = std::chrono::milliseconds(500);
  return options;
}

TEST_CASE("a name that leads to an address which is not public is refused") {
  TestServer server(ServeHttp);
  for (const char* address : {"127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1",
                              "64:ff9b::7f00:1", "0.0.0.0", "fd00::1"}) {
    INFO(address);
    Served served;
    const std::string port = std::to_string(server.port());
    if (!served.Start(
            Looking([&](const std::string&) { return std::vector<std::string>{address}; }),
            Plan({"granted.test:" + port}))) {
      CORDON_SKIP("userns", "no user namespaces");
    }
    const TestStream stream = served.Connect("granted.test", server.port());
    stream.Write(kRequest);
    CHECK(stream.ReadAll().empty());
    CHECK(HasDenial(*served.session, "tcp:granted.test:" + port, "--net"));
  }
  CHECK(server.connections() == 0);
  // The same address is reached when it is granted beside the name.
  Served served;
  const std::string port = std::to_string(server.port());
  if (!served.Start(
          Looking([](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; }),
          Plan({"granted.test:" + port, "127.0.0.1:" + port}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream stream = served.Connect("granted.test", server.port());
  stream.Write("GET / HTTP/1.1\r\nHost: granted.test:" + port + "\r\nConnection: close\r\n\r\n");
  CHECK(stream.ReadAll().find("you asked") != std::string::npos);
}

TEST_CASE("no question for a name that is not granted leaves the resolver") {
  std::atomic<int> lookups = 0;
  Served served;
  if (!served.Start(Looking([&](const std::string&) {
                      ++lookups;
                      return std::vector<std::string>{};
                    }),
                    Plan({"granted.test:80", "*.wild.test:80"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  for (const char* name : {"secret.evil.test", "granted.test.evil.test", "wild.test", "a_b.test"}) {
    CHECK(Resolve(*served.network, name) == "code 3");
    CHECK(Resolve(*served.network, name, 28) == "code 3");
    CHECK(Resolve(*served.network, name, 16) == "code 3");
  }
  CHECK(Resolve(*served.network, "secret.wild.test") == "198.18.0.1");
  CHECK(Resolve(*served.network, "secret.wild.test", 65) == "code 0");
  CHECK(lookups == 0);
  CHECK(served.session->Denials().size() == 4);
}

TEST_CASE("a question for a service of a host is an attempt at the host and no other") {
  Served served;
  if (!served.Start({}, Plan({"granted.test:80"}))) CORDON_SKIP("userns", "no user namespaces");
  CHECK(Resolve(*served.network, "_http._tcp.granted.test", 33) == "code 3");
  CHECK(served.session->Denials().empty());
  CHECK(Resolve(*served.network, "_http._tcp.other.test", 33) == "code 3");
  CHECK(Resolve(*served.network, "other.test") == "code 3");
  REQUIRE(served.session->Denials().size() == 1);
  CHECK(served.session->Denials()[0].target == "name:other.test");
  CHECK(served.session->Denials()[0].count == 1);
}

TEST_CASE("a slow look-up delays nobody else") {
  TestServer server(ServeHttp);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  EgressProxyOptions options = Looking([released](const std::string&) {
    released.wait();
    return std::vector<std::string>{};
  });
  options.overrides = {To("granted.test:80", server.port())};
  options.limits.dial_timeout = std::chrono::milliseconds(5000);
  Served served;
  if (!served.Start(std::move(options), Plan({"granted.test:80", "slow.test:80"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream slow = served.Connect("slow.test", 80);
  const TestStream quick = served.Connect("granted.test", 80);
  quick.Write(kRequest);
  CHECK(quick.ReadAll().find("you asked") != std::string::npos);
  release.set_value();
  CHECK(slow.ReadAll().empty());
}

class Person final : public EgressAuthorizer {
 public:
  absl::StatusOr<EgressDecision> Decide(const std::string&, const NetworkTarget& target) override {
    return EgressDecision{target.host == "never.test" ? EgressVerdict::kDeny : EgressVerdict::kAsk,
                          "ask"};
  }
  void Ask(const std::string& id, const NetworkTarget& target,
           std::function<void(EgressDecision)> answer) override {
    const std::lock_guard lock(mutex_);
    asked_.push_back(id + " " + NetworkTargetText(target));
    answers_.push_back(std::move(answer));
  }
  std::size_t asked() {
    const std::lock_guard lock(mutex_);
    return asked_.size();
  }
  std::string question(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return asked_[index];
  }
  void Answer(std::size_t index, EgressVerdict verdict) {
    const std::lock_guard lock(mutex_);
    answers_[index]({verdict, "a person"});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::vector<std::function<void(EgressDecision)>> answers_;
};

TEST_CASE("connections to what nobody decided about are held and asked about once") {
  TestServer server(ServeHttp);
  const auto person = std::make_shared<Person>();
  EgressProxyOptions options;
  options.authorizer = person;
  options.overrides = {To("granted.test:80", server.port())};
  EgressPlan plan = Plan({});
  plan.gated = true;
  Served served;
  if (!served.Start(std::move(options), std::move(plan))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  std::vector<TestStream> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(served.Connect("granted.test", 80));
    REQUIRE(streams.back().valid());
    streams.back().Write(kRequest);
  }
  REQUIRE(Eventually([&] { return person->asked() == 1; }));
  CHECK(server.connections() == 0);
  person->Answer(0, EgressVerdict::kAllow);
  for (const TestStream& stream : streams) {
    CHECK(stream.ReadAll().find("you asked") != std::string::npos);
  }
  CHECK(person->asked() == 1);
  CHECK(person->question(0) == "execution granted.test:80");

  // A refusal is kept for the execution.
  const TestStream refused = served.Connect("refused.test", 443);
  REQUIRE(Eventually([&] { return person->asked() == 2; }));
  person->Answer(1, EgressVerdict::kDeny);
  CHECK(refused.ReadAll().empty());
  CHECK(served.Connect("refused.test", 443).ReadAll().empty());
  CHECK(served.Connect("never.test", 443).ReadAll().empty());
  CHECK(person->asked() == 2);
  CHECK(HasDenial(*served.session, "tcp:refused.test:443", "--net refused.test:443"));
  CHECK(HasDenial(*served.session, "tcp:never.test:443", "--net never.test:443"));
}

TEST_CASE("a question that nobody answers in time is a refusal") {
  EgressProxyOptions options;
  options.authorizer = std::make_shared<Person>();
  options.limits.ask_timeout = std::chrono::milliseconds(50);
  EgressPlan plan = Plan({});
  plan.gated = true;
  Served served;
  if (!served.Start(std::move(options), std::move(plan))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  bool reset = false;
  CHECK(served.Connect("granted.test", 80).ReadAll(&reset).empty());
  CHECK(reset);
  CHECK(served.session->Denials().at(0).reason == "nobody answered in time");
}

TEST_CASE("a port of the host is reached on the loopback inside and no other port is") {
  TestServer server(ServeEcho);
  EgressPlan plan = Plan({});
  plan.host_ports = {server.port()};
  Served served;
  if (!served.Start({}, std::move(plan))) CORDON_SKIP("userns", "no user namespaces");
  for (const char* address : {"127.0.0.1", "::1"}) {
    const TestStream stream = TestStream::Connect(served.network.get(), address, server.port());
    REQUIRE(stream.valid());
    stream.Write("hello");
    stream.EndWriting();
    CHECK(stream.ReadAll() == "hello");
  }
  TestServer other(ServeEcho);
  CHECK_FALSE(TestStream::Connect(served.network.get(), "127.0.0.1", other.port()).valid());
  CHECK(other.connections() == 0);
}

TEST_CASE("a published port leads into the sandbox from the loopback of the host alone") {
  const HeldPort held;
  REQUIRE(held.number() != 0);
  const std::uint16_t port = held.number();
  Served served;
  if (served.network == nullptr) CORDON_SKIP("userns", "no user namespaces");
  UniqueFd inside =
      served.network->MakeSocket(SandboxNetwork::Side::kSandbox, AF_INET, SOCK_STREAM).value();
  const Endpoint at_port{*IpAddress::Parse("127.0.0.1"), port};
  REQUIRE(BindAndListen(inside.get(), at_port, SOCK_STREAM, "a test").ok());
  EgressPlan plan = Plan({});
  plan.publish_ports = {port};
  if (!served.Start({}, std::move(plan))) CORDON_SKIP("userns", "no user namespaces");
  const TestStream stream = TestStream::Connect(nullptr, "127.0.0.1", port);
  REQUIRE(stream.valid());
  stream.Write("hello");
  UniqueFd accepted;
  REQUIRE(Eventually([&] {
    accepted.Reset(accept(inside.get(), nullptr, nullptr));
    return accepted.valid();
  }));
  CHECK(TestStream(std::move(accepted)).Read(5) == "hello");

  CHECK_FALSE(TestStream::Connect(nullptr, "127.0.0.2", port).valid());
  EgressPlan again = Plan({});
  again.publish_ports = {port};
  const auto other = TestNetwork::Create();
  const auto refused = served.proxy->Serve(std::move(again), other);
  CHECK(Is(refused.status(), ErrorCode::kUnavailable));
  CHECK(refused.status().message().find(std::to_string(port)) != absl::string_view::npos);
  served.session.reset();
  CHECK_FALSE(TestStream::Connect(nullptr, "127.0.0.1", port).valid());
}

TEST_CASE("an address that was granted is reached as itself and whatever its name is") {
  TestServer server(ServeHttp);
  EgressProxyOptions options;
  options.overrides = {To("203.0.113.7:80", server.port()), To("[2001:db8::7]:80", server.port())};
  Served served;
  if (!served.Start(std::move(options), Plan({"203.0.113.7:80", "[2001:db8::7]:80"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  for (const char* address : {"203.0.113.7", "2001:db8::7"}) {
    INFO(address);
    const TestStream stream = TestStream::Connect(served.network.get(), address, 80);
    REQUIRE(stream.valid());
    stream.Write(kRequest);
    CHECK(stream.ReadAll().find("you asked") != std::string::npos);
  }
  // The gateway's own address and one that no name has lead nowhere.
  for (const char* address : {"192.0.0.2", "198.18.0.1", "198.19.1.1"}) {
    CHECK(TestStream::Connect(served.network.get(), address, 80).ReadAll().empty());
    CHECK(HasDenial(*served.session, std::string("tcp:") + address + ":80", "--net"));
  }
  CHECK(server.connections() == 2);
}

TEST_CASE("two executions of one proxy reach only what is theirs") {
  TestServer server(ServeHttp);
  EgressProxyOptions options;
  options.overrides = {To("granted.test:80", server.port()), To("other.test:80", server.port())};
  Served served;
  if (!served.Start(std::move(options), Plan({"granted.test:80"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const auto second_network = TestNetwork::Create();
  const auto second = served.proxy->Serve(Plan({"other.test:80"}), second_network).value();
  CHECK(Resolve(*served.network, "granted.test") == "198.18.0.1");
  CHECK(Resolve(*second_network, "other.test") == "198.18.0.1");
  CHECK(Resolve(*second_network, "granted.test") == "code 3");
  const TestStream stream = TestStream::Connect(second_network.get(), "198.18.0.1", 80);
  stream.Write(kRequest);
  CHECK(stream.ReadAll().starts_with("HTTP/1.1 403"));
  CHECK(served.session->Denials().empty());
}

TEST_CASE("an execution resolves as many names as the limit says and each keeps its address") {
  EgressProxyOptions options;
  options.limits.max_names = 3;
  Served served;
  if (!served.Start(std::move(options), Plan({"*.wild.test:80"}))) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  CHECK(Resolve(*served.network, "a.wild.test") == "198.18.0.1");
  CHECK(Resolve(*served.network, "b.wild.test") == "198.18.0.2");
  CHECK(Resolve(*served.network, "c.wild.test") == "198.18.0.3");
  CHECK(Resolve(*served.network, "d.wild.test") == "code 2");
  CHECK(Resolve(*served.network, "a.wild.test") == "198.18.0.1");
}

TEST_CASE("the resolver answers over streams, two questions on one") {
  Served served;
  if (!served.Start({}, Plan({"granted.test:80"}))) CORDON_SKIP("userns", "no user namespaces");
  const TestStream stream = TestStream::Connect(served.network.get(), kGatewayAddress, 53);
  REQUIRE(stream.valid());
  const std::string query =
      std::string("\0\x1e\1\2\1\0\0\1\0\0\0\0\0\0\7granted\4test\0\0\1\0\1", 32);
  stream.Write(query + query);
  const std::string answers = stream.Read(96);
  REQUIRE(answers.size() == 96);
  CHECK(answers.substr(44, 4) == "\xc6\x12" + std::string("\0\1", 2));
  CHECK(answers.substr(92, 4) == "\xc6\x12" + std::string("\0\1", 2));
}

TEST_CASE("each connection and the first refusal of each target are in the log") {
  TestServer server(ServeHttp);
  const auto log = std::make_shared<LinesLog>();
  EgressProxyOptions options;
  options.log = log;
  options.overrides = {To("granted.test:80", server.port())};
  {
    Served served;
    if (!served.Start(std::move(options), Plan({"granted.test:80"}))) {
      CORDON_SKIP("userns", "no user namespaces");
    }
    TestStream stream = served.Connect("granted.test", 80);
    stream.Write(kRequest);
    CHECK(stream.ReadAll().find("you asked") != std::string::npos);
    stream.Close();
    for (int i = 0; i < 3; ++i) CHECK(Resolve(*served.network, "denied.test") == "code 3");
    CHECK(log->Has({"protocol=http"}));
  }
  const std::string text = log->Text();
  CHECK(text.find("target=tcp:granted.test:80 verdict=allowed rule=granted: granted.test:80 "
                  "address=127.0.0.1:" +
                  std::to_string(server.port()) + " protocol=http bytes_up=" +
                  std::to_string(kRequest.size())) != std::string::npos);
  CHECK(text.find("egress execution") != std::string::npos);
  CHECK(text.find("target=name:denied.test verdict=denied") ==
        text.rfind("target=name:denied.test verdict=denied"));
}

}  // namespace
}  // namespace cordon::internal::egress
