// The networks that commands are started in, from inside and from outside.

#include "network_namespaces.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "cordon/sdk/status.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

using Side = SandboxNetwork::Side;

constexpr char kPython[] = "/usr/bin/python3";

// Prints what becomes of a TCP connection to each HOST PORT, a line each: what the other side says,
// or the name of the error.
constexpr char kConnect[] = R"(import errno, socket, sys
for host, port in zip(sys.argv[1::2], sys.argv[2::2]):
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
    s.settimeout(10)
    try:
        s.connect((host, int(port)))
        print(s.recv(100).decode())
    except OSError as e:
        print(errno.errorcode.get(e.errno, e))
)";

CommandPlan Python(const std::string& text, std::vector<std::string> arguments = {}) {
  CommandPlan command = Shell("");
  command.argv = {kPython, "-c", text};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

std::shared_ptr<NetworkNamespaces> NetworkOrFail(const std::shared_ptr<Launcher>& launcher,
                                                 bool with_gateway) {
  auto network = NetworkNamespaces::Begin(launcher, with_gateway);
  if (!network.ok()) FAIL(network.status());
  const absl::Status ready = (*network)->AwaitReady();
  if (!ready.ok()) FAIL(ready);
  return *std::move(network);
}

// Accepts on a wildcard listener of the gateway and tells each visitor where it wanted to go.
class TellingListener {
 public:
  TellingListener(NetworkNamespaces& network, std::uint16_t port) {
    auto made = network.MakeSocket(Side::kGateway, AF_INET6, SOCK_STREAM);
    if (!made.ok()) FAIL(made.status());
    listener_ = *std::move(made);
    sockaddr_in6 address = {};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    REQUIRE(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(listen(listener_.get(), 16) == 0);
    Start();
  }
  explicit TellingListener(UniqueFd listener) : listener_(std::move(listener)) { Start(); }
  ~TellingListener() {
    thread_.request_stop();
    (void)shutdown(listener_.get(), SHUT_RDWR);
  }

 private:
  void Start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  }
  void Serve(const std::stop_token& stop) {
    while (!stop.stop_requested() && WaitReadable(listener_.get())) {
      const UniqueFd visitor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!visitor.valid()) continue;
      sockaddr_in6 local = {};
      socklen_t size = sizeof(local);
      (void)getsockname(visitor.get(), reinterpret_cast<sockaddr*>(&local), &size);
      char text[INET6_ADDRSTRLEN] = {};
      (void)inet_ntop(AF_INET6, &local.sin6_addr, text, sizeof(text));
      const std::string said = std::string(text) + " " + std::to_string(ntohs(local.sin6_port));
      (void)send(visitor.get(), said.data(), said.size(), MSG_NOSIGNAL);
    }
  }

  UniqueFd listener_;
  std::jthread thread_;
};

#define NEEDS_PYTHON() \
  if (access(kPython, X_OK) != 0) CORDON_SKIP("python3", "it is not installed")

TEST_CASE("with a gateway every synthetic address arrives there, and nothing else is reachable") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, true);
  const TellingListener listener(*network, 443);
  const Ran ran = Run(*launcher, SystemPlan(),
                      Python(kConnect, {"198.18.0.1", "443", "198.19.255.254", "443", "198.18.0.1",
                                        "80", "203.0.113.7", "443", "169.254.169.254", "80",
                                        "2001:db8::7", "443", "198.20.0.1", "443"}),
                      network->sandbox());
  CHECK(ran.output ==
        "::ffff:198.18.0.1 443\n::ffff:198.19.255.254 443\nECONNREFUSED\nENETUNREACH\n"
        "ENETUNREACH\nENETUNREACH\nENETUNREACH\n");
  CHECK(ran.exit_code() == 0);
}

TEST_CASE("one listener takes the connections to every port, and only what is led to the gateway") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, true);
  CHECK(network->RouteAddress("203.0.113.7").ok());
  CHECK(network->RouteAddress("2001:db8::7").ok());
  const std::vector<std::string> places = {"198.18.0.1",     "1",     "198.18.0.1",  "2",
                                           "198.19.255.254", "65535", "203.0.113.7", "4321",
                                           "2001:db8::7",    "40000", "203.0.113.8", "4321",
                                           "192.0.0.2",      "53",    "127.0.0.1",   "80"};
  const std::string nowhere = "ECONNREFUSED\n";
  const std::string inside = "ENETUNREACH\nECONNREFUSED\nECONNREFUSED\n";
  // The second time as for another command in the same network.
  for (int i = 0; i < 2; ++i) {
    auto made = network->ListenAtEveryPort();
    if (!made.ok()) CORDON_SKIP("tproxy", std::string(made.status().message()));
    const TellingListener listener(*std::move(made));
    const Ran ran = Run(*launcher, SystemPlan(), Python(kConnect, places), network->sandbox());
    CHECK(ran.output ==
          "::ffff:198.18.0.1 1\n::ffff:198.18.0.1 2\n::ffff:198.19.255.254 65535\n"
          "::ffff:203.0.113.7 4321\n2001:db8::7 40000\n" +
              inside);
  }
  const Ran after = Run(*launcher, SystemPlan(), Python(kConnect, places), network->sandbox());
  CHECK(after.output == nowhere + nowhere + nowhere + nowhere + nowhere + inside);
}

TEST_CASE("a network without a gateway has no listener for every port") {
  NEEDS_NAMESPACES();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, false);
  const auto made = network->ListenAtEveryPort();
  CHECK(Is(made.status(), ErrorCode::kUnavailable));
}

TEST_CASE("an address that was routed is reachable, its neighbour is not") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, true);
  const TellingListener listener(*network, 443);
  for (const char* address : {"203.0.113.7", "2001:db8::7", "2001:db8::7", "fd12:3456::1"}) {
    const absl::Status status = network->RouteAddress(address);
    INFO(address << status);
    CHECK(status.ok());
  }
  const Ran ran =
      Run(*launcher, SystemPlan(),
          Python(kConnect, {"203.0.113.7", "443", "203.0.113.8", "443", "2001:db8::7", "443",
                            "2001:db8::8", "443", "fd12:3456::1", "443", "198.18.0.1", "443"}),
          network->sandbox());
  CHECK(ran.output ==
        "::ffff:203.0.113.7 443\nENETUNREACH\n2001:db8::7 443\nENETUNREACH\nfd12:3456::1 443\n"
        "::ffff:198.18.0.1 443\n");
}

TEST_CASE("a prefix can be routed, also the widest ones, and the link goes on working") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, true);
  const TellingListener listener(*network, 443);
  for (const char* prefix : {"0.0.0.0/0", "::/0"}) CHECK(network->RouteAddress(prefix).ok());
  const Ran ran = Run(*launcher, SystemPlan(),
                      Python(kConnect, {"203.0.113.7", "443", "2001:db8::7", "443", "198.18.0.1",
                                        "443", "127.0.0.1", "443", "::1", "443"}),
                      network->sandbox());
  CHECK(ran.output ==
        "::ffff:203.0.113.7 443\n2001:db8::7 443\n::ffff:198.18.0.1 443\nECONNREFUSED\n"
        "ECONNREFUSED\n");
}

TEST_CASE("what belongs to the sandbox or to no single host cannot be routed") {
  NEEDS_NAMESPACES();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, true);
  CHECK(network->RouteAddress("203.0.113.0/24").ok());  // The control.
  for (const char* address :
       {"127.0.0.1", "127.255.0.1", "0.0.0.0", "192.0.0.1", "192.0.0.2", "224.0.0.1",
        "255.255.255.255", "::1", "::", "ff02::1", "fe80::1", "fd00:c0:d1::2", "::ffff:1.2.3.4",
        "example.com", "", "1.2.3.4/33", "1.2.3.4/x", "1.2.3.4/"}) {
    INFO(address);
    CHECK(Is(network->RouteAddress(address), ErrorCode::kInvalidTarget));
  }
}

TEST_CASE("without a gateway both addresses are local and nothing is reachable") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, false);
  const TellingListener listener(*network, 53);
  const Ran ran = Run(*launcher, SystemPlan(),
                      Python(kConnect, {"192.0.0.2", "53", "192.0.0.1", "80", "198.18.0.1", "53",
                                        "169.254.169.254", "80", "2001:db8::7", "443"}),
                      network->sandbox());
  CHECK(ran.output == "::ffff:192.0.0.2 53\nECONNREFUSED\nENETUNREACH\nENETUNREACH\nENETUNREACH\n");
  CHECK_FALSE(network->RouteAddress("203.0.113.7").ok());
}

TEST_CASE("sockets of the sandbox's side are the sandbox's own loopback") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, GENERATE(true, false));
  auto listener = network->MakeSocket(Side::kSandbox, AF_INET, SOCK_STREAM);
  REQUIRE(listener.ok());
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(5432);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(listener->get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(listen(listener->get(), 4) == 0);
  const Ran ran = Run(*launcher, SystemPlan(),
                      Python("import socket; socket.create_connection(('127.0.0.1', 5432)); "
                             "print('connected')"),
                      network->sandbox());
  CHECK(ran.output == "connected\n");
  // A side has no sockets of another one's.
  auto other = network->MakeSocket(Side::kGateway, AF_INET, SOCK_STREAM);
  REQUIRE(other.ok());
}

TEST_CASE("servers inside have every port to themselves, also those of the gateway's listeners") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, true);
  const TellingListener listener(*network, 8443);
  const Ran ran = Run(*launcher, SystemPlan(),
                      Python("import socket\n"
                             "for host in '0.0.0.0', '127.0.0.1':\n"
                             "  s = socket.create_server((host, 8443)); print('bound'); s.close()\n"
                             "s = socket.socket(socket.AF_INET6); s.bind(('::', 8443))\n"
                             "print('bound')\n"
                             "for host in '198.18.0.1', '192.0.0.2':\n"
                             "  try: socket.create_server((host, 8443)); print('STOLEN')\n"
                             "  except OSError as e: print(e.errno)\n"),
                      network->sandbox());
  CHECK(ran.output == "bound\nbound\nbound\n99\n99\n");  // EADDRNOTAVAIL
}

TEST_CASE("a command has no power over the network that it is in") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, true);
  // As a command without seccomp, and before it gave up its capabilities: they are of its own user
  // namespace, to which the network does not belong.
  const Ran ran =
      Run(*launcher, SystemPlan(),
          Python("import ctypes, os\n"
                 "libc = ctypes.CDLL(None, use_errno=True)\n"
                 "if libc.unshare(0x10000000): raise SystemExit('no user namespace')\n"
                 "import socket, struct\n"
                 "s = socket.socket(16, 3, 0)\n"
                 "link = struct.pack('=BxHiII', 0, 0, 1000, 0, 1)\n"  // eth0 down
                 "s.send(struct.pack('=IHHII', 16 + len(link), 16, 5, 1, 0) + link)\n"
                 "print(struct.unpack('=i', s.recv(999)[16:20])[0])\n"
                 "try: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('RAW')\n"
                 "except OSError as e: print(e.errno)\n"),
          network->sandbox());
  CHECK(ran.output == "-1\n1\n");  // EPERM
}

TEST_CASE("one network serves one command after the other, and its end is the keeper's") {
  NEEDS_NAMESPACES();
  NEEDS_PYTHON();
  const auto launcher = StartedLauncherOrFail();
  auto network = NetworkOrFail(launcher, true);
  const TellingListener listener(*network, 443);
  for (int i = 0; i < 3; ++i) {
    const Ran ran =
        Run(*launcher, SystemPlan(), Python(kConnect, {"198.18.0.9", "443"}), network->sandbox());
    CHECK(ran.output == "::ffff:198.18.0.9 443\n");
    CHECK(ran.tree_ended);
  }
  launcher->Stop();
  // With the launcher the keeper ends.
  CHECK_FALSE(network->MakeSocket(Side::kGateway, AF_INET, SOCK_STREAM).ok());
}

// The process behind a pidfd (pidfd_open(2), "fdinfo").
pid_t PidOf(int pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("Pid:")) return std::stoi(line.substr(4));
  }
  return -1;
}

TEST_CASE("the keeper ends when the host is killed, also with a fork of it left") {
  NEEDS_NAMESPACES();
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    const auto launcher = StartedLauncherOrFail();
    const auto network = launcher->MakeNetwork(true);
    // Holds copies of the sockets to the launcher and to the keeper.
    const pid_t bystander = fork();
    if (bystander == 0) {
      for (;;) pause();
    }
    const auto keeper = network.ok() ? launcher->AwaitKeeper(*network) : network.status();
    const pid_t pids[] = {bystander, keeper.ok() ? PidOf(keeper->get()) : -1};
    (void)!write(writer.get(), pids, sizeof(pids));
    for (;;) pause();
  }
  pid_t pids[2] = {-1, -1};
  REQUIRE(WaitReadable(reader.get()));
  REQUIRE(read(reader.get(), pids, sizeof(pids)) == sizeof(pids));
  const UniqueFd keeper(static_cast<int>(syscall(SYS_pidfd_open, pids[1], 0)));
  CHECK(keeper.valid());
  REQUIRE(kill(host, SIGKILL) == 0);
  CHECK(WaitReadable(keeper.get()));
  CHECK(kill(pids[0], SIGKILL) == 0);
  CHECK(waitpid(host, nullptr, 0) == host);
}

TEST_CASE("only stream and datagram sockets of the internet are made") {
  NEEDS_NAMESPACES();
  const auto launcher = StartedLauncherOrFail();
  const auto network = NetworkOrFail(launcher, true);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      CHECK(network->MakeSocket(Side::kSandbox, family, type).ok());
      CHECK(network->MakeSocket(Side::kGateway, family, type).ok());
    }
  }
  // The gateway may see what goes over its own link.
  CHECK(network->MakeSocket(Side::kGateway, AF_PACKET, SOCK_DGRAM).ok());
  CHECK_FALSE(network->MakeSocket(Side::kSandbox, AF_PACKET, SOCK_DGRAM).ok());
  CHECK_FALSE(network->MakeSocket(Side::kGateway, AF_PACKET, SOCK_RAW).ok());
  const auto single = NetworkOrFail(launcher, false);
  CHECK_FALSE(single->MakeSocket(Side::kGateway, AF_PACKET, SOCK_DGRAM).ok());
  CHECK_FALSE(network->MakeSocket(Side::kGateway, AF_INET, SOCK_RAW).ok());
}

}  // namespace
}  // namespace cordon::internal::testing
