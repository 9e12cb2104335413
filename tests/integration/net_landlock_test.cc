// What --net opens in the landlock tier, where commands share the host's network. Ordinary clients
// are in net_clients_test.cc.

#include <unistd.h>

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/listener.h"
#include "integration/support/net_grants.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

TEST_CASE("in the landlock tier a program reaches what was granted alone, and knows of no proxy") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  Words policy = Granting("granted.test:80", server);
  const Words literal = Granting("203.0.113.7:80", server);
  policy.insert(policy.end(), literal.begin(), literal.end());
  policy.insert(policy.end(), {"--backend", "landlock"});
  const CordonRun begun = RunText(ground, policy, "true");
  if (begun.status != 0) CORDON_SKIP("landlock", begun.err);
  ExpectAllowed(ground, policy,
                "curl -sf -m 8 http://granted.test/ | grep -q greetings-from-the-host");
  ExpectAllowed(ground, policy, "curl -sf -m 8 http://203.0.113.7/");
  ExpectAllowed(ground, policy, "env | grep -i _proxy && exit 1; exit 0");
  CHECK(server.contacts() == 2);
  const std::string direct = "curl -sf -m 8 http://" + At(server) + "/";
  (void)Control(ground, direct);
  CHECK(server.contacts() == 3);
  const CordonRun run = RunText(
      ground, policy,
      "curl -sf -m 8 http://other.test/ || echo refused; curl -sf -m 8 http://granted.test:81/ || "
      "echo refused; curl -sf -m 8 http://203.0.113.8/ || echo refused; " +
          direct + " || echo refused; true");
  Expect(run).Status(0).OutIs("refused\nrefused\nrefused\nrefused\n");
  Expect(run).Err("--net other.test:443").Err("--net granted.test:81").Err("--net 203.0.113.8:80");
  CHECK(server.contacts() == 3);
  CHECK(ReportAt(run, "/guarantees/target_network") == true);
}

TEST_CASE(
    "in the landlock tier a target that nobody decided about is held while a person is asked") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  constexpr char kAskHere[] =
      "curl -sf -m 8 http://asked.test:4321/ | grep -q greetings-from-the-host";
  Words policy = {"--resolve", "asked.test:4321=" + At(server), "--backend", "landlock"};
  if (RunText(ground, policy, "true").status != 0) CORDON_SKIP("landlock", "it cannot be had here");
  Words approving = policy;
  approving.insert(approving.end(), {"--gate", "approve"});
  const CordonRun approved = ExpectAllowed(ground, approving, kAskHere);
  CHECK(Has(ReportAt(approved, "/grants").dump(), "tcp:asked.test:4321"));
  CHECK(server.contacts() == 1);
  Words denying = policy;
  denying.insert(denying.end(), {"--gate", "deny"});
  Expect(RunText(ground, denying, kAskHere)).Status(1);
  CHECK(server.contacts() == 1);
}

}  // namespace
}  // namespace cordon::test
