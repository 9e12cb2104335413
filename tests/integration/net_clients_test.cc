// Ordinary clients reach a granted name and know nothing about it: no variable, no setting.

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "integration/support/cordon_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

// Servers on this host's loopback, made by one Python program for as long as this lives: `web` is
// HTTP over the workspace's folder `site`, `tls` the same behind TLS for `granted.test`, `echo`
// says back what it gets.
class Servers {
 public:
  explicit Servers(const Ground& ground) {
    REQUIRE(ground
                .RunUnconfined(
                    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                    "-days 2 -subj /CN=granted.test -addext subjectAltName=DNS:granted.test "
                    "-keyout key.pem -out ca.pem 2>/dev/null && mkdir site && echo text >site/file")
                .status == 0);
    ground.MakeFile("servers.py", R"(import http.server, socketserver, ssl, threading
class Quiet(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *a): super().__init__(*a, directory='site')
    def log_message(self, *a): pass
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while part := self.request.recv(65536): self.request.sendall(part)
web = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet)
tls = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('ca.pem', 'key.pem')
tls.socket = context.wrap_socket(tls.socket, server_side=True)
echo = socketserver.ThreadingTCPServer(('127.0.0.1', 0), Echo)
for s in web, tls, echo: threading.Thread(target=s.serve_forever, daemon=True).start()
print(web.server_address[1], flush=True)
print(tls.server_address[1], flush=True)
print(echo.server_address[1], flush=True)
threading.Event().wait()
)");
    ChildOptions options;
    options.directory = ground.workspace();
    options.environment = ground.environment();
    program_ = std::make_unique<Child>(std::vector<std::string>{"/usr/bin/python3", "servers.py"},
                                       options);
    for (const char* port : {"80", "443", "7000"}) {
      std::string number;
      REQUIRE(program_->ReadLine(number, std::chrono::seconds(15)));
      const std::string target = std::string("granted.test:") + port;
      policy_.insert(policy_.end(),
                     {"--net", target, "--resolve", target + "=127.0.0.1:" + number});
    }
  }

  [[nodiscard]] const Words& policy() const { return policy_; }

 private:
  std::unique_ptr<Child> program_;
  Words policy_;
};

#define NEEDS(program)                           \
  if (access("/usr/bin/" program, X_OK) != 0) {  \
    CORDON_SKIP(program, "it is not installed"); \
  }                                              \
  static_assert(true)

#define NEEDS_SERVERS() \
  NEEDS("python3");     \
  NEEDS("openssl")

TEST_CASE("curl over HTTP, TLS and HTTP/2's offer") {
  NEEDS_SERVERS();
  NEEDS("curl");
  const Ground ground;
  const Servers servers(ground);
  for (const char* act :
       {"curl -sf4 -m 9 http://granted.test/file | grep -qx text",
        "curl -sf -m 9 --cacert ca.pem https://granted.test/file | grep -qx text",
        "curl -sf --http2 -m 9 --cacert ca.pem https://granted.test/file | grep -qx text",
        "env | grep -i _proxy && exit 1; exit 0"}) {
    ExpectAllowed(ground, servers.policy(), act);
  }
}

TEST_CASE("wget") {
  NEEDS_SERVERS();
  NEEDS("wget");
  const Ground ground;
  const Servers servers(ground);
  ExpectAllowed(ground, servers.policy(),
                "wget -q -T 9 -t 1 -O - http://granted.test/file | grep -qx text");
  ExpectAllowed(ground, servers.policy(),
                "wget -q -T 9 -t 1 --ca-certificate=ca.pem -O - https://granted.test/file | "
                "grep -qx text");
}

TEST_CASE("git clones over HTTPS") {
  NEEDS_SERVERS();
  NEEDS("git");
  const Ground ground;
  const Servers servers(ground);
  REQUIRE(
      ground
          .RunUnconfined("git init -q -b main r && git -C r -c user.name=a -c user.email=a@b "
                         "commit -q --allow-empty -m one && git clone -q --bare r site/r.git && "
                         "git -C site/r.git update-server-info")
          .status == 0);
  ExpectAllowed(
      ground, servers.policy(),
      "GIT_SSL_CAINFO=$PWD/ca.pem git clone -q https://granted.test/r.git $TMPDIR/copy && "
      "git -C $TMPDIR/copy log --oneline | grep -q one");
}

TEST_CASE("Python, with its own resolver calls and its event loop") {
  NEEDS_SERVERS();
  const Ground ground;
  const Servers servers(ground);
  ExpectAllowed(ground, servers.policy(), R"(python3 -c "
import asyncio, socket, ssl, urllib.request as u
c = ssl.create_default_context(cafile='ca.pem')
assert u.urlopen('https://granted.test/file', timeout=9, context=c).read() == b'text\n'
async def main():
    r, w = await asyncio.open_connection('granted.test', 7000, happy_eyeballs_delay=0.2)
    w.write(b'ping'); assert await r.readexactly(4) == b'ping'; w.write_eof(); assert await r.read() == b''
asyncio.run(main())
socket.getaddrinfo('granted.test', 80, socket.AF_INET, 0, 0, socket.AI_ADDRCONFIG)
")");
}

TEST_CASE("node's fetch and its own resolver") {
  NEEDS_SERVERS();
  NEEDS("node");
  const Ground ground;
  const Servers servers(ground);
  ExpectAllowed(ground, servers.policy(), R"js(NODE_EXTRA_CA_CERTS=ca.pem node -e "
const dns = require('dns').promises;
(async () => {
  if ((await (await fetch('https://granted.test/file')).text()) !== 'text\n') process.exit(1);
  if ((await dns.resolve4('granted.test')).length !== 1) process.exit(2);
})().catch(e => { console.error(e); process.exit(3); })")js");
}

TEST_CASE("openssl, a bare socket of bash, and a resolver over TCP") {
  NEEDS_SERVERS();
  NEEDS("bash");
  const Ground ground;
  const Servers servers(ground);
  ExpectAllowed(
      ground, servers.policy(),
      "printf 'GET /file HTTP/1.0\\r\\nHost: granted.test\\r\\n\\r\\n' | timeout 9 openssl "
      "s_client -quiet -connect granted.test:443 -servername granted.test -CAfile ca.pem "
      "2>/dev/null | grep -q text");
  ExpectAllowed(ground, servers.policy(),
                "timeout 9 bash -c 'exec 3<>/dev/tcp/granted.test/7000 && echo ping >&3 && read -r "
                "line <&3 && test \"$line\" = ping'");
  ExpectAllowed(ground, servers.policy(),
                "RES_OPTIONS=use-vc timeout 9 getent ahostsv4 granted.test | grep -q 198.18");
}

TEST_CASE("an ungranted name fails in each client within a few seconds") {
  NEEDS_SERVERS();
  const Ground ground;
  const Servers servers(ground);
  for (const char* act :
       {"curl -s http://refused.test/", "wget -q -t 1 -O - http://refused.test/",
        "git ls-remote https://refused.test/r.git", "getent hosts refused.test",
        "python3 -c 'import urllib.request as u; u.urlopen(\"http://refused.test/\")'",
        "node -e 'fetch(\"http://refused.test/\").catch(() => process.exit(1))'"}) {
    INFO(act);
    const CordonRun run =
        RunText(ground, servers.policy(), std::string(act) + " 2>/dev/null || echo failed");
    Expect(run).Status(0).OutIs("failed\n").Err("refused.test").Below(std::chrono::seconds(10));
  }
}

}  // namespace
}  // namespace cordon::test
