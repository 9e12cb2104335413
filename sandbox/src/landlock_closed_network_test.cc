// The network of the landlock tier where nothing at all may be reached.

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "cordon/sdk/unique_fd.h"
#include "landlock_testing.h"

namespace cordon::internal::testing {
namespace {

// At the host's 127.0.0.1, where nobody is to come.
class QuietListener {
 public:
  QuietListener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in local = {};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(fd_.get(), reinterpret_cast<sockaddr*>(&local), sizeof local) == 0);
    REQUIRE(listen(fd_.get(), 64) == 0);
    socklen_t size = sizeof local;
    REQUIRE(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&local), &size) == 0);
    port_ = ntohs(local.sin_port);
  }
  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  [[nodiscard]] bool HasVisitor() const {
    return UniqueFd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid();
  }

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

constexpr char kTries[] = R"(
import errno, fcntl, socket, sys
host = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
def Try(name, call):
    try:
        call()
        print(name, 'ok')
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e))
def Connect(address, port, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(10)
    s.connect((address, port))
def Option(level, name, value):
    socket.socket().setsockopt(level, name, value)
Try('loopback', lambda: Connect('127.0.0.1', host))
Try('mapped', lambda: Connect('::ffff:127.0.0.1', host, socket.AF_INET6))
Try('six', lambda: Connect('::1', host, socket.AF_INET6))
Try('outside', lambda: Connect('203.0.113.7', 443))
Try('non-blocking', lambda: socket.socket().setblocking(False))
Try('fastopen', lambda: socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', host)))
Try('fastopen message', lambda: socket.socket().sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', host)))
Try('addressed', lambda: socket.socket().sendto(b'x', ('127.0.0.1', host)))
Try('multipath', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
Try('datagrams', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
Try('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
Try('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
Try('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
Try('bind', lambda: socket.socket().bind(('127.0.0.1', 0)))
Try('listen', lambda: socket.socket().listen())
Try('other kind', lambda: Option(socket.IPPROTO_TCP, 31, b'tls'))
Try('source route', lambda: Option(socket.IPPROTO_IP, socket.IP_OPTIONS, bytes([131, 7, 4, 127, 0, 0, 2, 0])))
Try('device', lambda: Option(socket.SOL_SOCKET, 25, b'lo'))
Try('devices', lambda: fcntl.ioctl(socket.socket(), 0x8912, bytes(16)))
)";

std::string TriesAt(const std::string& port) {
  std::string text = kTries;
  text.replace(text.find("PORT"), 4, port);
  return text;
}

TEST_CASE("under a closed network sockets of TCP can be made, and every way to use one fails") {
  NEED_ON_HOST();
  const QuietListener host;
  OnHostFixture fixture;
  CHECK(fixture.Python(TriesAt(host.port())) ==
        "loopback EACCES\nmapped EACCES\nsix EACCES\noutside EACCES\nnon-blocking ok\n"
        "fastopen EPERM\nfastopen message EPERM\naddressed EPIPE\nmultipath EPROTONOSUPPORT\n"
        "datagrams EACCES\nraw EACCES\nvsock EACCES\nnetlink EACCES\nbind EACCES\nlisten EACCES\n"
        "other kind EPERM\nsource route EPERM\ndevice EPERM\ndevices ENOTTY");
  CHECK_FALSE(host.HasVisitor());
  // The control: who may have the host's network gets there.
  OnHostFixture open;
  open.config.network = Access::kAllow;
  const std::string said = open.Python(TriesAt(host.port()));
  CHECK(said.starts_with("loopback ok\nmapped ok\n"));
  CHECK(host.HasVisitor());
}

TEST_CASE("what a command tried to reach under a closed network is listed, but not the loopback") {
  NEED_ON_HOST();
  OnHostFixture fixture;
  const RunResult result = fixture.Shell(
      "python3 -c 'import socket\nfor to in (\"203.0.113.7\", 443), (\"127.0.0.1\", 1), "
      "(\"203.0.113.7\", 443): socket.socket().connect_ex(to)'");
  REQUIRE(result.denials.size() == 1);
  CHECK(result.denials[0].target == "tcp:203.0.113.7:443");
  CHECK(result.denials[0].count == 2);
  CHECK(result.denials[0].allow_with == "--net 203.0.113.7:443");
  CHECK(result.report.guarantees.network_boundary);
  CHECK(result.report.guarantees.address_network);
}

}  // namespace
}  // namespace cordon::internal::testing
