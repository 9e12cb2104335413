// The host's processes, sockets and ports are out of reach.

#include <signal.h>

#include <string>

#include "integration/support/child.h"
#include "integration/support/listener.h"
#include "integration/support/waiting.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

TEST_CASE("a process of the host cannot be seen or signalled") {
  const Ground ground;
  Child victim({"/bin/sleep", SleepMark()}, InsideOptions(ground));
  const std::string pid = std::to_string(victim.pid());
  // Above what a sandbox of a few processes gives out by itself.
  REQUIRE(victim.pid() > 50);
  for (const std::string act : {"kill", "pidfd", "limits", "affinity"}) {
    INFO(act);
    CHECK(ProbeOutside(ground, {"other_process", act, pid}) == "done");
    CHECK(ProbeInside(ground, {}, {"other_process", act, pid}) == "ESRCH");
  }
  CHECK(ProbeOutside(ground, {"other_process", "environ", pid}) == "done");
  CHECK(ProbeInside(ground, {}, {"other_process", "environ", pid}) == "ENOENT");
}

TEST_CASE("sockets of the host are not connected to by path or by abstract name") {
  const Ground ground;
  const std::string path = ground.outside() + "/socket";
  const std::string in_workspace = ground.PathOf("socket");
  const std::string abstract = "cordon-test" + SleepMark();
  const Listener by_path(Listener::Kind::kUnixPath, path);
  const Listener by_workspace(Listener::Kind::kUnixPath, in_workspace);
  const Listener by_name(Listener::Kind::kUnixAbstract, abstract);
  const Words policy = {"--read", ground.outside()};

  CHECK(ProbeOutside(ground, {"unix_connect", "path", path}) == "done");
  CHECK(ProbeOutside(ground, {"unix_connect", "path", in_workspace}) == "done");
  CHECK(ProbeOutside(ground, {"unix_connect", "abstract", abstract}) == "done");
  CHECK(Within(std::chrono::seconds(2), [&] {
    return by_path.contacts() == 1 && by_workspace.contacts() == 1 && by_name.contacts() == 1;
  }));

  CHECK(ProbeInside(ground, policy, {"unix_connect", "path", path}) != "done");
  CHECK(ProbeInside(ground, policy, {"unix_connect", "path", in_workspace}) != "done");
  CHECK(ProbeInside(ground, policy, {"unix_connect", "abstract", abstract}) == "ECONNREFUSED");
  CHECK(by_path.contacts() == 1);
  CHECK(by_workspace.contacts() == 1);
  CHECK(by_name.contacts() == 1);
}

TEST_CASE("a command connects to sockets of its own") {
  const Ground ground;
  CHECK(ProbeInside(ground, {}, {"unix_connect", "own", ground.PathOf("own")}) == "done");
  CHECK(ProbeInside(ground, {}, {"unix_connect", "own", "/tmp/own"}) == "done");
}

TEST_CASE("the host's loopback answers by no protocol and no trick") {
  const Ground ground;
  const Listener stream(Listener::Kind::kTcp);
  const Listener datagrams(Listener::Kind::kUdp);
  const std::string tcp = std::to_string(stream.port());
  const std::string udp = std::to_string(datagrams.port());
  CHECK(ProbeOutside(ground, {"host_network", "tcp", tcp}) == "done");
  CHECK(ProbeOutside(ground, {"host_network", "udp", udp}) == "done");
  CHECK(Within(std::chrono::seconds(2),
               [&] { return stream.contacts() == 1 && datagrams.contacts() == 2; }));

  CHECK(ProbeInside(ground, {}, {"host_network", "tcp", tcp}) == "ECONNREFUSED");
  CHECK(ProbeInside(ground, {}, {"host_network", "fastopen", tcp}) == "ECONNREFUSED");
  (void)ProbeInside(ground, {}, {"host_network", "udp", udp});
  (void)ProbeInside(ground, {}, {"host_network", "connected-udp", udp});
  CHECK(stream.contacts() == 1);
  CHECK(datagrams.contacts() == 2);
}

}  // namespace
}  // namespace cordon::test
