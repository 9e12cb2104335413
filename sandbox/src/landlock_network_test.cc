// The network of the landlock tier: connections are led to a proxy, whatever the command asks for.

#include <string>
#include <vector>

#include "landlock_report.h"
#include "led_testing.h"

namespace cordon::internal::testing {
namespace {

TEST_CASE("a command is led to its proxy and nowhere else, in whatever way it tries") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  // A service of the host, one of them at the number that the proxy will not have.
  const TalkingListener host("host");
  const std::string port = std::to_string(host.port());
  const std::string said = fixture.Python(std::string(kStart) + "host = " + port + R"(
Try('granted', lambda: Connect(granted))
Try('mapped', lambda: Connect(('::ffff:198.18.0.1', 443), socket.AF_INET6))
Try('six', lambda: Connect(('2001:db8::7', 80), socket.AF_INET6))
Try('host', lambda: Connect(('127.0.0.1', host)))
Try('refused', lambda: Connect(('203.0.113.9', 443)))
Try('six refused', lambda: Connect(('2001:db8::9', 443), socket.AF_INET6))
Try('port 0', lambda: Connect(('198.18.0.1', 0)))
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
    s.connect(granted)
    return Said(s)
Try('nonblocking', NonBlocking)
)");
  CHECK(said ==
        "granted to 198.18.0.1:443\nmapped to 198.18.0.1:443\nsix to 2001:db8::7:80\n"
        "host ENETUNREACH\nrefused ENETUNREACH\nsix refused ENETUNREACH\nport 0 EACCES\n"
        "fastopen EPERM\nfastopen message EPERM\nlate ENETUNREACH\n"
        "mptcp EPROTONOSUPPORT\nudp EACCES\nraw EACCES\nunix ok\nvsock EACCES\nbind EACCES\n"
        "listen EACCES\nnonblocking to 198.18.0.1:443\n");
  CHECK(host.visitors() == 0);
  // The control: the service is there, and open to who may have the host's network.
  LedFixture open;
  open.config.network_targets.clear();
  open.config.network = Access::kAllow;
  CHECK(open.Python("import socket\ns = socket.create_connection(('127.0.0.1', " + port +
                    "))\nprint(s.recv(9).decode())\n") == "host\n");
}

TEST_CASE("a socket in any state leads to the command's proxy or nowhere") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const TalkingListener host("host");
  const std::string ports = "host = " + std::to_string(host.port()) + "\n";
  const std::string said = fixture.Python(std::string(kStart) + ports + R"(
import array, ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
def Address(port, family=socket.AF_INET):
    return struct.pack('=H', family) + struct.pack('!H', port) + bytes([127, 0, 0, 1]) + bytes(8)
def Raw(s, bytes_, size):
    if libc.connect(s.fileno(), bytes_, size) != 0: raise OSError(ctypes.get_errno(), '')
    return Said(s)
def Dup():
    s = socket.socket()
    t = s.dup()
    t.connect(granted)
    return Said(s)
Try('dup', Dup)
def DupToHost():
    s = socket.socket()
    s.dup().connect(('127.0.0.1', host))
Try('dup to host', DupToHost)
def Passed(to):
    a, b = socket.socketpair()
    s = socket.socket()
    socket.send_fds(a, [b'x'], [s.fileno()])
    got = socket.socket(fileno=socket.recv_fds(b, 1, 1)[1][0])
    got.connect(to)
    return Said(s)
Try('passed', lambda: Passed(granted))
Try('passed to host', lambda: Passed(('127.0.0.1', host)))
def Child(to):
    s = socket.socket()
    r, w = os.pipe()
    if os.fork() == 0:
        try:
            s.connect(to)
            os.write(w, b'yes')
        except OSError as e: os.write(w, errno.errorcode[e.errno].encode())
        os._exit(0)
    os.close(w)
    os.wait()
    return os.read(r, 99).decode()
Try('child', lambda: Child(granted))
Try('child to host', lambda: Child(('127.0.0.1', host)))
def Thread(to):
    got = []
    def Run():
        try: got.append(Connect(to))
        except OSError as e: got.append(errno.errorcode[e.errno])
    t = threading.Thread(target=Run)
    t.start()
    t.join()
    return got[0]
Try('thread', lambda: Thread(granted))
Try('thread to host', lambda: Thread(('127.0.0.1', host)))
def Again():
    s = socket.socket()
    s.connect(granted)
    s.connect(granted)
Try('again', Again)
def AgainToHost():
    s = socket.socket()
    s.connect(granted)
    s.connect(('127.0.0.1', host))
Try('again to host', AgainToHost)
def Unconnect():
    s = socket.socket()
    s.connect(granted)
    return Raw(s, Address(host, socket.AF_UNSPEC), 16)
Try('unspec', Unconnect)
Try('unspec alone', lambda: Raw(socket.socket(), Address(443, socket.AF_UNSPEC), 16))
Try('short', lambda: Raw(socket.socket(), Address(443), 7))
Try('null', lambda: Raw(socket.socket(), None, 16))
Try('pair', lambda: Raw(socket.socketpair()[0], Address(443), 16))
Try('file', lambda: Raw(open('/dev/null'), Address(443), 16))
def Accept():
    s = socket.socket()
    s.accept()
Try('accept', Accept)
def Addressed():
    s = socket.socket()
    s.connect(granted)
    s.sendto(b'', ('127.0.0.1', host))
    return Said(s)
Try('addressed', Addressed)
Try('addressed alone', lambda: socket.socket().sendto(b'x', ('127.0.0.1', host)))
def Option(level, name, value):
    s = socket.socket()
    s.setsockopt(level, name, value)
    s.connect(granted)
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
  const std::string there = " to 198.18.0.1:443\n";
  CHECK(said ==
        "dup" + there + "dup to host ENETUNREACH\npassed" + there +
            "passed to host ENETUNREACH\nchild yes\nchild to host ENETUNREACH\nthread" + there +
            "thread to host ENETUNREACH\nagain EISCONN\nagain to host EISCONN\nunspec EACCES\n"
            "unspec alone EACCES\nshort EACCES\nnull EACCES\npair EINVAL\nfile ENOTSOCK\n"
            "accept EINVAL\naddressed" +
            there + "addressed alone EPIPE\ntos" + there +
            "record route EPERM\nsource route EPERM\ndevice EPERM\nkeepalive" + there +
            "late open" + there + "mark True\ndevices ENOTTY\nhardware ENOTTY\n");
  CHECK(host.visitors() == 0);
}

TEST_CASE("what the proxy refused is listed, and each command has a plan of its own") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const RunResult first = fixture.Shell("true");
  const RunResult second = fixture.Shell("true");
  REQUIRE(first.denials.size() == 1);
  CHECK(first.denials[0].target == "tcp:denied.test:443");
  CHECK(first.report.guarantees.target_network);
  CHECK(first.report.guarantees.address_network);
  REQUIRE(fixture.proxy->plans.size() == 2);
  CHECK(fixture.proxy->plans[0].targets.size() == 1);
  CHECK(first.execution_id == fixture.proxy->plans[0].execution_id);
  CHECK(second.execution_id == fixture.proxy->plans[1].execution_id);
}

TEST_CASE("a command learns of no proxy, but that names are asked for over TCP") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const std::string text = "env | grep -i -e proxy -e RES_";
  CHECK(fixture.Shell(text).standard_output.head == "RES_OPTIONS=use-vc attempts:1 timeout:2\n");
  LedFixture passing;
  passing.config.environment = {"RES_OPTIONS=attempts:3 ndots:2"};
  CHECK(passing.Shell(text).standard_output.head ==
        "RES_OPTIONS=use-vc attempts:1 timeout:2 attempts:3 ndots:2\n");
  LedFixture closed;
  closed.config.network_targets.clear();
  CHECK(closed.Shell(text).standard_output.head.empty());
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
