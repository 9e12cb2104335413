// Attacks on how connections are led to a proxy in the landlock tier: races, options of the socket
// that are set before, other commands, and many at once.

#include <algorithm>
#include <string>

#include "led_testing.h"

namespace cordon::internal::testing {
namespace {

TEST_CASE(
    "an address that changes while a connect is looked at leads to what is granted or fails") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const TalkingListener host("host");
  const std::string said =
      fixture.Python(std::string(kStart) + "host = " + std::to_string(host.port()) + R"(
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
def Address(ip, port):
    return struct.pack('=H', socket.AF_INET) + struct.pack('!H', port) + socket.inet_aton(ip) + bytes(8)
both = [Address(*granted), Address('127.0.0.1', host)]
address = ctypes.create_string_buffer(both[0], 16)
done = False
def Flip():
    while not done:
        for one in both: ctypes.memmove(address, one, 16)
flipper = threading.Thread(target=Flip)
flipper.start()
reached = {}
for i in range(2000):
    s = socket.socket()
    if libc.connect(s.fileno(), address, 16) != 0: name = errno.errorcode[ctypes.get_errno()]
    else: name = Said(s)
    reached[name] = reached.get(name, 0) + 1
    s.close()
done = True
flipper.join()
# Half of one and half of the other is asked for as such, and goes to the door, too.
print('to 198.18.0.1:443' in reached, sorted(n for n in reached if not n.startswith('to ') and
      n not in ('ENETUNREACH', 'ECONNREFUSED')), any('127.0.0.1' in n for n in reached))
)");
  CHECK(said == "True [] False\n");
  CHECK(host.visitors() == 0);
}

TEST_CASE("options that share or withhold a port change nothing") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const std::string said = fixture.Python(std::string(kStart) + R"(
def With(options, family=socket.AF_INET, to=granted):
    s = socket.socket(family)
    for level, name, value in options: s.setsockopt(level, name, value)
    s.connect(to)
    return Said(s)
sock, ip, v6 = socket.SOL_SOCKET, socket.IPPROTO_IP, socket.IPPROTO_IPV6
six = ('2001:db8::7', 80, 0, 0)
Try('reuse address', lambda: With([(sock, socket.SO_REUSEADDR, 1)]))
Try('reuse port', lambda: With([(sock, socket.SO_REUSEPORT, 1)]))
Try('no port', lambda: With([(ip, 24, 1)]))  # IP_BIND_ADDRESS_NO_PORT
Try('all', lambda: With([(sock, 2, 1), (sock, 15, 1), (ip, 24, 1)]))
Try('all six', lambda: With([(sock, 2, 1), (sock, 15, 1), (ip, 24, 1)], socket.AF_INET6, six))
Try('transparent', lambda: With([(ip, 19, 1)]))
Try('free address', lambda: With([(ip, 15, 1)]))
Try('port range', lambda: With([(ip, 51, bytes([0, 144, 0, 144]))]))
Try('only six', lambda: With([(v6, 26, 1)], socket.AF_INET6, six))
Try('only six mapped', lambda: With([(v6, 26, 1)], socket.AF_INET6, ('::ffff:198.18.0.1', 443)))
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
def Raw(s, a):
    if libc.connect(s.fileno(), a, len(a)): raise OSError(ctypes.get_errno(), '')
four = struct.pack('=H', socket.AF_INET) + struct.pack('!H', 80) + socket.inet_aton('198.18.0.1') + bytes(20)
v6_bytes = struct.pack('=H', socket.AF_INET6) + struct.pack('!H', 80) + bytes(4) + socket.inet_pton(socket.AF_INET6, six[0]) + bytes(4)
Try('six with four', lambda: Raw(socket.socket(socket.AF_INET6), four))
Try('four with six', lambda: Raw(socket.socket(), v6_bytes))
done = False
def Flip(s):
    while not done:
        for value in 1, 0:
            try:
                for level, name in (sock, 2), (sock, 15), (ip, 24): s.setsockopt(level, name, value)
            except OSError: pass
said = set()
for i in range(300):
    s = socket.socket()
    done = False
    flipper = threading.Thread(target=Flip, args=(s,))
    flipper.start()
    try:
        s.connect(granted)
        said.add(Said(s))
    except OSError as e: said.add(errno.errorcode[e.errno])
    done = True
    flipper.join()
    s.close()
print('flipped', 'to 198.18.0.1:443' in said, sorted(said - {'to 198.18.0.1:443', 'EACCES'}))
)");
  const std::string there = " to 198.18.0.1:443\n";
  CHECK(said == "reuse address" + there + "reuse port" + there + "no port" + there + "all" + there +
                    "all six to 2001:db8::7:80\ntransparent EPERM\nfree address EPERM\n"
                    "port range EPERM\nonly six to 2001:db8::7:80\nonly six mapped ENETUNREACH\n"
                    "six with four EAFNOSUPPORT\nfour with six EAFNOSUPPORT\nflipped True []\n");
}

TEST_CASE("a socket that was refused can be used again, and one that is connected stays so") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const std::string said = fixture.Python(std::string(kStart) + R"(
import select
def AfterRefusal(family, refused, to):
    s = socket.socket(family)
    for _ in range(3):
        try: s.connect(refused)
        except OSError as e: print(errno.errorcode[e.errno], end=' ')
    s.connect(to)
    return Said(s)
Try('again', lambda: AfterRefusal(socket.AF_INET, ('203.0.113.9', 1), granted))
Try('again six', lambda: AfterRefusal(socket.AF_INET6, ('2001:db8::9', 1), ('2001:db8::7', 80)))
def Twice():
    s = socket.socket()
    s.connect(granted)
    try: s.connect(('198.18.0.2', 80))
    except OSError as e: print(errno.errorcode[e.errno], end=' ')
    return Said(s)
Try('twice', Twice)
def NonBlocking():
    s = socket.socket()
    s.setblocking(False)
    got = s.connect_ex(granted)
    if got not in (0, errno.EINPROGRESS): raise OSError(got, '')
    p = select.poll()
    p.register(s, select.POLLOUT)
    assert p.poll(10000)
    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    # Asked again, as some programs do to learn how it went.
    assert s.connect_ex(granted) in (0, errno.EISCONN)
    assert s.connect_ex(granted) == errno.EISCONN
    p.modify(s, select.POLLIN)
    assert p.poll(10000)
    return s.recv(99).decode()
Try('non-blocking', NonBlocking)
)");
  CHECK(said ==
        "ENETUNREACH ENETUNREACH ENETUNREACH again to 198.18.0.1:443\n"
        "ENETUNREACH ENETUNREACH ENETUNREACH again six to 2001:db8::7:80\n"
        "EISCONN twice to 198.18.0.1:443\nnon-blocking to 198.18.0.1:443\n");
}

TEST_CASE("two hundred connects at once go each where it asked for") {
  NEEDS_LEADING_LANDLOCK();
  LedFixture fixture;
  const std::string said = fixture.Python(std::string(kStart) + R"(
wrong = []
def Go(i):
    to = '198.18.0.%d:%d' % (i % 200 + 1, 1000 + i)
    try:
        got = Connect(('198.18.0.%d' % (i % 200 + 1), 1000 + i))
        if got != 'to ' + to: wrong.append(got)
    except OSError as e: wrong.append(str(e))
threads = [threading.Thread(target=Go, args=(i,)) for i in range(200)]
for t in threads: t.start()
for t in threads: t.join()
print(len(wrong), wrong[:3])
)");
  CHECK(said == "0 []\n");
}

TEST_CASE("a command reaches the door of another neither by its port nor from its own") {
  NEEDS_LEADING_LANDLOCK();
  // Of a command that runs meanwhile, and of which everything is known.
  TestDoor other;
  CHECK(other.Expect(40'000, "198.18.0.77", 80) == 0);
  LedFixture fixture;
  const std::string said =
      fixture.Python(std::string(kStart) + "other = " + std::to_string(other.port()) + R"(
Try('other', lambda: Connect(('127.0.0.1', other)))
Try('its port', lambda: socket.socket().bind(('127.0.0.1', 40000)))
)");
  CHECK(said == "other ENETUNREACH\nits port EACCES\n");
  CHECK(other.strangers() == 0);
  CHECK(other.expected() == 1);
}

}  // namespace
}  // namespace cordon::internal::testing
