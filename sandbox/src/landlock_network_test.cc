// The network of the landlock tier: nothing but a proxy of the command's own.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/sdk/egress.h"
#include "executor_testing.h"
#include "landlock_abi.h"
#include "landlock_report.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

// Accepts at an address of the host, counts, and says its name to each visitor.
class NamedListener {
 public:
  NamedListener(std::uint32_t address, std::uint16_t port, std::string name)
      : name_(std::move(name)), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in local = {};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(address);
    local.sin_port = htons(port);
    REQUIRE(bind(fd_.get(), reinterpret_cast<sockaddr*>(&local), sizeof local) == 0);
    REQUIRE(listen(fd_.get(), 64) == 0);
    socklen_t size = sizeof local;
    REQUIRE(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&local), &size) == 0);
    port_ = ntohs(local.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  }
  ~NamedListener() {
    thread_.request_stop();
    (void)shutdown(fd_.get(), SHUT_RDWR);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int visitors() const { return visitors_; }

 private:
  void Serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const UniqueFd visitor(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!visitor.valid()) continue;
      ++visitors_;
      (void)send(visitor.get(), name_.data(), name_.size(), MSG_NOSIGNAL);
    }
  }

  const std::string name_;
  UniqueFd fd_;
  std::uint16_t port_ = 0;
  std::atomic<int> visitors_ = 0;
  std::jthread thread_;
};

class FrontProxy final : public EgressProxy {
 public:
  bool HasAuthorizer() const override { return false; }
  absl::StatusOr<std::unique_ptr<EgressSession>> Serve(EgressPlan,
                                                       std::shared_ptr<SandboxNetwork>) override {
    FAIL("there is no network to serve");
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<EgressFront>> ServeFront(EgressPlan plan,
                                                          EgressFrontOptions options) override {
    const std::lock_guard lock(mutex_);
    plans.push_back(std::move(plan));
    credentials.push_back(options.credential);
    return std::make_unique<Front>();
  }

  std::vector<EgressPlan> plans;
  std::vector<std::string> credentials;

 private:
  class Front final : public EgressFront {
   public:
    std::vector<Denial> Denials() const override {
      return {{"network", "tcp:denied.test:443", 1, "not granted", "--net denied.test:443"}};
    }
    std::vector<NetworkTarget> Used() const override { return {}; }
    std::uint16_t port() const override { return listener_.port(); }

   private:
    NamedListener listener_{INADDR_LOOPBACK, 0, "front"};
  };

  std::mutex mutex_;
};

class LedFixture : public SandboxFixture {
 public:
  LedFixture() {
    options.backend = Backend::kLandlock;
    options.egress = proxy;
    config.network_targets = {"granted.test:443"};
  }
  std::string Python(const std::string& text) {
    return Shell("cat >probe.py <<'END'\n" + text + "END\npython3 probe.py").standard_output.head;
  }

  const std::shared_ptr<FrontProxy> proxy = std::make_shared<FrontProxy>();
};

#define NEEDS_LEADING_LANDLOCK()                                                      \
  if (LandlockScopesOf(QueryLandlockAbi()) == 0) {                                    \
    CORDON_SKIP("landlock", "this kernel has no Landlock with network and scopes");   \
  }                                                                                   \
  if (access("/usr/bin/python3", X_OK) != 0) CORDON_SKIP("python3", "not installed"); \
  static_assert(true)

// `Try` prints what comes of a call, or the name of the error.
constexpr char kStart[] = R"(import errno, os, re, socket, sys, threading
front = int(re.search(r':(\d+)$', os.environ['HTTPS_PROXY']).group(1))
def Try(name, call):
    try:
        got = call()
        print(name, got if isinstance(got, str) else 'ok')
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e))
def Said(s):
    s.settimeout(10)
    return s.recv(100).decode()
def Connect(host, port, family=socket.AF_INET):
    s = socket.socket(family)
    s.connect((host, port))
    return Said(s)
)";

TEST_CASE("a command reaches its own proxy and nothing else, in whatever way it tries") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  // A service of the host, one of them at the number that the proxy will not have.
  const NamedListener host(INADDR_LOOPBACK, 0, "host");
  const std::string port = std::to_string(host.port());
  const std::string said = fixture.Python(std::string(kStart) + "host = " + port + R"(
Try('front', lambda: Connect('127.0.0.1', front))
Try('mapped', lambda: Connect('::ffff:127.0.0.1', front, socket.AF_INET6))
Try('host', lambda: Connect('127.0.0.1', host))
Try('any', lambda: Connect('0.0.0.0', host))
Try('other address', lambda: Connect('127.0.0.2', front))
Try('outside', lambda: Connect('203.0.113.7', 443))
def Fast(flag):
    s = socket.socket()
    s.sendto(b'x', flag, ('127.0.0.1', host))
    return Said(s)
Try('fastopen', lambda: Fast(0x20000000))
def FastMessage():
    s = socket.socket()
    s.sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', host))
    return Said(s)
Try('fastopen message', FastMessage)
def LateOpen():
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, 30, 1)  # TCP_FASTOPEN_CONNECT
    s.connect(('127.0.0.1', host))
    s.send(b'x')
    return Said(s)
Try('late', LateOpen)
Try('mptcp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
Try('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
Try('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
Try('unix', lambda: socket.socket(socket.AF_UNIX))
Try('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
Try('bind', lambda: socket.socket().bind(('127.0.0.1', 0)))
Try('listen', lambda: socket.socket().listen())
def NonBlocking():
    s = socket.socket()
    s.settimeout(10)
    s.connect(('127.0.0.1', front))
    return Said(s)
Try('nonblocking', NonBlocking)
)");
  CHECK(said ==
        "front front\nmapped front\nhost EACCES\nany EACCES\nother address EACCES\n"
        "outside EACCES\nfastopen EPERM\nfastopen message EPERM\nlate EACCES\n"
        "mptcp EPROTONOSUPPORT\nudp EACCES\nraw EACCES\nunix EACCES\nvsock EACCES\nbind EACCES\n"
        "listen EACCES\nnonblocking front\n");
  CHECK(host.visitors() == 0);
  // The control: the service is there, and open to who may have the host's network.
  LedFixture open;
  open.config.network_targets.clear();
  open.config.network = Access::kAllow;
  CHECK(open.Python("import socket\ns = socket.create_connection(('127.0.0.1', " + port +
                    "))\nprint(s.recv(9).decode())\n") == "host\n");
}

TEST_CASE("a socket in any state leads to the command's own proxy or nowhere") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const NamedListener host(INADDR_LOOPBACK, 0, "host");
  const NamedListener other(INADDR_LOOPBACK, 0, "another command's");
  const std::string ports =
      "host, other = " + std::to_string(host.port()) + ", " + std::to_string(other.port()) + "\n";
  const std::string said = fixture.Python(std::string(kStart) + ports + R"(
import array, ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
def Address(port, family=socket.AF_INET):
    return struct.pack('=H', family) + struct.pack('!H', port) + bytes([127, 0, 0, 1]) + bytes(8)
def Raw(s, bytes_, size):
    if libc.connect(s.fileno(), bytes_, size) != 0: raise OSError(ctypes.get_errno(), '')
    return Said(s)
Try('other front', lambda: Connect('127.0.0.1', other))
def Dup():
    s = socket.socket()
    t = s.dup()
    t.connect(('127.0.0.1', front))
    return Said(s)
Try('dup', Dup)
def DupToHost():
    s = socket.socket()
    s.dup().connect(('127.0.0.1', host))
Try('dup to host', DupToHost)
def Passed(port):
    a, b = socket.socketpair()
    s = socket.socket()
    socket.send_fds(a, [b'x'], [s.fileno()])
    got = socket.socket(fileno=socket.recv_fds(b, 1, 1)[1][0])
    got.connect(('127.0.0.1', port))
    return Said(s)
Try('passed', lambda: Passed(front))
Try('passed to host', lambda: Passed(host))
def Child(port):
    s = socket.socket()
    r, w = os.pipe()
    if os.fork() == 0:
        try:
            s.connect(('127.0.0.1', port))
            os.write(w, b'yes')
        except OSError as e: os.write(w, errno.errorcode[e.errno].encode())
        os._exit(0)
    os.close(w)
    os.wait()
    return os.read(r, 99).decode()
Try('child', lambda: Child(front))
Try('child to host', lambda: Child(host))
def Thread(port):
    got = []
    def Run():
        try: got.append(Connect('127.0.0.1', port))
        except OSError as e: got.append(errno.errorcode[e.errno])
    t = threading.Thread(target=Run)
    t.start()
    t.join()
    return got[0]
Try('thread', lambda: Thread(front))
Try('thread to host', lambda: Thread(host))
def Again():
    s = socket.socket()
    s.connect(('127.0.0.1', front))
    s.connect(('127.0.0.1', front))
Try('again', Again)
def AgainToHost():
    s = socket.socket()
    s.connect(('127.0.0.1', front))
    s.connect(('127.0.0.1', host))
Try('again to host', AgainToHost)
def Unconnect():
    s = socket.socket()
    s.connect(('127.0.0.1', front))
    return Raw(s, Address(host, socket.AF_UNSPEC), 16)
Try('unspec', Unconnect)
Try('unspec alone', lambda: Raw(socket.socket(), Address(front, socket.AF_UNSPEC), 16))
Try('short', lambda: Raw(socket.socket(), Address(front), 7))
Try('null', lambda: Raw(socket.socket(), None, 16))
Try('pair', lambda: Raw(socket.socketpair()[0], Address(front), 16))
Try('file', lambda: Raw(open('/dev/null'), Address(front), 16))
def Accept():
    s = socket.socket()
    s.accept()
Try('accept', Accept)
def Addressed():
    s = socket.socket()
    s.connect(('127.0.0.1', front))
    s.sendto(b'', ('127.0.0.1', host))
    return Said(s)
Try('addressed', Addressed)
Try('addressed alone', lambda: socket.socket().sendto(b'x', ('127.0.0.1', host)))
def Option(level, name, value):
    s = socket.socket()
    s.setsockopt(level, name, value)
    s.connect(('127.0.0.1', front))
    return Said(s)
Try('tos', lambda: Option(socket.IPPROTO_IP, socket.IP_TOS, 16))
Try('record route', lambda: Option(socket.IPPROTO_IP, socket.IP_OPTIONS, bytes([7, 7, 4]) + bytes(5)))
Try('source route', lambda: Option(socket.IPPROTO_IP, socket.IP_OPTIONS, bytes([131, 7, 4, 127, 0, 0, 2, 0])))
Try('device', lambda: Option(socket.SOL_SOCKET, 25, b'lo'))
Try('keepalive', lambda: Option(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1))
Try('late open', lambda: Option(socket.IPPROTO_TCP, 30, 1))
import fcntl
Try('mark', lambda: str(fcntl.ioctl(socket.socket(), 0x8905, bytes(4)) == bytes(4)))
Try('devices', lambda: str(fcntl.ioctl(socket.socket(), 0x8912, bytes(16))))
Try('hardware', lambda: str(fcntl.ioctl(socket.socket(), 0x8927, b'lo' + bytes(38))))
)");
  CHECK(said ==
        "other front EACCES\ndup front\ndup to host EACCES\npassed front\npassed to host EACCES\n"
        "child yes\nchild to host EACCES\nthread front\nthread to host EACCES\nagain EISCONN\n"
        "again to host EACCES\nunspec EACCES\nunspec alone EACCES\nshort EACCES\nnull EACCES\n"
        "pair EACCES\nfile EACCES\naccept EINVAL\naddressed front\naddressed alone EPIPE\n"
        "tos front\nrecord route EPERM\nsource route EPERM\ndevice EPERM\nkeepalive front\n"
        "late open front\nmark True\ndevices ENOTTY\nhardware ENOTTY\n");
  CHECK(host.visitors() == 0);
  CHECK(other.visitors() == 0);
}

TEST_CASE("an address that changes while a connect is looked at leads nowhere else") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const NamedListener host(INADDR_LOOPBACK, 0, "host");
  const std::string said =
      fixture.Python(std::string(kStart) + "host = " + std::to_string(host.port()) + R"(
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
both = [struct.pack('=H', socket.AF_INET) + struct.pack('!H', p) + bytes([127, 0, 0, 1]) + bytes(8)
        for p in (front, host)]
address = ctypes.create_string_buffer(both[0], 16)
done = False
def Flip():
    while not done:
        for one in both: ctypes.memmove(address, one, 16)
flipper = threading.Thread(target=Flip)
flipper.start()
reached = {}
for i in range(3000):
    s = socket.socket()
    name = 'front'
    if libc.connect(s.fileno(), address, 16) != 0: name = errno.errorcode[ctypes.get_errno()]
    reached[name] = reached.get(name, 0) + 1
    s.close()
done = True
flipper.join()
# A busy machine may leave the proxy's queue full for a moment.
print('front' in reached, sorted(set(reached) - {'front', 'EACCES', 'ECONNREFUSED'}))
)");
  CHECK(said == "True []\n");
  CHECK(host.visitors() == 0);
}

TEST_CASE("each command has a proxy of its own, with a secret, which other commands cannot reach") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const RunResult first = fixture.Shell("echo \"$HTTPS_PROXY $http_proxy $ALL_PROXY\"");
  const RunResult second = fixture.Shell("echo \"$HTTPS_PROXY\"");
  REQUIRE(fixture.proxy->credentials.size() == 2);
  CHECK(fixture.proxy->credentials[0] != fixture.proxy->credentials[1]);
  CHECK(fixture.proxy->credentials[0].size() > 32);
  const std::string start = "http://" + fixture.proxy->credentials[0] + "@127.0.0.1:";
  CHECK(first.standard_output.head.starts_with(start));
  CHECK(second.standard_output.head.starts_with("http://" + fixture.proxy->credentials[1]));
  CHECK(fixture.proxy->plans[0].targets.size() == 1);
  CHECK(first.execution_id == fixture.proxy->plans[0].execution_id);
}

TEST_CASE("what the proxy refused and what went past it is listed") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const RunResult result = fixture.Shell(
      "python3 -c 'import socket; socket.create_connection((\"203.0.113.7\", 443))' 2>/dev/null");
  std::vector<std::string> targets;
  for (const Denial& denial : result.denials) targets.push_back(denial.target);
  CHECK(targets == std::vector<std::string>{"tcp:denied.test:443", "tcp:203.0.113.7:443"});
  CHECK(result.report.guarantees.target_network);
  CHECK(result.report.guarantees.address_network);
}

TEST_CASE("where commands cannot be looked into they have no proxy, and the reason is said") {
  struct {
    const char* scope;
    bool is_root;
    bool is_subreaper;
    bool is_possible;
  } const rows[] = {
      {"0", false, false, true}, {"1", false, true, true},  {"1", false, false, false},
      {"1", true, false, true},  {"2", false, true, false}, {"2", true, false, true},
      {"3", true, true, false},  {"4", false, true, false},
  };
  for (const auto& row : rows) {
    INFO(row.scope << " " << row.is_root << " " << row.is_subreaper);
    const std::string why = WhyOutOfReach(row.scope, row.is_root, row.is_subreaper);
    CHECK(why.empty() == row.is_possible);
    CHECK((why.empty() || why.find("kernel.yama.ptrace_scope=0") != std::string::npos));
  }
}

}  // namespace
}  // namespace cordon::internal::testing
