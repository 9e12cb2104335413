// Unix sockets in the landlock tier: the command's own work, the host's are out of reach.

#include "unix_mediator.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "cordon/sdk/status.h"
#include "descriptor_testing.h"
#include "landlock_report.h"
#include "landlock_testing.h"
#include "observation_testing.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;

// A socket of the host that takes connections; an abstract name starts with '@'.
class HostSocket {
 public:
  explicit HostSocket(std::string path, int type = SOCK_STREAM)
      : fd_(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    if (path.starts_with('@')) path[0] = '\0';
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    if (type == SOCK_DGRAM) return;
    REQUIRE(listen(fd_.get(), 64) == 0);
  }
  // Since the last time that it was asked.
  [[nodiscard]] bool HasVisitor() const {
    pollfd ready = {fd_.get(), POLLIN, 0};
    if (poll(&ready, 1, 0) != 1) return false;
    while (UniqueFd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid()) continue;
    return true;
  }

 private:
  UniqueFd fd_;
};

// `tried(f, *a)`: the errno's name, or "done". `to(p)`: tries to connect a stream socket.
constexpr char kTried[] =
    "import ctypes, errno, os, signal, socket, struct, sys, tempfile, threading\n"
    "def tried(f, *a):\n"
    "  try: f(*a)\n"
    "  except OSError as e: return errno.errorcode.get(e.errno, str(e))\n"
    "  return 'done'\n"
    "def new(t=socket.SOCK_STREAM): return socket.socket(socket.AF_UNIX, t)\n"
    "def to(p, t=socket.SOCK_STREAM):\n"
    "  s = new(t); s.settimeout(10); return tried(s.connect, p)\n"
    "def serve(p, t=socket.SOCK_STREAM):\n"
    "  s = new(t); s.bind(p); s.listen(); return s\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def raw(s, b, n=None):\n"
    "  r = libc.connect(s.fileno(), b, len(b) if n is None else n)\n"
    "  return 'done' if r == 0 else errno.errorcode[ctypes.get_errno()]\n";

struct UnixFixture : OnHostFixture {
  UnixFixture() { config.additional_roots = {{readable.path(), Access::kAllow, Access::kDeny}}; }
  std::string Tried(const std::string& text) { return Python(kTried + text); }
  TemporaryFolder readable;
};

// What the same text prints in `folder` without any sandbox.
std::string TriedOutside(const std::string& folder, const std::string& text) {
  const TemporaryFolder programs;
  std::ofstream(programs / "program.py") << kTried << text;
  const std::string command = "cd '" + folder + "' && exec python3 '" + programs.path() +
                              "/program.py' >'" + programs.path() + "/said' 2>&1";
  CHECK(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c)
  std::ifstream file(programs / "said");
  std::string said{std::istreambuf_iterator<char>(file), {}};
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

#define NEED_UNIX_SOCKETS()                                                                \
  NEED_ON_HOST();                                                                          \
  if (const std::string why = WhyNoUnixSockets(Profile(), WhyNotMediated()); !why.empty()) \
  CORDON_SKIP("unix_sockets", why)

TEST_CASE("sockets that a command makes itself work, by path and abstract, as outside") {
  NEED_UNIX_SOCKETS();
  const DescriptorGuard guard;
  UnixFixture fixture;
  const std::string act =
      "def talk(server, to):\n"
      "  c = new(server.type); c.connect(to); a, _ = server.accept(); c.send(b'hello')\n"
      "  assert a.recv(9) == b'hello'; a.send(b'you'); return c.recv(9).decode()\n"
      "os.mkdir('d'); tmp = tempfile.mkdtemp()\n"
      "for t in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:\n"
      "  for p in 'own.sock', './d/s', os.path.abspath('d/t'), tmp + '/s', '\\0own-%d' % "
      "os.getpid():\n"
      "    s = serve(p, t); assert s.getsockname() in (p, p.encode()), s.getsockname()\n"
      "    print(talk(s, p), end=' ')\n"
      "    if p[0] != '\\0': print(tried(new(t).bind, p), end=' '); os.unlink(p)\n"
      "    s.close()\n"
      "s = new(); s.bind(''); s.listen(); print(talk(s, s.getsockname()))\n"  // autobind
      "s = serve('d/s'); os.chdir('d'); print(talk(s, 's')); os.rename('s', 'r')\n"
      "os.link('r', 'l'); os.symlink('l', 'y'); open('file', 'w'); f = os.open('.', os.O_RDONLY)\n"
      "print([talk(s, p) for p in ('r', 'l', 'y', '/proc/self/cwd/r', '/proc/self/fd/%d/l' % f)])\n"
      "sys.stdout.flush(); os.fork() or (print(talk(s, 'l')), sys.stdout.flush(), os._exit(0)); "
      "os.wait()\n"
      "print(tried(new().bind, 'r'), tried(s.bind, 'again'), to('none'), to('file'))\n"
      "s.close(); print(to('r'), to('\\0nobody-%d' % os.getpid()))\n";
  const std::string expected =
      "you EADDRINUSE you EADDRINUSE you EADDRINUSE you EADDRINUSE you "
      "you EADDRINUSE you EADDRINUSE you EADDRINUSE you EADDRINUSE you you\nyou\n"
      "['you', 'you', 'you', 'you', 'you']\nyou\n"
      "EADDRINUSE EINVAL ENOENT ECONNREFUSED\nECONNREFUSED ECONNREFUSED";
  const TemporaryFolder elsewhere;
  CHECK(TriedOutside(elsewhere.path(), act) == expected);
  CHECK(fixture.Tried(act) == expected);
}

TEST_CASE("sockets of the host are out of reach, whatever leads to them, and listed as refused") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  const std::string path = fixture.readable / "host.sock";
  const std::string near = fixture.workspace() + "/near.sock";
  const std::string name = "cordon-test-" + std::to_string(getpid());
  const HostSocket readable(path);
  const HostSocket inside(near);
  const HostSocket packets(fixture.readable / "packets.sock", SOCK_SEQPACKET);
  const HostSocket datagrams(fixture.readable / "datagrams.sock", SOCK_DGRAM);
  const HostSocket abstract("@" + name);
  const std::string act =
      "f = '" + fixture.readable.path() + "'; n = '" + name + "'\n" +
      "os.symlink(f + '/host.sock', 'link'); os.symlink(f, 'folder')\n"
      "d = os.open(f, os.O_RDONLY)\n"
      "for p in (f + '/host.sock', 'near.sock', 'link', 'folder/host.sock', "
      "'/proc/self/cwd/near.sock',\n"
      "    '/proc/self/root' + f + '/host.sock', '/proc/%d/root' % os.getpid() + f + "
      "'/host.sock',\n"
      "    '/proc/self/fd/%d/host.sock' % d, '/dev/fd/%d/host.sock' % d,\n"
      "    f + '/../' + os.path.basename(f) + '/host.sock'):\n"
      "  print(to(p), end=' ')\n"
      "print(to(f + '/packets.sock', socket.SOCK_SEQPACKET), to('\\0' + n))\n"
      "print(tried(os.rename, 'near.sock', 'own.sock'), to('own.sock'))\n"
      "os.rename('own.sock', 'near.sock')\n"
      "s = new(); print(tried(lambda: s.sendto(b'x', f + '/host.sock')),\n"
      "  tried(lambda: s.sendmsg([b'x'], [], 0, f + '/host.sock')),\n"
      "  tried(lambda: new(socket.SOCK_SEQPACKET).sendmsg([b'x'], [], 0, f + '/packets.sock')))\n";
  CHECK(fixture.Tried(act) ==
        "EACCES EACCES EACCES EACCES EACCES EACCES EACCES EACCES EACCES EACCES EACCES EPERM\n"
        "done EACCES\nENOTSUP ENOTSUP ENOTCONN");
  for (const HostSocket* socket : {&readable, &inside, &packets, &datagrams, &abstract}) {
    CHECK_FALSE(socket->HasVisitor());
  }
  const std::string ask = "print(to('" + path + "'), to('near.sock'), to('\\0" + name + "'))";
  // A command that lists what it was refused.
  const RunResult result = fixture.Shell("python3 -c '" +
                                         std::string("import socket\n"
                                                     "for p in \"") +
                                         path +
                                         "\", \"near.sock\":\n"
                                         "  socket.socket(socket.AF_UNIX).connect_ex(p)'");
  const Denial* const denial = FindDenial(result, "unix_socket", path);
  INFO(Shown(result));
  REQUIRE(denial != nullptr);
  CHECK(denial->allow_with == "--unix-socket " + path);
  CHECK(FindDenial(result, "unix_socket", near) != nullptr);
  CHECK(result.denials.size() == 2);
  // The control.
  CHECK(TriedOutside(fixture.workspace(), ask) == "done done done");
  CHECK(readable.HasVisitor());
  CHECK(inside.HasVisitor());
  CHECK(abstract.HasVisitor());
}

TEST_CASE("a listed socket of the host is reached, and none that takes its name") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  const TemporaryFolder hidden;
  const HostSocket listed(hidden / "listed.sock");
  const HostSocket beside(hidden / "beside.sock");
  const HostSocket here(fixture.workspace() + "/here.sock");
  const HostSocket other(fixture.workspace() + "/other.sock");
  fixture.config.unix_sockets = {hidden / "listed.sock", fixture.workspace() + "/here.sock",
                                 hidden / "missing.sock"};
  CHECK(fixture.Tried("h = '" + hidden.path() +
                      "/'\n"
                      "os.symlink(h + 'listed.sock', 'link')\n"
                      "print(to(h + 'listed.sock'), to('link'), to(h + 'beside.sock'), "
                      "to('here.sock'), to('other.sock'))\n") == "done done EACCES done EACCES");
  CHECK(listed.HasVisitor());
  CHECK(here.HasVisitor());
  CHECK_FALSE(beside.HasVisitor());
  CHECK(fixture.Tried("os.rename('other.sock', 'here.sock'); print(to('here.sock'))") == "EACCES");
  CHECK_FALSE(other.HasVisitor());
  const RunResult result = fixture.Shell("true");
  bool is_named = false;
  for (const ReportEntry& entry : result.report.entries) {
    is_named = is_named || entry.detail.find("missing.sock is not reachable") != std::string::npos;
  }
  CHECK(is_named);
}

TEST_CASE("an address that is none is refused as the kernel refuses it") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  const std::string act =
      "s = serve('s'); a = struct.pack('H', 1) + b's\\0'\n"
      "print([raw(new(), a + bytes(200), n) for n in (0, 1, 2, 111, 128, 129, 200, -1)])\n"
      "print([raw(new(), a, 3), raw(new(), a + bytes(106)), raw(new(), struct.pack('H', 0) + "
      "a[2:]), "
      "raw(new(), struct.pack('H', 2) + bytes(14)), raw(new(), struct.pack('H', 1) + b'x' * "
      "108)])\n"
      "print(raw(new(), ctypes.c_void_p(8), 10), libc.connect(99, a, 4), ctypes.get_errno(), "
      "libc.connect(0, a, 4), ctypes.get_errno() == errno.ENOTSOCK)\n"
      "c = new(); print(raw(c, a), raw(c, a), raw(c, struct.pack('H', 0)), raw(s, a))\n";
  const std::string expected =
      "['EINVAL', 'EINVAL', 'EINVAL', 'EINVAL', 'EINVAL', 'EINVAL', 'EINVAL', 'EINVAL']\n"
      "['done', 'done', 'EINVAL', 'EINVAL', 'ENOENT']\nEFAULT -1 9 -1 True\n"
      "done EISCONN EINVAL EINVAL";
  const TemporaryFolder elsewhere;
  CHECK(TriedOutside(elsewhere.path(), act + "").substr(0, 60) == expected.substr(0, 60));
  CHECK(fixture.Tried(act) == expected);
}

TEST_CASE("no datagram socket of unix can be made, and none of TCP listens or is bound") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  const std::string act =
      "def pair(t): return tried(lambda: socket.socketpair(socket.AF_UNIX, t))\n"
      "print(tried(new, socket.SOCK_DGRAM), tried(new, socket.SOCK_RAW), pair(socket.SOCK_DGRAM), "
      "pair(socket.SOCK_RAW), pair(socket.SOCK_STREAM), pair(socket.SOCK_SEQPACKET))\n"
      "t = socket.socket(); print(tried(t.listen), tried(t.bind, ('127.0.0.1', 0)))\n"
      "print(tried(os.dup2(t.fileno(), new().fileno()) and t.listen))\n";
  CHECK(fixture.Tried(act) == "EACCES EACCES EACCES EACCES done done\nEACCES EACCES\nEACCES");
  const TemporaryFolder elsewhere;
  CHECK(TriedOutside(elsewhere.path(), act) == "done done done done done done\ndone EINVAL\ndone");
}

TEST_CASE("a socket is made only where a file may be made") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  fs::create_directories(fs::path(fixture.workspace()) / ".git/hooks");
  fs::create_directories(fs::path(fixture.workspace()) / ".git/objects");
  fs::create_directory(fs::path(fixture.workspace()) / "src");
  std::ofstream(fixture.workspace() + "/.git/HEAD") << "ref: refs/heads/main\n";
  std::ofstream(fixture.workspace() + "/.git/config") << "\n";
  const std::string act = "f = '" + fixture.readable.path() +
                          "'\n"
                          "print([tried(new().bind, p) for p in ('src/x', '.git/hooks/x', "
                          "'.git/commondir', '.git/config',"
                          " f + '/x', '/tmp/cordon-test-x')])\n";
  CHECK(fixture.Tried(act) == "['done', 'EACCES', 'EACCES', 'EADDRINUSE', 'EACCES', 'EACCES']");
  CHECK_FALSE(Exists(fixture.workspace() + "/.git/hooks/x"));
  CHECK_FALSE(Exists(fixture.readable / "x"));
}

TEST_CASE("a link or an address that changes while a socket is connected leads to no other one") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  const HostSocket host(fixture.readable / "h");
  const std::string act =
      "f = '" + fixture.readable.path() +
      "'\n"
      "s = serve('own'); s.setblocking(False); open('file', 'w')\n"
      "os.symlink(f + '/h', 'theirs'); os.symlink('own', 'ours'); os.symlink('ours', 'way')\n"
      "def accept():\n"
      "  try:\n"
      "    while True: s.accept()[0].close()\n"
      "  except BlockingIOError: pass\n"
      "child = os.fork()\n"
      "if child == 0:\n"
      "  i = 0\n"
      "  while True:\n"
      "    i += 1; os.symlink(('theirs', 'ours')[i % 2], 'next'); os.rename('next', 'way')\n"
      "said = {}\n"
      "for i in range(1500):\n"
      "  r = to('way'); said[r] = said.get(r, 0) + 1; accept()\n"
      "os.kill(child, signal.SIGKILL); os.wait()\n"
      "print(sorted(said))\n"
      "import mmap\n"
      "m = mmap.mmap(-1, 4096); at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
      "def text(p): return struct.pack('H', 1) + p.encode() + bytes(108 - len(p))\n"
      "ours, theirs = text('own'), text(f + '/h'); ctypes.memmove(at, ours, 110)\n"
      "child = os.fork()\n"
      "if child == 0:\n"
      "  while True: ctypes.memmove(at, theirs, 110); ctypes.memmove(at, ours, 110)\n"
      "said = set()\n"
      "for i in range(3000):\n"
      "  c = new(); said.add(raw(c, ctypes.c_void_p(at), 110)); c.close(); accept()\n"
      "os.kill(child, signal.SIGKILL); os.wait()\n"
      "print('done' in said, 'EACCES' in said)\n";
  CHECK(fixture.Tried(act) == "['EACCES', 'done']\nTrue True");
  CHECK_FALSE(host.HasVisitor());
}

TEST_CASE("a descriptor that changes while its socket is connected leads nowhere else") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  const HostSocket host(fixture.readable / "h");
  const std::string act =
      "f = '" + fixture.readable.path() +
      "'\n"
      "a = struct.pack('H', 1) + f.encode() + b'/h\\0'; stop = False\n"
      "t = socket.socket(); u = new(); n = os.dup(t.fileno())\n"
      "def flip():\n"
      "  while not stop: os.dup2(u.fileno(), n); os.dup2(t.fileno(), n)\n"
      "w = threading.Thread(target=flip); w.start(); said = set()\n"
      "for i in range(3000):\n"
      "  r = libc.connect(n, a, len(a)); said.add((r, errno.errorcode[ctypes.get_errno()]))\n"
      "stop = True; w.join(); print(said)\n";
  CHECK(fixture.Tried(act) == "{(-1, 'EACCES')}");
  CHECK_FALSE(host.HasVisitor());
}

TEST_CASE("a listener that takes nobody holds up whoever connects to it, and nobody else") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  const std::string act =
      "s = new(); s.bind('full'); s.listen(0); held = [new()]; held[0].connect('full')\n"
      "n = new(); n.setblocking(False); print(tried(n.connect, 'full'))\n"
      "t = new(); t.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('qq', 0, "
      "50000))\n"
      "print(tried(t.connect, 'full'))\n"
      "b = new(); w = threading.Thread(target=lambda: b.connect('full')); w.start()\n"
      "o = serve('other'); print(to('other'), w.is_alive())\n"
      "s.accept(); w.join(); print(b.getpeername())\n";
  const TemporaryFolder elsewhere;
  CHECK(TriedOutside(elsewhere.path(), act) == "EAGAIN\nEAGAIN\ndone True\nfull");
  CHECK(fixture.Tried(act) == "EAGAIN\nEAGAIN\ndone True\nfull");
  // Who waits is ended like everybody else, and leaves nobody waiting here.
  const HostSocket host(fixture.readable / "h");
  fixture.DropSet();
  fixture.config.unix_sockets = {fixture.readable / "h"};
  RunOptions options;
  options.timeout = std::chrono::milliseconds(1500);
  const absl::StatusOr<RunResult> result = fixture.executor()->RunArgv(
      fixture.workspace(),
      {"python3", "-c",
       std::string(kTried) + "held = []\nwhile True:\n  s = new(); s.connect('" +
           (fixture.readable / "h") + "'); held.append(s)\n"},
      options);
  REQUIRE(result.ok());
  CHECK(result->outcome.kind == Outcome::Kind::kTimedOut);
  CHECK(fixture.Tried("print(1)") == "1");
}

TEST_CASE("what a former command left behind leads to nobody") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  CHECK(fixture.Tried("s = serve('left'); print(to('left'))") == "done");
  CHECK(
      fixture.Tried("print(to('left')); os.unlink('left'); s = serve('left'); print(to('left'))") ==
      "ECONNREFUSED\ndone");
}

TEST_CASE("a process of another command of the same program is no own one") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  std::ofstream(fixture.workspace() + "/server.py")
      << kTried << "s = serve('one'); a = serve('\\0cordon-test-one')\n"
      << "print('ready', flush=True); sys.stdin.read(); s.setblocking(False)\n"
      << "print(tried(s.accept), to('one'), to('\\0cordon-test-one'), flush=True)\n";
  ProcessOptions options;
  options.standard_input.kind = StreamOption::Kind::kPipe;
  absl::StatusOr<std::unique_ptr<PreparedProcess>> prepared = fixture.executor()->PrepareProcess(
      Command::Argv({"python3", "server.py"}, fixture.workspace()), options);
  REQUIRE(prepared.ok());
  absl::StatusOr<std::unique_ptr<Process>> process = (*prepared)->Start();
  REQUIRE(process.ok());
  const UniqueFd output = (*process)->TakeStandardOutput();
  REQUIRE(ReadUntil(output.get(), "ready\n"));
  CHECK(fixture.Tried("print(to('one'), to('\\0cordon-test-one'))") == "EACCES EPERM");
  (*process)->TakeStandardInput().Reset();
  CHECK(ReadUntil(output.get(), "EAGAIN done done\n"));
}

TEST_CASE("a peer sees the supervisor's process, which it can do nothing to") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  const std::string act =
      "s = serve('s'); c = new(); c.connect('s'); a, _ = s.accept()\n"
      "p, u, g = struct.unpack('3i', a.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))\n"
      "print(u == os.getuid(), tried(os.kill, p, 0), tried(os.kill, p, signal.SIGTERM))\n"
      "f = struct.unpack('i', a.getsockopt(socket.SOL_SOCKET, 77, 4))[0]\n"  // SO_PEERPIDFD
      "print(tried(signal.pidfd_send_signal, f, 0))\n"
      "a.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1); c.send(b'x')\n"
      "d, m, _, _ = a.recvmsg(9, 99); print(struct.unpack('3i', m[0][2])[0] == os.getpid())\n";
  CHECK(fixture.Tried(act) == "True EPERM EPERM\nEPERM\nTrue");
}

TEST_CASE("programs that talk over unix sockets work in the landlock tier") {
  NEED_UNIX_SOCKETS();
  UnixFixture fixture;
  CHECK(fixture.Tried("from multiprocessing.connection import Client, Listener\n"
                      "l = Listener('l.sock', family='AF_UNIX', authkey=b'k')\n"
                      "if os.fork() == 0:\n"
                      "  c = Client(l.address, authkey=b'k'); c.send([1]); os._exit(0)\n"
                      "print(l.accept().recv()); os.wait()\n") == "[1]");
  CHECK(
      fixture.Tried("import asyncio\n"
                    "async def main():\n"
                    "  async def serve(r, w): w.write((await r.readline()).upper()); w.close()\n"
                    "  s = await asyncio.start_unix_server(serve, 'a.sock')\n"
                    "  r, w = await asyncio.open_unix_connection('a.sock'); w.write(b'hello\\n')\n"
                    "  print((await r.read()).decode().strip())\n"
                    "asyncio.run(main())\n") == "HELLO");
}

}  // namespace
}  // namespace cordon::internal::testing
