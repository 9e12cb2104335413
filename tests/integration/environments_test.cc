// Hosts that lack something: the tier is lowered by itself, says why, and still holds.

#include <algorithm>
#include <string>
#include <vector>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;

// What is done inside: work, and one attack on each boundary.
std::string Acts(const Ground& ground) {
  return "echo x >made; cat made; cat " + ground.home() + "/secret; echo x >" + ground.outside() +
         "/made; env | grep CONFIDENTIAL; kill -0 $OUTER && echo signalled; echo finished";
}

class Host : public Ground {
 public:
  Host() {
    MakeFile(home() + "/secret", "CONFIDENTIAL");
    SetVariable("CONFIDENTIAL_VARIABLE", "CONFIDENTIAL");
  }

  // The program run by `before`, shell text that ends in the words of a command.
  [[nodiscard]] Ended RunBehind(const std::string& before) const {
    Remove(PathOf("report"));
    MakeFile("acts", Acts(*this));
    return RunUnconfined("OUTER=$$; export OUTER; " + before + " " + CordonProgram() +
                         " run --env OUTER --report report -- sh acts");
  }
  [[nodiscard]] json Report() const { return json::parse(Read("report")); }
};

bool Names(const json& report, const std::string& feature, const std::string& part) {
  const json& entries = report["entries"];
  return std::any_of(entries.begin(), entries.end(), [&](const json& entry) {
    return entry["feature"] == feature && Has(entry["detail"].get<std::string>(), part);
  });
}

void ExpectHeld(const Host& host, const Ended& ended) {
  INFO(ended.out << ended.err);
  CHECK(ended.status == 0);
  CHECK(ended.out == "x\nfinished\n");
  CHECK_FALSE(host.Exists(host.outside() + "/made"));
  CHECK(host.Read("made") == "x\n");
}

bool HasLandlockTier() {
  const Ground ground;
  return RunText(ground, {"--backend", "landlock"}, "true").status == 0;
}

#define NEEDS_LANDLOCK_TIER() \
  if (!HasLandlockTier()) CORDON_SKIP("landlock", "this host cannot build the landlock tier")

TEST_CASE("each step that fails lowers the tier, which is named in the report with the fix") {
  NEEDS_LANDLOCK_TIER();
  Host host;
  for (const std::string step : {"namespaces", "id maps", "loopback", "host name",
                                 "mount propagation", "mount view", "proc", "pivot"}) {
    INFO(step);
    host.SetVariable("CORDON_SIMULATE_FAILURE", step + ":1");
    ExpectHeld(host, host.RunBehind(""));
    const json report = host.Report();
    CHECK(report["backend"] == "landlock");
    CHECK(report["level"] == "degraded");
    CHECK(Names(report, "tier", "step " + step + " failed"));
    const CordonRun forced = RunText(host, {"--backend", "namespaces"}, "echo started");
    Expect(forced).NotStarted().Err(step);
  }
}

TEST_CASE("a host that can build no tier starts nothing, and says what is missing") {
  Host host;
  host.SetVariable("CORDON_SIMULATE_FAILURE", "id maps:1,landlock:95");
  Expect(RunText(host, {}, "echo started")).NotStarted().Err("lsm=");
  host.SetVariable("CORDON_SIMULATE_FAILURE", "seccomp:22");
  Expect(RunText(host, {}, "echo started")).NotStarted().Err("SECCOMP");
}

TEST_CASE("doctor exits with the tier, and gives each layer's cost and fix in both forms") {
  Host host;
  const auto doctor = [&host](const std::string& failure) {
    host.SetVariable("CORDON_SIMULATE_FAILURE", failure);
    return RunCordon(host, {"doctor", "--json"});
  };
  const CordonRun none = doctor("proc:1,landlock:38");
  CHECK(none.status == 2);
  const json report = json::parse(none.out);
  CHECK(report["tier"] == "none");
  for (const json& layer : report["layers"]) {
    CHECK_FALSE(layer["without"].get<std::string>().empty());
    CHECK(layer["ok"].get<bool>() == layer["fix"].get<std::string>().empty());
  }
  if (HasLandlockTier()) {
    CHECK(doctor("proc:1").status == 1);
    Expect(RunCordon(host, {"doctor"})).Out("systempaths=unconfined").Out("without it");
  }
}

TEST_CASE("with user namespaces turned off by a setting the landlock tier is taken") {
  NEEDS_LANDLOCK_TIER();
  const Host host;
  if (host.RunUnconfined("unshare -Ur true").status != 0) {
    CORDON_SKIP("userns", "a user namespace with a setting of its own");
  }
  ExpectHeld(host,
             host.RunBehind("unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && "
                            "exec \"$@\"' sh"));
  const json report = host.Report();
  CHECK(report["backend"] == "landlock");
  CHECK(Names(report, "tier", "user.max_user_namespaces"));
}

TEST_CASE("in a chroot the landlock tier is taken, and nothing without /proc") {
  NEEDS_LANDLOCK_TIER();
  const Host host;
  const std::string space = RunningAsRoot() ? "unshare -m" : "unshare -Ur -m";
  if (host.RunUnconfined(space + " --propagation private true").status != 0) {
    CORDON_SKIP("userns", "a mount namespace to change the root in");
  }
  const std::string root = host.MakeFolder(host.root() + "/chroot");
  const auto behind = [&](const std::string& then) {
    return space + " --propagation private sh -c 'mount --rbind / " + root + " && " + then +
           "exec chroot " + root + " sh -c \"cd " + host.workspace() +
           " && exec \\\"\\$@\\\"\" sh \"$@\"' sh";
  };
  ExpectHeld(host, host.RunBehind(behind("")));
  CHECK(host.Report()["backend"] == "landlock");
  if (kAddressSanitizer) return;  // Its run-time library needs /proc itself.
  const Ended without = host.RunBehind(behind("mount -t tmpfs none " + root + "/proc && "));
  CHECK(without.status == 125);
  CHECK(Has(without.err, "/proc"));
}

TEST_CASE("root without capabilities is confined all the same") {
  if (!RunningAsRoot()) CORDON_SKIP("root", "only root has capabilities to lose");
  const Host host;
  ExpectHeld(host, host.RunBehind("setpriv --bounding-set -all --inh-caps -all --no-new-privs"));
}

TEST_CASE("inside of itself the landlock tier is taken, and the outer policy holds") {
  NEEDS_LANDLOCK_TIER();
  const Host host;
  const std::string folder = CordonProgram().substr(0, CordonProgram().rfind('/'));
  std::string outer = CordonProgram() + " run --env OUTER --read " + folder;
  for (const std::string& word : NestedOptions()) outer += " " + word;
  ExpectHeld(host, host.RunBehind(outer + " --"));
  CHECK(host.Report()["backend"] == "landlock");
  // There the calls are looked at by the outer one, so that no connection could be led anywhere.
  const Ended named =
      host.RunUnconfined(CordonProgram() + " run --read " + folder + " -- " + CordonProgram() +
                         " run --net granted.test:80 -- echo started");
  INFO(named.out << named.err);
  CHECK(named.status == 125);
  CHECK(named.out.empty());
  CHECK(Has(named.err, "observed already"));
}

}  // namespace
}  // namespace cordon::test
