// Every guarantee that a report claims is attacked in the run that claims it.

#include <signal.h>

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/listener.h"
#include "integration/support/waiting.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;

// A host with something to lose for each guarantee, and the attacks on it. An attack that gets
// through prints `BROKEN` and the name of the guarantee.
class Host : public Ground {
 public:
  Host() : mark_(SleepMark()), victim_({"/bin/sleep", mark_}, InsideOptions(*this)) {
    MakeFile(home() + "/secret", "CONFIDENTIAL");
    SetVariable("CONFIDENTIAL_VARIABLE", "CONFIDENTIAL");
    const std::string pid = std::to_string(victim_.pid());
    attacks = "cat " + home() + "/secret >/dev/null && echo BROKEN read_boundary\n" + "echo x >" +
              outside() + "/made && echo BROKEN write_boundary\n" +
              "env | grep -q CONFIDENTIAL && echo BROKEN env_scrub\n" + "grep -q " + mark_ +
              " /proc/" + pid + "/cmdline && echo BROKEN process_boundary\n" + "kill -0 " + pid +
              " && echo BROKEN process_boundary\n" + "python3 -c '\n" + "import socket\n" +
              "socket.socket(2, 2).sendto(b\"x\", (\"127.0.0.1\", " +
              std::to_string(datagrams_.port()) + "))\n" +
              "s = socket.create_connection((\"127.0.0.1\", " + std::to_string(stream_.port()) +
              "), 5)\nprint(s.recv(999))' | grep -q greetings && echo BROKEN network_boundary\n" +
              "echo finished";
  }

  [[nodiscard]] int contacts() const { return stream_.contacts() + datagrams_.contacts(); }

  std::string attacks;

 private:
  std::string mark_;
  Child victim_;
  Listener stream_{Listener::Kind::kTcp};
  Listener datagrams_{Listener::Kind::kUdp};
};

const char* const kAttacked[] = {"read_boundary", "write_boundary", "env_scrub", "process_boundary",
                                 "network_boundary"};

TEST_CASE("without a sandbox every attack of these tests gets through") {
  const Host host;
  const std::string out = Control(host, host.attacks);
  for (const char* bit : kAttacked) {
    INFO(bit);
    CHECK(Has(out, std::string("BROKEN ") + bit));
  }
  CHECK(Within(std::chrono::seconds(2), [&] { return host.contacts() == 2; }));
}

void ExpectClaimsHold(const Host& host, const Words& policy) {
  const CordonRun run = RunText(host, policy, host.attacks);
  Expect(run).Status(0).Out("finished");
  INFO(run.out << run.err << run.report.dump(2));
  for (const char* bit : kAttacked) {
    INFO(bit);
    if (run.report["guarantees"][bit] == true) {
      CHECK_FALSE(Has(run.out, std::string("BROKEN ") + bit));
    }
  }
  if (run.report["guarantees"]["network_boundary"] == true) CHECK(host.contacts() == 0);
  if (run.report["guarantees"]["write_boundary"] == true) {
    CHECK_FALSE(host.Exists(host.outside() + "/made"));
  }
}

TEST_CASE("what the best tier of this host claims holds under attack") {
  const Host host;
  for (const char* preset : {"read-only", "workspace", "trusted"}) {
    INFO(preset);
    ExpectClaimsHold(host, {"--preset", preset});
  }
}

TEST_CASE("what the landlock tier claims holds under attack") {
  const Host host;
  const CordonRun run = RunText(host, {"--backend", "landlock"}, "true");
  if (run.status == 125) CORDON_SKIP("landlock-tier", run.err);
  CHECK(run.report["backend"] == "landlock");
  CHECK(run.report["level"] == "degraded");
  CHECK(run.report["guarantees"]["write_boundary"] == true);
  CHECK(run.report["guarantees"]["read_boundary"] == true);
  CHECK(run.report["guarantees"]["env_scrub"] == true);
  ExpectClaimsHold(host, {"--backend", "landlock"});
}

TEST_CASE("the namespaces tier gives every boundary") {
  const Ground ground;
  const CordonRun run = RunText(ground, {"--backend", "namespaces"}, "true");
  if (run.status == 125) CORDON_SKIP("userns", run.err);
  CHECK(run.report["level"] == "full");
  for (const char* bit : kAttacked) {
    INFO(bit);
    CHECK(run.report["guarantees"][bit] == true);
  }
}

TEST_CASE("a guarantee that a tier has may be required and one that it lacks starts nothing") {
  const Ground ground;
  int started = 0;
  for (const std::string backend : {"namespaces", "landlock"}) {
    const Words tier = {"--backend", backend};
    const CordonRun plain = RunText(ground, tier, "echo ran");
    if (plain.status == 125) continue;
    ++started;
    for (const auto& [bit, holds] : plain.report["guarantees"].items()) {
      INFO(backend << " " << bit << " " << holds);
      Words policy = tier;
      policy.insert(policy.end(), {"--require", bit});
      const CordonRun run = RunText(ground, policy, "echo ran >ran; echo ran");
      if (holds == true) {
        Expect(run).Status(0).OutIs("ran\n");
      } else {
        Expect(run).NotStarted().Err(bit);
        CHECK(ReportAt(run, "/outcome/kind") == "not_started");
        CHECK_FALSE(ground.Exists("ran"));
      }
      ground.Remove("ran");
    }
  }
  CHECK(started > 0);
}

TEST_CASE("a guarantee that the policy itself gives up cannot be required") {
  const Ground ground;
  for (const char* bit : {"network_boundary", "address_network", "target_network"}) {
    Expect(RunText(ground, {"--net-any", "--require", bit}, "echo ran"), bit).NotStarted().Err(bit);
  }
}

}  // namespace
}  // namespace cordon::test
