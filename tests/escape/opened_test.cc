// What a profile opens by an acknowledgement: it works, and opens nothing beyond it.

#include <string>
#include <vector>

#include "file_attempts.h"
#include "integration/support/ground.h"
#include "integration/support/waiting.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

// A profile that acknowledges these, besides what an ordinary workspace allows.
std::string ProfileWith(const Ground& ground, const std::string& members) {
  return ground.MakeFile(ground.root() + "/opened.json",
                         R"({"workspace_read": "allow", "workspace_write": "allow", )"
                         R"("command": "allow", "deny_read": ["**/denied"])" +
                             (members.empty() ? "" : ", " + members) + "}");
}

bool HasEntry(const CordonRun& run, const std::string& feature) {
  for (const auto& entry : run.report["entries"]) {
    if (entry["feature"] == feature && entry["status"] == "unenforced") return true;
  }
  return false;
}

TEST_CASE("an acknowledged debugger reaches the processes of its own sandbox and no other") {
  const Ground ground;
  const Words closed = {"-p", ProfileWith(ground, "")};
  for (const std::string act : {"seize", "attach", "read", "write"}) {
    INFO(act);
    CHECK(ProbeInside(ground, closed, {"other_process", act, "sibling"}) == "EPERM");
  }
  const Words opened = {"-p", ProfileWith(ground, R"("ack_tracing": true)")};
  for (const std::string act : {"seize", "attach", "read", "write"}) {
    INFO(act);
    CHECK(ProbeInside(ground, opened, {"other_process", act, "sibling"}) == "done");
  }
  // These have nothing to do with it.
  CHECK(ProbeInside(ground, opened, {"other_process", "getfd", "sibling"}) == "EPERM");
  CHECK(ProbeInside(ground, opened, {"other_process", "kcmp", "sibling"}) == "EPERM");
  // Process 1 is the supervisor.
  for (const std::string act : {"seize", "attach", "read", "write", "mem", "environ", "root"}) {
    INFO(act);
    const std::string word = ProbeInside(ground, opened, {"other_process", act, "first"});
    CHECK((word == "EPERM" || word == "EACCES"));
  }
}

TEST_CASE("a process of the host cannot be traced whatever is acknowledged") {
  const Ground ground;
  Child victim({"/bin/sleep", SleepMark()}, InsideOptions(ground));
  const std::string pid = std::to_string(victim.pid());
  const Words opened = {"-p", ProfileWith(ground, R"("ack_tracing": true,
    "ack_nested_namespaces": true)")};
  for (const std::string act : {"seize", "read", "write", "kill"}) {
    INFO(act);
    CHECK(ProbeInside(ground, opened, {"other_process", act, pid}) == "ESRCH");
  }
  CHECK(ProbeOutside(ground, {"other_process", "kill", pid}) == "done");
}

TEST_CASE("the report says what an acknowledgement gives up, and the guarantees still hold") {
  const Ground ground;
  const CordonRun closed = RunText(ground, {"-p", ProfileWith(ground, "")}, "true");
  Expect(closed).Status(0);
  CHECK_FALSE(HasEntry(closed, "process.tracing"));
  CHECK_FALSE(HasEntry(closed, "process.nested_namespaces"));
  const std::string profile =
      ProfileWith(ground, R"("ack_tracing": true, "ack_nested_namespaces": true)");
  const CordonRun opened = RunText(ground, {"-p", profile}, "true");
  Expect(opened).Status(0);
  CHECK(HasEntry(opened, "process.tracing"));
  CHECK(HasEntry(opened, "process.nested_namespaces"));
  CHECK(ReportAt(opened, "/guarantees/process_boundary") == true);
  CHECK(ReportAt(opened, "/guarantees") == ReportAt(closed, "/guarantees"));

  // A ceiling that does not give it takes it away.
  const std::string ceiling = ground.MakeFile(
      ground.root() + "/ceiling.json",
      R"({"workspace_read": "allow", "workspace_write": "allow", "command": "allow"})");
  const CordonRun under = RunText(ground, {"-p", profile, "--ceiling", ceiling}, "true");
  Expect(under).Status(0);
  CHECK_FALSE(HasEntry(under, "process.tracing"));
  CHECK(ProbeInside(ground, {"-p", profile, "--ceiling", ceiling},
                    {"other_process", "seize", "sibling"}) == "EPERM");

  // The other tier has no namespace that would keep it in.
  const CordonRun refused = RunText(ground, {"-p", profile, "--backend", "landlock"}, "true");
  Expect(refused).NotStarted().Err("ack_tracing, ack_nested_namespaces");
}

TEST_CASE("a command that has its supervisor trace it runs and ends as any other") {
  const Ground ground;
  const Words opened = {"-p", ProfileWith(ground, R"("ack_tracing": true)")};
  CHECK(ProbeInside(ground, opened, {"traced_by_parent", "stop"}) == "done");
  CHECK(ProbeInside(ground, opened, {"traced_by_parent", "execute"}) == "done");
  CHECK(ProbeInside(ground, opened, {"traced_by_parent", "terminate"}) == "SIGTERM");
}

class NestedGround {
 public:
  NestedGround() {
    ground_.MakeFile("denied", "secret\n");
    ground_.MakeFile("open", "text\n");
    ground_.MakeFile(".bashrc", "protected\n");
    secret_ = ground_.MakeFile(ground_.outside() + "/secret", "secret\n");
    policy_ = {"-p", ProfileWith(ground_, R"("ack_nested_namespaces": true)")};
  }

  // From a user namespace inside of the sandbox, and from one on the host as it is.
  [[nodiscard]] std::string Inside(Words act) const {
    act.insert(act.begin(), "nested_namespace");
    return ProbeInside(ground_, policy_, act);
  }
  [[nodiscard]] std::string Outside(Words act) const {
    act.insert(act.begin(), "nested_namespace");
    return ProbeOutside(ground_, act);
  }
  void SkipWithoutUserNamespaces() const {
    if (Outside({"new-net"}) == "no-userns") {
      CORDON_SKIP("userns", "this user cannot make user namespaces");
    }
  }
  void CheckRefused(const Words& act, const std::string& error, const std::string& control) const {
    INFO(act.front());
    CHECK(Outside(act) == control);
    CHECK(Inside(act) == error);
  }

  [[nodiscard]] const Ground& ground() const { return ground_; }
  [[nodiscard]] const Words& policy() const { return policy_; }
  [[nodiscard]] const std::string& secret() const { return secret_; }

 private:
  const Ground ground_;
  std::string secret_;
  Words policy_;
};

TEST_CASE("acknowledged user namespaces can be made, with those that a browser puts in them") {
  const NestedGround nested;
  nested.SkipWithoutUserNamespaces();
  CHECK(ProbeInside(nested.ground(), {"-p", ProfileWith(nested.ground(), "")},
                    {"nested_namespace", "new-net"}) == "no-userns");
  (void)ProfileWith(nested.ground(), R"("ack_nested_namespaces": true)");
  CHECK(nested.Inside({"new-net"}) == "done");
  CHECK(nested.Inside({"first-child"}) == "done");
  CHECK(nested.Inside({"chroot"}) == "done");
  // For root, /proc is read-only altogether.
  CHECK(nested.Inside({"map"}) == (RunningAsRoot() ? "EROFS" : "done"));
  CHECK(ProbeInside(nested.ground(), nested.policy(), {"new_namespace", "unshare", "pid"}) ==
        "EPERM");
}

TEST_CASE("nothing is mounted, uncovered or entered from a nested user namespace") {
  const NestedGround nested;
  nested.SkipWithoutUserNamespaces();
  nested.CheckRefused({"view"}, "EPERM", "done");
  nested.CheckRefused({"tmpfs"}, "EPERM", "done");
  nested.CheckRefused({"bind", "/"}, "EPERM", "done");
  nested.CheckRefused({"pivot_root"}, "EPERM", "done");
  nested.CheckRefused({"fsopen"}, "EPERM", "done");
  nested.CheckRefused({"open_tree", "."}, "EPERM", "done");
  nested.CheckRefused({"setns", "net"}, "EPERM", "EPERM");
  for (const Words& act : std::vector<Words>{{"umount", nested.ground().PathOf("denied")},
                                             {"umount", nested.ground().PathOf(".bashrc")},
                                             {"umount", "/proc"},
                                             {"remount", "/usr"},
                                             {"proc"},
                                             {"overlay"},
                                             {"setns", "user"},
                                             {"setns", "mnt"},
                                             {"open_tree", nested.ground().PathOf("denied")}}) {
    INFO(act.front());
    CHECK(nested.Inside(act) == "EPERM");
  }
}

TEST_CASE("every capability in a nested user namespace opens no path that the policy closes") {
  const NestedGround nested;
  nested.SkipWithoutUserNamespaces();
  const auto path = [&nested](const char* name) { return nested.ground().PathOf(name); };
  CHECK(nested.Outside({"content", path("denied")}) == "done");
  // CAP_DAC_OVERRIDE over what is one's own opens the cover, behind which there is nothing.
  CHECK(nested.Inside({"content", path("denied")}) == (RunningAsRoot() ? "EACCES" : "empty"));
  CHECK(nested.Inside({"content", path("open")}) == "done");
  CHECK(nested.Outside({"content", nested.secret()}) == "done");
  CHECK(nested.Inside({"content", nested.secret()}) == "ENOENT");
  CHECK(nested.Inside({"leave", nested.secret()}) == "ENOENT");
  CHECK(nested.Inside({"leave", path("open")}) == "done");
  CHECK(nested.Inside({"write", path("open")}) == "done");
  CHECK(nested.Inside({"write", path(".bashrc")}) == "EROFS");
  CHECK(nested.Inside({"mode", path(".bashrc")}) == "EROFS");
  CHECK(nested.Inside({"mode", "/usr/bin"}) == "EROFS");
  for (const Words& act : std::vector<Words>{{"write", "/proc/sys/kernel/core_pattern"},
                                             {"content", "/proc/kcore"},
                                             {"content", "/proc/keys"},
                                             {"content", "/proc/1/root"}}) {
    INFO(act[1]);
    const std::string word = nested.Inside(act);
    CHECK((IsRefusal(word) || word == "empty"));
  }
  CHECK(nested.ground().Read("denied") == "secret\n");
  CHECK(nested.ground().Read(".bashrc") == "protected\n");
}

TEST_CASE("capabilities in a nested user namespace are none over the sandbox's own network") {
  const NestedGround nested;
  nested.SkipWithoutUserNamespaces();
  CHECK(nested.Inside({"link"}) == "EPERM");
  if (RunningAsRoot()) {
    // The control: the request is one that somebody with the capability can make.
    CHECK(ProbeDisposable(nested.ground(), {"nested_namespace", "own-link"}) == "done");
  }
  nested.CheckRefused({"raw"}, "EPERM", "done");
  CHECK(nested.Inside({"device"}) == "EPERM");
  CHECK(nested.Inside({"attach-first"}) == "EPERM");
  const Words both = {"-p", ProfileWith(nested.ground(), R"("ack_nested_namespaces": true,
    "ack_tracing": true)")};
  CHECK(ProbeInside(nested.ground(), both, {"nested_namespace", "attach-first"}) == "EPERM");
}

TEST_CASE("a limit of processes holds in nested user namespaces") {
  if (RunningAsRoot()) CORDON_SKIP("user", "no limit of processes holds for root");
  const NestedGround nested;
  nested.SkipWithoutUserNamespaces();
  Words policy = nested.policy();
  policy.insert(policy.end(), {"--pids", "20"});
  CHECK(ProbeInside(nested.ground(), policy, {"nested_namespace", "processes", "8"}) == "done");
  CHECK(ProbeInside(nested.ground(), policy, {"nested_namespace", "processes", "64"}) == "EAGAIN");
}

}  // namespace
}  // namespace cordon::test
