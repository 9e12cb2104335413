// A command with a granted name reaches for more: the resolver, the listeners, other executions,
// the settings of its network.

#include <unistd.h>

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/listener.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

// Tries to bind ADDRESS PORT with every option that shares a port; prints the error's name or
// "bound".
constexpr char kBind[] = R"(import errno, socket, sys
host, port = sys.argv[1], int(sys.argv[2])
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    s = socket.socket(socket.AF_INET, kind)
    for option in socket.SO_REUSEADDR, socket.SO_REUSEPORT:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    try:
        s.bind((host, port))
        if kind == socket.SOCK_STREAM: s.listen()
        print('bound')
    except OSError as e: print(errno.errorcode[e.errno])
)";

#define NEEDS_PYTHON() \
  if (access("/usr/bin/python3", X_OK) != 0) CORDON_SKIP("python3", "it is not installed")

std::string Bind(const std::string& address, const std::string& port) {
  return "python3 bind.py " + address + " " + port;
}

Words Granting(const Listener& server) {
  return {"--net", "granted.test:8080", "--resolve",
          "granted.test:8080=127.0.0.1:" + std::to_string(server.port())};
}

TEST_CASE("neither the resolver's place nor a listener's can be taken") {
  NEEDS_PYTHON();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  ground.MakeFile("bind.py", kBind);
  const Words policy = Granting(server);
  for (const std::string address : {"192.0.0.2", "198.18.0.1", "198.18.0.99"}) {
    INFO(address);
    Expect(RunText(ground, policy, Bind(address, address == "192.0.0.2" ? "53" : "8080")))
        .OutIs("EADDRNOTAVAIL\nEADDRNOTAVAIL\n");
  }
  // Where nothing can be reached the resolver is in the command's own namespace.
  Expect(RunText(ground, {"--gate", "deny"}, Bind("192.0.0.2", "53")))
      .OutIs("EADDRINUSE\nEADDRINUSE\n");
  // The controls: addresses of its own are free, also at these ports.
  Expect(RunText(ground, policy, Bind("127.0.0.1", "8080"))).OutIs("bound\nbound\n");
  Expect(RunText(ground, policy, Bind("127.0.0.1", "53"))).OutIs("bound\nbound\n");
}

TEST_CASE("one execution cannot reach another's servers or grants") {
  NEEDS_PYTHON();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  ground.MakeFile("serve.py",
                  "import socket\ns = socket.create_server(('0.0.0.0', 5555))\n"
                  "print('up', flush=True)\n"
                  "while True: s.accept()[0].sendall(b'other-execution')\n");
  ground.MakeFile("ask.py",
                  "import socket\n"
                  "for host in '127.0.0.1', '192.0.0.1', '192.0.0.2', '198.18.0.1', '0.0.0.0':\n"
                  "  try: print(socket.create_connection((host, 5555), 3).recv(99).decode())\n"
                  "  except OSError as e: print(e)\n");
  Words policy = Granting(server);
  Words serving = policy;
  serving.insert(serving.end(), {"--", "python3", "serve.py"});
  Child other(InsideCommand(ground, serving), InsideOptions(ground));
  std::string line;
  REQUIRE(other.ReadLine(line, std::chrono::seconds(15)));
  Expect(RunText(ground, policy, "python3 ask.py")).Status(0).NoOut("other-execution");
  // What the first was granted is nothing to a second one.
  Expect(RunText(ground, {"--net", "mine.test:81"},
                 "python3 -c \"import socket; socket.create_connection(('198.18.0.1', 8080), 3)\""))
      .Status(1);
  // The control: inside the same execution the server is reached.
  Expect(RunText(ground, policy,
                 "python3 serve.py & until python3 ask.py | grep other-execution; do sleep 0.1; "
                 "done; kill %1"))
      .Out("other-execution");
}

TEST_CASE("the settings of the network cannot be written") {
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const std::string text =
      "for name in ip_forward ip_unprivileged_port_start tcp_max_tw_buckets; do "
      "(echo 1 >/proc/sys/net/ipv4/$name) 2>/dev/null && echo WRITTEN; done; echo end";
  if (ground.RunUnconfined("unshare -rn true").status == 0) {
    CHECK(Has(Control(ground, "unshare -rn sh -c '" + text + "'"), "WRITTEN"));
  }
  Expect(RunText(ground, Granting(server), text)).OutIs("end\n");
}

TEST_CASE("the keeper of the network cannot be seen") {
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  Expect(RunText(ground, Granting(server), "for p in /proc/[0-9]*; do echo ${p#/proc/}; done"))
      .OutIs("1\n2\n");
}

TEST_CASE("addresses that nobody granted fail at once, those of the metadata service among them") {
  NEEDS_PYTHON();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  ground.MakeFile(
      "ask.py",
      "import errno, socket\n"
      "for host in '169.254.169.254', '10.0.0.1', '192.0.2.1', '198.20.0.1', 'fd00:c0:"
      "d1::2', 'fe80::1', '64:ff9b::a9fe:a9fe', '::ffff:169.254.169.254':\n"
      "  for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:\n"
      "    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, kind)\n"
      "    s.settimeout(5)\n"
      "    try: s.connect((host, 80)); print('REACHED', host)\n"
      "    except OSError as e: print(errno.errorcode.get(e.errno, e))\n");
  const CordonRun run = RunText(ground, Granting(server), "python3 ask.py");
  Expect(run).Status(0).NoOut("REACHED").NoOut("timed out").Below(std::chrono::seconds(10));
  CHECK(Has(run.out, "ENETUNREACH"));
}

}  // namespace
}  // namespace cordon::test
