// cordon proxy: the egress proxy for programs outside a sandbox, which are told about it.

#include "cordon/net-proxy/proxy.h"

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "command_line.h"
#include "cordon/gate/audit.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"

namespace cordon::cli {
namespace {

constexpr const char* kCredentialVariable = "CORDON_PROXY_CREDENTIAL";

struct ProxyArguments {
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> net;
  std::vector<std::string> resolve;
  std::string upstream;
  std::string upstream_ca;
  std::vector<std::string> direct;
  std::string audit;
};

absl::StatusOr<EgressFrontOptions> ReadListen(const std::string& text) {
  EgressFrontOptions options;
  const std::size_t colon = text.rfind(':');
  const bool any_port = colon != std::string::npos && text.substr(colon) == ":0";
  // Port 0 is no target, so it is read as another and put back.
  const auto where = ParseNetworkTarget(any_port ? text.substr(0, colon) + ":1" : text);
  if (!where.ok() || !where->is_address || where->port == 0) {
    return MakeError(ErrorCode::kInvalidOption,
                     "--listen takes an address and a port, as in 127.0.0.1:3128");
  }
  options.address = where->host;
  options.port = any_port ? 0 : where->port;
  if (const char* credential = std::getenv(kCredentialVariable); credential != nullptr) {
    options.credential = credential;
    if (options.credential.find(':') == std::string::npos) {
      return MakeError(ErrorCode::kInvalidOption,
                       std::string(kCredentialVariable) + " has the form USER:PASSWORD");
    }
  }
  return options;
}

absl::StatusOr<EgressProxyOptions> ReadOptions(const ProxyArguments& arguments) {
  EgressProxyOptions options;
  for (const std::string& text : arguments.resolve) {
    auto entry = ParseEgressOverride(text);
    if (!entry.ok()) return Annotate(entry.status(), "--resolve");
    options.overrides.push_back(*std::move(entry));
  }
  if (!arguments.upstream.empty()) {
    auto route = ParseEgressRoute(arguments.upstream);
    if (!route.ok()) return Annotate(route.status(), "--upstream");
    options.route = *std::move(route);
    options.route.exceptions = arguments.direct;
    options.route.ca_file = arguments.upstream_ca;
  }
  if (!arguments.audit.empty()) {
    auto log = AuditLog::Open(arguments.audit, {});
    if (!log.ok()) return log.status();
    options.log = *std::move(log);
  }
  return options;
}

absl::StatusOr<EgressPlan> ReadPlan(const ProxyArguments& arguments) {
  EgressPlan plan;
  plan.execution_id = RandomId();
  for (const std::string& text : arguments.net) {
    auto target = ParseNetworkTarget(text);
    if (!target.ok()) return Annotate(target.status(), "--net");
    plan.targets.push_back(*std::move(target));
  }
  return plan;
}

void PrintDenials(const EgressSession& session) {
  for (const Denial& denial : session.Denials()) {
    PrintError(denial.target + " was refused " + std::to_string(denial.count) +
               " times: " + denial.reason + "; to allow it: " + denial.allow_with);
  }
}

int RunProxy(const ProxyArguments& arguments) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);

  auto front_options = ReadListen(arguments.listen);
  if (!front_options.ok()) return Fail(front_options.status());
  auto options = ReadOptions(arguments);
  if (!options.ok()) return Fail(options.status());
  auto plan = ReadPlan(arguments);
  if (!plan.ok()) return Fail(plan.status());
  const auto proxy = NewEgressProxy(*std::move(options));
  if (!proxy.ok()) return Fail(proxy.status());
  const std::string address = front_options->address;
  const auto front = (*proxy)->ServeFront(*std::move(plan), *std::move(front_options));
  if (!front.ok()) return Fail(front.status());

  const bool is_v6 = address.find(':') != std::string::npos;
  std::printf("listening on %s:%d\n", is_v6 ? ("[" + address + "]").c_str() : address.c_str(),
              (*front)->port());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  PrintDenials(**front);
  return 0;
}

}  // namespace

void AddProxyCommand(CLI::App& proxy, Invocation& invocation) {
  proxy.footer(
      "It runs until INT, TERM or HUP, and then prints what it refused. A program uses it when it "
      "is\n"
      "told to: nothing here keeps one from connecting directly.\n"
      "With CORDON_PROXY_CREDENTIAL=USER:PASSWORD in the environment every client must show that.\n"
      "A password for --upstream is better in CORDON_PROXY_UPSTREAM: others see arguments.\n"
      "\n"
      "Example:\n"
      "  cordon proxy --listen 127.0.0.1:3128 --net example.com:443 --net '*.example.com:443'\n"
      "  curl -x http://127.0.0.1:3128 https://example.com/");
  auto arguments = std::make_shared<ProxyArguments>();
  proxy.add_option("--listen", arguments->listen, "Where; port 0: one that is free")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  proxy.add_option("--net", arguments->net, "Allow a target, as for run; repeatable")
      ->allow_extra_args(false)
      ->type_name("HOST:PORT");
  proxy.add_option("--resolve", arguments->resolve, "For tests: dial that address instead")
      ->allow_extra_args(false)
      ->type_name("NAME:PORT=ADDRESS:PORT");
  proxy
      .add_option("--upstream", arguments->upstream,
                  "Reach all targets through this proxy, never directly")
      ->envname("CORDON_PROXY_UPSTREAM")
      ->type_name("http[s]://[USER:PASSWORD@]HOST[:PORT]");
  proxy
      .add_option("--upstream-ca", arguments->upstream_ca,
                  "Certificates that an https upstream may show; by default the host's")
      ->type_name("FILE");
  proxy.add_option("--direct", arguments->direct, "A host that --upstream is not for; repeatable")
      ->allow_extra_args(false)
      ->type_name("HOST");
  proxy.add_option("--audit", arguments->audit, "Append to this log")->type_name("FILE");
  proxy.callback([&invocation, arguments] {
    invocation.action = [arguments] { return RunProxy(*arguments); };
  });
}

}  // namespace cordon::cli
