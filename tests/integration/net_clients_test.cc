// Ordinary clients reach a granted name and know nothing about it: no variable, no setting but whom
// to trust. A name that is not granted fails in each without a wait. In both tiers.

#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "integration/support/net_servers.h"
#include "integration/support/real_server.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;

#define NEEDS(program)                           \
  if (access("/usr/bin/" program, X_OK) != 0) {  \
    CORDON_SKIP(program, "it is not installed"); \
  }                                              \
  static_assert(true)

#define NEEDS_SERVERS() \
  NEEDS("python3");     \
  NEEDS("openssl")

TEST_CASE("curl over HTTP and TLS, without a variable that names a proxy") {
  NEEDS_SERVERS();
  NEEDS("curl");
  const Ground ground;
  const NetServers servers(ground);
  servers.ExpectReached(ground, "curl -sf4 -m 9 http://HOST/file | grep -qx text");
  servers.ExpectReached(ground, "curl -sf -m 9 --cacert ca.pem https://HOST/file | grep -qx text");
  ExpectAllowed(ground, servers.policy(), "env | grep -i _proxy && exit 1; exit 0");
}

TEST_CASE("curl over IPv6 to an address that was granted") {
  NEEDS_SERVERS();
  NEEDS("curl");
  const Ground ground;
  const NetServers servers(ground);
  Words policy = servers.policy();
  const std::string web = policy.at(3).substr(policy.at(3).find('=') + 1);
  policy.insert(policy.end(),
                {"--net", "[2001:db8::7]:80", "--resolve", "[2001:db8::7]:80=" + web});
  ExpectAllowed(ground, policy, "curl -gsf6 -m 9 'http://[2001:db8::7]/file' | grep -qx text");
  const CordonRun refused =
      RunText(ground, policy, "curl -gs6 -m 9 'http://[2001:db8::8]/file' || echo failed");
  Expect(refused).Status(0).OutIs("failed\n").Below(std::chrono::seconds(5));
}

TEST_CASE("curl over HTTP/2") {
  NEEDS_SERVERS();
  NEEDS("curl");
  NEEDS("node");
  const Ground ground;
  const NetServers servers(ground);
  if (ground.RunUnconfined("curl --version | grep -q HTTP2").status != 0) {
    CORDON_SKIP("curl", "it has no HTTP/2");
  }
  ground.MakeFile("h2.js", R"js(
const server = require('http2').createSecureServer(
    {key: require('fs').readFileSync('key.pem'), cert: require('fs').readFileSync('ca.pem')},
    (request, response) => response.end('text\n'));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
)js");
  ChildOptions options;
  options.directory = ground.workspace();
  options.environment = ground.environment();
  Child program({"/usr/bin/node", "h2.js"}, options);
  std::string port;
  REQUIRE(program.ReadLine(port, std::chrono::seconds(15)));
  Words policy = {"--net", "granted.test:8443", "--resolve", "granted.test:8443=127.0.0.1:" + port};
  ExpectAllowed(ground, policy,
                "test \"$(curl -sf --http2 -m 9 --cacert ca.pem -w '%{http_version}' "
                "https://granted.test:8443/)\" = \"$(printf 'text\\n2')\"");
}

TEST_CASE("wget") {
  NEEDS_SERVERS();
  NEEDS("wget");
  const Ground ground;
  const NetServers servers(ground);
  servers.ExpectReached(ground, "wget -q -T 9 -t 1 -O - http://HOST/file | grep -qx text");
  servers.ExpectReached(ground,
                        "wget -q -T 9 -t 1 --ca-certificate=ca.pem -O - https://HOST/file | "
                        "grep -qx text");
}

// A bare repository with one commit in `site/r.git`.
void MakeRepository(const Ground& ground) {
  REQUIRE(
      ground
          .RunUnconfined("git init -q -b main r && git -C r -c user.name=a -c user.email=a@b "
                         "commit -q --allow-empty -m one && git clone -q --bare r site/r.git && "
                         "git -C site/r.git update-server-info")
          .status == 0);
}

constexpr char kCloneByHttps[] =
    "GIT_SSL_CAINFO=$PWD/ca.pem git clone -q https://HOST/r.git $TMPDIR/copy && "
    "git -C $TMPDIR/copy log --oneline | grep -q one";

TEST_CASE("git clones over HTTPS") {
  NEEDS_SERVERS();
  NEEDS("git");
  const Ground ground;
  const NetServers servers(ground);
  MakeRepository(ground);
  servers.ExpectReached(ground, kCloneByHttps);
}

TEST_CASE("git clones over ssh") {
  NEEDS_SERVERS();
  NEEDS("git");
  NEEDS("ssh");
  if (access("/usr/sbin/sshd", X_OK) != 0) CORDON_SKIP("sshd", "it is not installed");
  const passwd* const user = getpwuid(getuid());
  if (user == nullptr || std::string(user->pw_shell).find("nologin") != std::string::npos) {
    CORDON_SKIP("sshd", "this user may not log in");
  }
  if (getuid() == 0 && access("/run/sshd", X_OK) != 0) CORDON_SKIP("sshd", "/run/sshd is missing");
  const Ground ground;
  const NetServers servers(ground);
  MakeRepository(ground);
  const std::string workspace = ground.workspace();
  ground.MakeFile("sshd.conf", "HostKey " + workspace + "/host_key\nAuthorizedKeysFile " +
                                   workspace + "/client_key.pub\nStrictModes no\nUsePAM no\n");
  REQUIRE(ground
              .RunUnconfined("ssh-keygen -q -t ed25519 -N '' -f host_key && "
                             "ssh-keygen -q -t ed25519 -N '' -f client_key")
              .status == 0);
  const std::string git =
      "GIT_SSH_COMMAND='ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no "
      "-o UserKnownHostsFile=/dev/null -i client_key' git ";
  servers.ExpectReached(ground, git + "clone -q ssh://" + user->pw_name + "@HOST" + workspace +
                                    "/site/r.git $TMPDIR/copy && git -C $TMPDIR/copy log "
                                    "--oneline | grep -q one");
}

TEST_CASE("Python, with its own resolver calls and its event loop") {
  NEEDS_SERVERS();
  const Ground ground;
  const NetServers servers(ground);
  servers.ExpectReached(ground, R"(python3 -c "
import asyncio, socket, ssl, urllib.request as u
c = ssl.create_default_context(cafile='ca.pem')
assert u.urlopen('https://HOST/file', timeout=9, context=c).read() == b'text\n'
async def main():
    r, w = await asyncio.open_connection('HOST', 7000, happy_eyeballs_delay=0.2)
    w.write(b'ping'); assert await r.readexactly(4) == b'ping'; w.write_eof(); assert await r.read() == b''
asyncio.run(main())
socket.getaddrinfo('HOST', 80, socket.AF_INET, 0, 0, socket.AI_ADDRCONFIG)
")");
}

TEST_CASE("node's fetch and its own resolver") {
  NEEDS_SERVERS();
  NEEDS("node");
  const Ground ground;
  const NetServers servers(ground);
  servers.ExpectReached(ground, R"js(NODE_EXTRA_CA_CERTS=ca.pem node -e "
const dns = require('dns').promises;
(async () => {
  if ((await (await fetch('https://HOST/file')).text()) !== 'text\n') process.exit(1);
  if ((await dns.resolve4('HOST')).length !== 1) process.exit(2);
})().catch(e => { console.error(e); process.exit(3); })")js");
}

// Of a package "tiny".
void MakeRegistry(const Ground& ground) {
  REQUIRE(ground
              .RunUnconfined(R"sh(mkdir -p site/npm package project
echo '{"name":"tiny","version":"1.0.0"}' >package/package.json
echo '{}' >project/package.json
tar czf site/tiny.tgz package
printf '{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0","dist":{"tarball":"https://granted.test/tiny.tgz","shasum":"%s"}}}}' \
  "$(sha1sum site/tiny.tgz | cut -d' ' -f1)" >site/npm/tiny)sh")
              .status == 0);
}

// Its own retries take a minute, whatever it is told.
constexpr char kNpmInstall[] =
    "cp -r project $TMPDIR/p && cd $TMPDIR/p && npm install --cafile $OLDPWD/ca.pem "
    "--no-audit --no-fund --no-update-notifier --fetch-retries=0 --registry https://HOST/npm/ "
    "tiny && test -f node_modules/tiny/package.json";

TEST_CASE("npm installs from a registry") {
  NEEDS_SERVERS();
  NEEDS("npm");
  const Ground ground;
  const NetServers servers(ground);
  MakeRegistry(ground);
  servers.ExpectReached(ground, kNpmInstall);
}

// Of a package "tiny".
void MakeIndex(const Ground& ground) {
  ground.MakeFile("wheel.py", R"(import os, zipfile
os.makedirs('site/simple/tiny')
with zipfile.ZipFile('site/tiny-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('tiny.py', 'text = 1\n')
    info = 'tiny-1.0.dist-info/'
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    wheel.writestr(info + 'RECORD', ''.join(info + n + ',,\n' for n in ('METADATA', 'WHEEL', 'RECORD')) + 'tiny.py,,\n')
open('site/simple/tiny/index.html', 'w').write('<a href="../../tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>')
)");
  REQUIRE(ground.RunUnconfined("/usr/bin/python3 wheel.py").status == 0);
}

constexpr char kPipInstall[] =
    "/usr/bin/pip3 install -q --no-cache-dir --disable-pip-version-check "
    "--retries 0 --cert ca.pem --index-url https://HOST/simple/ "
    "--target $TMPDIR/t tiny && test -f $TMPDIR/t/tiny.py";

TEST_CASE("pip installs from an index") {
  NEEDS_SERVERS();
  NEEDS("pip3");
  const Ground ground;
  const NetServers servers(ground);
  MakeIndex(ground);
  servers.ExpectReached(ground, kPipInstall);
}

TEST_CASE("Java's HttpClient") {
  NEEDS_SERVERS();
  NEEDS("java");
  NEEDS("keytool");
  const Ground ground;
  const NetServers servers(ground);
  ground.MakeFile("Fetch.java", R"(import java.net.URI;
import java.net.http.*;
public class Fetch {
  public static void main(String[] arguments) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
    System.out.print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
  }
}
)");
  if (ground
          .RunUnconfined("keytool -importcert -noprompt -alias a -file ca.pem -keystore trust.p12 "
                         "-storetype PKCS12 -storepass changeit && javac Fetch.java")
          .status != 0) {
    CORDON_SKIP("java", "it cannot compile");
  }
  servers.ExpectReached(ground,
                        "java -Djavax.net.ssl.trustStore=trust.p12 "
                        "-Djavax.net.ssl.trustStorePassword=changeit -cp . Fetch "
                        "https://HOST/file | grep -qx text");
}

TEST_CASE("apt-get updates from a repository and downloads a package of it") {
  NEEDS_SERVERS();
  NEEDS("apt-get");
  const Ground ground;
  const NetServers servers(ground);
  REQUIRE(ground
              .RunUnconfined(R"sh(mkdir -p site/apt d/DEBIAN && cd d && chmod 755 DEBIAN
printf 'Package: tiny\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' >DEBIAN/control
cd .. && dpkg-deb -Zgzip --build d site/apt/tiny_1_all.deb >/dev/null &&
(cat d/DEBIAN/control; printf 'Filename: ./tiny_1_all.deb\nSize: %s\nSHA256: %s\n' \
  "$(stat -c %s site/apt/tiny_1_all.deb)" "$(sha256sum site/apt/tiny_1_all.deb | cut -d' ' -f1)") >site/apt/Packages)sh")
              .status == 0);
  // apt-get ends with 0 when an index is missing; what it cannot hide is that the package is.
  servers.ExpectReached(ground,
                        R"(d=$TMPDIR/apt; mkdir -p $d/state/lists/partial $d/cache/archives/partial
cd $d && : >status && echo 'deb [trusted=yes] http://HOST/apt ./' >list &&
apt_get() { apt-get -q -o Dir::State=$d/state -o Dir::State::status=$d/status -o Dir::Cache=$d/cache \
  -o Dir::Etc::SourceList=$d/list -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=root \
  -o Acquire::Languages=none -o Acquire::Retries=0 -o Debug::NoLocking=1 "$@"; }
apt_get update && apt_get download tiny && test -s tiny_1_all.deb)");
}

TEST_CASE("psql") {
  NEEDS_SERVERS();
  NEEDS("psql");
  const Ground ground;
  const NetServers servers(ground);
  servers.ExpectReached(ground,
                        "psql -XAtc 'select 1' 'host=HOST user=u dbname=d sslmode=disable' "
                        "</dev/null | grep -qx text");
}

// Debian keeps the server's programs of each version in a folder of its own.
std::string PostgresPrograms() {
  std::error_code error;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    const std::string programs = version.path().string() + "/bin";
    if (access((programs + "/initdb").c_str(), X_OK) == 0) return programs;
  }
  return "";
}

TEST_CASE("psql works with a real PostgreSQL server") {
  NEEDS("psql");
  const std::string programs = PostgresPrograms();
  if (programs.empty()) CORDON_SKIP("postgresql", "its server is not installed");
  const Ground ground;
  const RealServer server(
      ground,
      "PATH=" + programs +
          ":$PATH; initdb -D \"$DATA/d\" -U u -A trust -E UTF8 --locale=C -N >/dev/null && "
          "exec postgres -D \"$DATA/d\" -p \"$PORT\" -h 127.0.0.1 -k '' -c fsync=off",
      "ready to accept connections");
  const Words policy = server.PolicyFor(5432);
  ExpectOnlyGrantedReached(ground, policy,
                           "psql -XAtc 'select 40 + 2' 'host=HOST user=u dbname=postgres' "
                           "</dev/null | grep -qx 42");
  // More than fits in any buffer on the way, in both directions.
  ExpectAllowed(ground, policy,
                "export PGHOST=granted.test PGUSER=u PGDATABASE=postgres; seq 300000 >rows && "
                "psql -Xqc 'create table t (n int)' && psql -Xqc '\\copy t from rows' && "
                "psql -XAtqc '\\copy (select n from t order by n) to back' && cmp rows back");
  // It listens and tells a waiting client, who sends nothing meanwhile.
  ExpectAllowed(ground, policy,
                "export PGHOST=granted.test PGUSER=u PGDATABASE=postgres; "
                "psql -XAt -c 'listen a' -c \"notify a, 'told'\" -c 'select pg_sleep(0.2)' | "
                "grep -q told");
}

TEST_CASE("redis-cli works with a real Redis server") {
  NEEDS("redis-cli");
  NEEDS("redis-server");
  const Ground ground;
  const RealServer server(ground,
                          "exec redis-server --port \"$PORT\" --bind 127.0.0.1 --dir \"$DATA\" "
                          "--save '' --appendonly no --daemonize no",
                          "eady to accept connections");
  const Words policy = server.PolicyFor(6379);
  ExpectOnlyGrantedReached(ground, policy, "redis-cli -h HOST ping | grep -qx PONG");
  ExpectAllowed(ground, policy,
                "r='redis-cli -h granted.test'; head -c 3000000 /dev/urandom | base64 -w0 >v && "
                "$r -x set key <v | grep -qx OK && $r get key | tr -d '\\n' | cmp - v && "
                "test \"$($r -r 50 incr n | tail -1)\" = 50");
}

TEST_CASE("redis-cli") {
  NEEDS_SERVERS();
  NEEDS("redis-cli");
  const Ground ground;
  const NetServers servers(ground);
  servers.ExpectReached(ground, "redis-cli -h HOST ping | grep -qx PONG");
}

TEST_CASE("openssl, a bare socket of bash, and a resolver over TCP") {
  NEEDS_SERVERS();
  NEEDS("bash");
  const Ground ground;
  const NetServers servers(ground);
  servers.ExpectReached(
      ground,
      "printf 'GET /file HTTP/1.0\\r\\nHost: HOST\\r\\n\\r\\n' | timeout 9 openssl s_client -quiet "
      "-connect HOST:443 -servername HOST -CAfile ca.pem -verify_return_error 2>/dev/null | "
      "grep -q text");
  servers.ExpectReached(ground,
                        "timeout 9 bash -c 'exec 3<>/dev/tcp/HOST/7000 && echo ping >&3 && read -r "
                        "line <&3 && test \"$line\" = ping'");
  servers.ExpectReached(ground,
                        "RES_OPTIONS=use-vc timeout 9 getent ahostsv4 HOST | grep -q 198.18");
}

}  // namespace
}  // namespace cordon::test
