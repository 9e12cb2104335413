#include "integration/support/net_servers.h"

#include <chrono>
#include <string>
#include <vector>

#include "support/catch.h"

namespace cordon::test {
namespace {

constexpr const char* kProgram =
    R"(import http.server, os, socketserver, ssl, struct, subprocess, threading
class Quiet(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *a): super().__init__(*a, directory='site')
    def log_message(self, *a): pass
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while part := self.request.recv(65536): self.request.sendall(part)
def message(kind, body): return kind + struct.pack('!i', len(body) + 4) + body
class Postgres(socketserver.StreamRequestHandler):
    def body(self):
        return self.rfile.read(struct.unpack('!i', self.rfile.read(4))[0] - 4)
    def handle(self):
        while struct.unpack('!i', self.body()[:4])[0] in (80877103, 80877104): self.wfile.write(b'N')
        ready = message(b'Z', b'I')
        self.wfile.write(message(b'R', struct.pack('!i', 0)) + message(b'S', b'server_version\0' + b'15.0\0') + ready)
        column = b'a\0' + struct.pack('!ihihih', 0, 0, 25, -1, -1, 0)
        answer = message(b'T', struct.pack('!h', 1) + column) + message(b'D', struct.pack('!hi', 1, 4) + b'text')
        while self.rfile.read(1) == b'Q':
            self.body()
            self.wfile.write(answer + message(b'C', b'SELECT 1\0') + ready)
class Redis(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(size + 2)[:-2].upper())
            self.wfile.write(b'+PONG\r\n' if words[0] == b'PING' else b'-ERR unknown\r\n')
class Ssh(socketserver.BaseRequestHandler):
    def handle(self):
        subprocess.run(['/usr/sbin/sshd', '-i', '-f', 'sshd.conf'], stdin=self.request, stdout=self.request,
                       stderr=subprocess.DEVNULL)
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
web = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet)
tls = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('ca.pem', 'key.pem')
tls.socket = context.wrap_socket(tls.socket, server_side=True)
all = [web, tls] + [Server(('127.0.0.1', 0), kind) for kind in (Echo, Postgres, Redis, Ssh)]
for s in all: threading.Thread(target=s.serve_forever, daemon=True).start()
for s in all: print(s.server_address[1], flush=True)
threading.Event().wait()
)";

constexpr const char* kPrepare =
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
    "-subj /CN=granted.test -addext subjectAltName=DNS:granted.test -keyout key.pem -out ca.pem "
    "2>/dev/null && mkdir site && echo text >site/file";

std::string WithHost(std::string_view act, std::string_view host) {
  std::string text(act);
  for (std::size_t at = 0; (at = text.find("HOST", at)) != std::string::npos; at += host.size()) {
    text.replace(at, 4, host);
  }
  return text;
}

}  // namespace

NetServers::NetServers(const Ground& ground) {
  REQUIRE(ground.RunUnconfined(kPrepare).status == 0);
  ground.MakeFile("servers.py", kProgram);
  ChildOptions options;
  options.directory = ground.workspace();
  options.environment = ground.environment();
  program_ =
      std::make_unique<Child>(std::vector<std::string>{"/usr/bin/python3", "servers.py"}, options);
  for (const char* port : {"80", "443", "7000", "5432", "6379", "22"}) {
    std::string number;
    REQUIRE(program_->ReadLine(number, std::chrono::seconds(15)));
    const std::string target = std::string("granted.test:") + port;
    policy_.insert(policy_.end(), {"--net", target, "--resolve", target + "=127.0.0.1:" + number});
  }
}

void NetServers::ExpectReached(const Ground& ground, std::string_view act, int line) const {
  ExpectOnlyGrantedReached(ground, policy_, act, line);
  Words on_host = policy_;
  on_host.insert(on_host.end(), {"--backend", "landlock"});
  // Where the host can lead connections there.
  if (RunText(ground, on_host, "true").status != 0) return;
  ExpectOnlyGrantedReached(ground, on_host, act, line);
}

void ExpectOnlyGrantedReached(const Ground& ground, const Words& policy, std::string_view act,
                              int line) {
  const CordonRun allowed = ExpectAllowed(ground, policy, WithHost(act, "granted.test"), line);
  const CordonRun refused = RunText(
      ground, policy,
      "(" + WithHost(act, "refused.test") + ") >/dev/null 2>&1 && echo reached || echo failed");
  // Twice the time, since other programs use the processors too.
  Expect(refused)
      .Status(0)
      .OutIs("failed\n")
      .Err("refused.test")
      .Below(2 * allowed.elapsed + std::chrono::seconds(1));
}

}  // namespace cordon::test
