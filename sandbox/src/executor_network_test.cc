// Commands whose network is served, by a proxy that only writes down what it is asked.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/egress.h"
#include "cordon/sdk/status.h"
#include "executor_testing.h"
#include "resolver_files.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

const NetworkTarget kTarget = {"example.com", 443, false};

class FakeProxy final : public EgressProxy {
 public:
  bool HasAuthorizer() const override { return has_authorizer; }

  absl::StatusOr<std::unique_ptr<EgressSession>> Serve(
      EgressPlan plan, std::shared_ptr<SandboxNetwork> network) override {
    const std::lock_guard lock(mutex_);
    plans.push_back(plan);
    if (failure.has_value()) return *failure;
    ++open_;
    if (holds_networks) held.push_back(network);
    return std::make_unique<Session>(*this, std::move(network));
  }

  int open() {
    const std::lock_guard lock(mutex_);
    return open_;
  }

  bool has_authorizer = false;
  bool holds_networks = false;
  std::optional<absl::Status> failure;
  std::vector<EgressPlan> plans;
  std::vector<std::shared_ptr<SandboxNetwork>> held;

 private:
  class Session final : public EgressSession {
   public:
    Session(FakeProxy& proxy, std::shared_ptr<SandboxNetwork> network)
        : proxy_(proxy), network_(std::move(network)) {}
    ~Session() override {
      const std::lock_guard lock(proxy_.mutex_);
      --proxy_.open_;
    }
    std::vector<Denial> Denials() const override {
      return {{"network", "name:denied.test", 2, "not granted", "--net denied.test:PORT"}};
    }
    std::vector<NetworkTarget> Used() const override { return {kTarget}; }
    std::vector<NetworkTarget> UsedByAddress() const override { return {kTarget}; }

   private:
    FakeProxy& proxy_;
    const std::shared_ptr<SandboxNetwork> network_;
  };

  std::mutex mutex_;
  int open_ = 0;
};

class ServedFixture : public SandboxFixture {
 public:
  ServedFixture() {
    config.network = Access::kGated;
    options.egress = proxy;
    options.make_authority = [](std::string executor_id) {
      return std::make_shared<FakeAuthority>(std::move(executor_id));
    };
  }

  // The number of the network namespace that a command finds itself in.
  std::string Namespace(const RunOptions& run_options = {}) {
    return Shell("readlink /proc/self/ns/net", run_options).standard_output.head;
  }

  Grant NetworkGrant(const std::string& text, const std::string& execution_id) {
    const Command command = Command::Shell(text, workspace());
    auto grant = executor()->grant_authority()->Issue(
        executor()->BindingFor(command, execution_id),
        {GrantClass::kNetworkTarget, "tcp:example.com:443", std::nullopt},
        GrantAuthority::kDefaultTtl);
    REQUIRE(grant.ok());
    return *std::move(grant);
  }

  const std::shared_ptr<FakeProxy> proxy = std::make_shared<FakeProxy>();
};

ProcessOptions WithInput() {
  ProcessOptions options;
  options.standard_input.kind = StreamOption::Kind::kPipe;
  return options;
}

TEST_CASE("a served command has a session from before its start until its end is reported") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  const RunResult result = fixture.Shell("true");
  CHECK(fixture.proxy->open() == 0);
  REQUIRE(fixture.proxy->plans.size() == 1);
  CHECK(fixture.proxy->plans[0].execution_id == result.execution_id);
  CHECK(fixture.proxy->plans[0].gated);
  REQUIRE(result.denials.size() == 1);
  CHECK(result.denials[0].target == "name:denied.test");
  int by_address = 0;
  for (const ReportEntry& entry : result.report.entries) {
    const bool is_that = entry.feature == "network.targets" &&
                         entry.status == FeatureStatus::kNarrowed &&
                         entry.detail.find("example.com:443") != std::string::npos;
    by_address += is_that ? 1 : 0;
  }
  CHECK(by_address == 1);

  auto prepared = fixture.executor()->PrepareProcess(
      Command::Shell("read line", fixture.workspace()), WithInput());
  REQUIRE(prepared.ok());
  CHECK(fixture.proxy->open() == 1);
  auto process = (*prepared)->Start();
  REQUIRE(process.ok());
  UniqueFd input = (*process)->TakeStandardInput();
  CHECK(fixture.proxy->open() == 1);
  input.Reset();
  const auto waited = (*process)->Wait();
  REQUIRE(waited.ok());
  CHECK(waited->denials.size() == 1);
  CHECK(fixture.proxy->open() == 0);
}

TEST_CASE("what was prepared and never started leaves no session open") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  {
    auto prepared =
        fixture.executor()->PrepareProcess(Command::Shell("true", fixture.workspace()), {});
    REQUIRE(prepared.ok());
    CHECK(fixture.proxy->open() == 1);
  }
  CHECK(fixture.proxy->open() == 0);
}

TEST_CASE("the plan has what the profile names, and the targets of the grants that were spent") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  fixture.config.network_targets = {"*.example.org:80"};
  fixture.config.loopback_ports = {5432};
  fixture.config.publish_ports = {3000};
  RunOptions options;
  options.execution_id = "one";
  options.grants = {fixture.NetworkGrant("true", "one")};
  const RunResult result = fixture.Shell("true", options);
  REQUIRE(fixture.proxy->plans.size() == 1);
  const EgressPlan& plan = fixture.proxy->plans[0];
  CHECK(plan.targets ==
        std::vector<NetworkTarget>{{"*.example.org", 80, false}, {"example.com", 443, false}});
  CHECK(plan.host_ports == std::vector<std::uint16_t>{5432});
  CHECK(plan.publish_ports == std::vector<std::uint16_t>{3000});
  REQUIRE(result.grants.size() == 1);
  CHECK(result.grants[0].target == "tcp:example.com:443");
  fixture.Shell("true");
  CHECK(fixture.proxy->plans[1].targets.size() == 1);
}

TEST_CASE("a network is used again by the next command, but not one that had grants of its own") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  fixture.proxy->has_authorizer = GENERATE(true, false);
  const std::string first = fixture.Namespace();
  CHECK(fixture.Namespace() == first);
  RunOptions options;
  options.execution_id = "one";
  options.grants = {fixture.NetworkGrant("readlink /proc/self/ns/net", "one")};
  const std::string granted = fixture.Namespace(options);
  CHECK(granted != first);
  CHECK(fixture.Namespace() == first);
}

TEST_CASE(
    "the commands of a network start from a template in it, one with a network of its own not") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  fixture.options.ready_sandboxes = 0;
  fixture.proxy->has_authorizer = GENERATE(true, false);
  // What can be written to is no part of a template (view_template_test.cc).
  const std::string show =
      "readlink /proc/self/ns/net; [ $(stat -c %d /dev/shm) = $(stat -c %d /) ] || echo own; "
      "getent hosts localhost >/dev/null && echo names";
  const auto shown = [&](const RunOptions& options = {}) {
    return fixture.Shell(show, options).standard_output.head;
  };
  const std::string first = shown();
  const std::string network = first.substr(0, first.find('\n') + 1);
  CHECK(first == network + "names\n");
  std::string last;
  for (int i = 0; i < 20; ++i) last = shown();
  if (last == first) CORDON_SKIP("templates", "no template: before Linux 6.15?");
  CHECK(last == network + "own\nnames\n");

  RunOptions options;
  options.execution_id = "one";
  options.grants = {fixture.NetworkGrant(show, "one")};
  const std::string granted = shown(options);
  CHECK_FALSE(granted.starts_with(network));
  CHECK(granted.ends_with("]\nnames\n"));
  CHECK(shown() == last);
}

TEST_CASE("a network is never shared, and not used again while somebody still holds it") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  SECTION("by a command that runs") {
    auto prepared = fixture.executor()->PrepareProcess(
        Command::Shell("readlink /proc/self/ns/net; read line", fixture.workspace()), WithInput());
    REQUIRE(prepared.ok());
    auto process = (*prepared)->Start();
    REQUIRE(process.ok());
    const UniqueFd output = (*process)->TakeStandardOutput();
    char line[64] = {};
    REQUIRE(read(output.get(), line, sizeof(line) - 1) > 0);
    CHECK(fixture.Namespace() != line);
  }
  SECTION("by the proxy") {
    fixture.proxy->holds_networks = true;
    const std::string first = fixture.Namespace();
    CHECK(fixture.Namespace() != first);
  }
}

TEST_CASE("executors share no network") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  const auto in = [&fixture](const std::string& key) {
    auto result =
        fixture.executor(key)->RunCommand(fixture.workspace(), "readlink /proc/self/ns/net");
    REQUIRE(result.ok());
    return result->standard_output.head;
  };
  CHECK(in("one") != in("two"));
}

TEST_CASE("a gateway is made only where something could be reached through it") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  bool expected = false;
  SECTION("gated, and nobody decides") {}
  SECTION("gated, and somebody decides") { fixture.proxy->has_authorizer = expected = true; }
  SECTION("denied, with a target") {
    fixture.config.network = Access::kDeny;
    fixture.config.network_targets = {"example.com:443"};
    expected = true;
  }
  SECTION("denied, with a port of the host") {
    fixture.config.network = Access::kDeny;
    fixture.config.loopback_ports = {5432};
  }
  const std::string links = fixture.Shell("cat /proc/net/dev").standard_output.head;
  CHECK(links.find("lo:") != std::string::npos);
  CHECK((links.find("eth0:") != std::string::npos) == expected);
}

TEST_CASE("a network that is denied or open is not served") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  fixture.config.network = GENERATE(Access::kDeny, Access::kAllow);
  const RunResult result = fixture.Shell("cat /etc/resolv.conf");
  CHECK(fixture.proxy->plans.empty());
  CHECK(result.denials.empty());
  CHECK(result.standard_output.head.find(kGatewayAddress) == std::string::npos);
}

TEST_CASE("a session that cannot be opened fails the command before a grant is spent") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  fixture.proxy->failure = MakeError(ErrorCode::kUnavailable, "port 3000 is in use");
  RunOptions options;
  options.execution_id = "one";
  options.grants = {fixture.NetworkGrant("touch ran", "one")};
  const auto refused = fixture.executor()->RunCommand(fixture.workspace(), "touch ran", options);
  CHECK(Is(refused.status(), ErrorCode::kUnavailable));
  CHECK_FALSE(Exists(fixture.workspace() + "/ran"));
  fixture.proxy->failure.reset();
  CHECK(fixture.executor()->RunCommand(fixture.workspace(), "touch ran", options).ok());
}

TEST_CASE("with the set its networks end, whoever still holds them") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  fixture.proxy->holds_networks = true;
  fixture.Shell("true");
  REQUIRE(fixture.proxy->held.size() == 1);
  SandboxNetwork& network = *fixture.proxy->held[0];
  CHECK(network.MakeSocket(SandboxNetwork::Side::kSandbox, AF_INET, SOCK_STREAM).ok());
  CHECK(fixture.set().Close().ok());
  CHECK_FALSE(network.MakeSocket(SandboxNetwork::Side::kSandbox, AF_INET, SOCK_STREAM).ok());
}

TEST_CASE("inside, names are asked of the gateway alone, and localhost is known") {
  CORDON_NEED_NAMESPACES();
  ServedFixture fixture;
  SECTION("with the parts of /etc that programs need") {}
  SECTION("with all of the host readable") { fixture.config.host_read = Access::kAllow; }
  const RunResult result = fixture.Shell(
      "cat /etc/resolv.conf; grep ^hosts: /etc/nsswitch.conf; getent hosts localhost | wc -l; "
      "getent ahostsv4 cordon | head -n 1 | cut -d' ' -f1; echo x 2>/dev/null >>/etc/resolv.conf "
      "|| echo closed");
  CHECK(result.standard_output.head ==
        "nameserver 192.0.0.2\nhosts: files dns\n1\n127.0.1.1\nclosed\n");
}

// The median of some runs of /bin/true, after one that is not counted.
double MedianMilliseconds(ServedFixture& fixture, bool with_grant) {
  std::vector<double> all;
  const Command command = Command::Argv({"/bin/true"}, fixture.workspace());
  for (int i = -1; i < 21; ++i) {
    RunOptions options;
    options.execution_id = "run" + std::to_string(i);
    if (with_grant) {
      auto grant = fixture.executor()->grant_authority()->Issue(
          fixture.executor()->BindingFor(command, options.execution_id),
          {GrantClass::kNetworkTarget, "tcp:example.com:443", std::nullopt},
          GrantAuthority::kDefaultTtl);
      REQUIRE(grant.ok());
      options.grants = {*std::move(grant)};
    }
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(fixture.executor()->Run(command, options).ok());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (i >= 0) all.push_back(took.count());
  }
  std::nth_element(all.begin(), all.begin() + 10, all.end());
  return all[10];
}

TEST_CASE("what a network adds to a command is measured") {
  CORDON_NEED_NAMESPACES();
  ServedFixture plain;
  plain.config.network = Access::kDeny;
  ServedFixture single;
  ServedFixture gateway;
  gateway.proxy->has_authorizer = true;
  ServedFixture fresh;
  const double base = MedianMilliseconds(plain, false);
  const auto show = [base](const char* what, double milliseconds) {
    std::printf("%s: %.2f ms, %.2f x\n", what, milliseconds, milliseconds / base);
  };
  show("a namespace of its own for each command", base);
  show("a network without a gateway, used again", MedianMilliseconds(single, false));
  show("a network with a gateway, used again", MedianMilliseconds(gateway, false));
  const double made = MedianMilliseconds(fresh, true);
  show("a network with a gateway, made for the command", made);
  // Generous, since others compile meanwhile: a network is milliseconds, not tens of them.
  CHECK(made < 10 * base + 50);
}

TEST_CASE("of the host's name service switch all but the hosts are kept") {
  CHECK(NameServiceSwitch("# text\npasswd: files sss\n hosts: files mdns4 dns\nhosts:resolve\n"
                          "group: files") ==
        "# text\npasswd: files sss\ngroup: files\nhosts: files dns\n");
  CHECK(NameServiceSwitch("") == "hosts: files dns\n");
}

}  // namespace
}  // namespace cordon::internal::testing
