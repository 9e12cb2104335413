// What --net, --resolve, --host-port and --publish open, and what is said about the rest.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "cordon/sdk/unique_fd.h"
#include "integration/support/cordon_run.h"
#include "integration/support/listener.h"
#include "integration/support/mcp_client.h"
#include "integration/support/net_grants.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

constexpr char kFetch[] = "curl -sf -m 8 http://granted.test/ | grep -q greetings-from-the-host";

// A port of this host's loopback that nobody else is given while this lives; somebody listens at it
// when `listening`.
struct Port {
  explicit Port(bool listening) {
    socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    number = std::to_string(ntohs(address.sin_port));
    if (listening) {
      REQUIRE(listen(socket.get(), 1) == 0);
    } else {
      // Nobody else is given it, but who binds it with SO_REUSEADDR, too, can listen.
      const int on = 1;
      REQUIRE(setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    }
  }
  UniqueFd socket;
  std::string number;
};

TEST_CASE("a granted name is reached, and neither another port nor another name nor its address") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const Words policy = Granting("granted.test:80", server);
  ExpectAllowed(ground, policy, kFetch);
  CHECK(server.contacts() == 1);
  for (const char* url :
       {"http://granted.test:81/", "http://other.test/", "http://sub.granted.test/",
        "http://192.0.0.2/", "http://192.0.0.1/", "http://169.254.169.254/"}) {
    INFO(url);
    const CordonRun run =
        RunText(ground, policy, std::string("curl -sf -m 8 ") + url + " || echo refused $?");
    Expect(run).Status(0).Out("refused").NoOut("refused 28").Below(std::chrono::seconds(5));
  }
  CHECK(server.contacts() == 1);
}

TEST_CASE("any port of a granted name is reached, and no port of another") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  Words policy = {"--net", "granted.test:*", "--net", "other.test:80"};
  for (const char* target : {"granted.test:80", "granted.test:1", "granted.test:53",
                             "granted.test:65535", "other.test:4321"}) {
    policy.insert(policy.end(), {"--resolve", std::string(target) + "=" + At(server)});
  }
  for (const char* port : {"80", "1", "53", "65535"}) {
    ExpectAllowed(ground, policy, std::string("curl -sf -m 8 http://granted.test:") + port + "/");
  }
  CHECK(server.contacts() == 4);
  const CordonRun run = RunText(ground, policy,
                                "curl -sf -m 8 http://other.test:4321/ || echo refused $?; "
                                "curl -sf -m 8 http://192.0.0.2:80/ || echo refused $?");
  Expect(run).Out("refused").NoOut("refused 28").Err("tcp:other.test:4321");
  CHECK(ReportAt(run, "/denials").size() == 2);
  CHECK(server.contacts() == 4);
}

TEST_CASE("what nobody declared is asked about at whatever port it is") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const Words mapping = {"--resolve", "asked.test:4321=" + At(server)};
  constexpr char kAsk[] = "curl -sf -m 8 http://asked.test:4321/ | grep -q greetings-from-the-host";
  Words approving = mapping;
  approving.insert(approving.end(), {"--gate", "approve"});
  const CordonRun approved = ExpectAllowed(ground, approving, kAsk);
  CHECK(Has(ReportAt(approved, "/grants").dump(), "tcp:asked.test:4321"));
  CHECK(server.contacts() == 1);
  Words denying = mapping;
  denying.insert(denying.end(), {"--gate", "deny"});
  const CordonRun denied = RunText(ground, denying, kAsk);
  Expect(denied).Status(1);
  CHECK_FALSE(Has(ReportAt(denied, "/grants").dump(), "asked.test"));
  CHECK(server.contacts() == 1);
}

TEST_CASE("literal addresses of both families can be granted, and only they are reached") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  for (const std::string address : {"203.0.113.7", "[2001:db8::7]"}) {
    INFO(address);
    const Words policy = Granting(address + ":80", server);
    ExpectAllowed(ground, policy, "curl -gsf -m 8 http://" + address + "/");
    Expect(RunText(ground, policy,
                   "curl -gsf -m 8 http://203.0.113.8/ || curl -gsf -m 8 'http://[2001:db8::8]/' "
                   "|| echo refused"))
        .Out("refused")
        .NoOut("greetings");
  }
}

TEST_CASE("a range of addresses is granted as a whole, and one that is denied in it is not") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  Words policy = {"--net", "203.0.113.0/24:80", "--net", "[2001:db8::/32]:80"};
  for (const char* address : {"203.0.113.7", "203.0.113.200", "203.0.114.7", "[2001:db8:9::7]"}) {
    policy.insert(policy.end(), {"--resolve", std::string(address) + ":80=" + At(server)});
  }
  ExpectAllowed(ground, policy, "curl -sf -m 8 http://203.0.113.7/");
  ExpectAllowed(ground, policy, "curl -gsf -m 8 'http://[2001:db8:9::7]/'");
  Expect(RunText(ground, policy, "curl -sf -m 8 http://203.0.114.7/ || echo refused"))
      .Out("refused")
      .NoOut("greetings");
  const std::string rules = ground.outside() + "/rules.json";
  Expect(RunCordon(ground,
                   {"rules", "add", "--rules", rules, "deny", "network", "203.0.113.128/25:*"}))
      .Status(0);
  policy.insert(policy.end(), {"--rules", rules});
  Expect(RunText(ground, policy, "curl -sf -m 8 http://203.0.113.7/")).Status(0).Out("greetings");
  const CordonRun denied =
      RunText(ground, policy, "curl -sf -m 8 http://203.0.113.200/ || echo refused");
  Expect(denied).Out("refused").NoOut("greetings").Err("203.0.113.128/25");
  Expect(RunCordon(ground,
                   {"run", "-w", ground.workspace(), "--net", "203.0.113.7/24:80", "--", "true"}))
      .Err("203.0.113.0/24")
      .NotStarted();
}

TEST_CASE("a rule that is removed cuts what it had allowed, and the log says so") {
  if (access("/usr/bin/python3", X_OK) != 0) CORDON_SKIP("python3", "it is not installed");
  const Ground ground;
  const Port silent(true);
  const std::string rules = ground.outside() + "/rules.json";
  const std::string audit = ground.outside() + "/audit.jsonl";
  Expect(
      RunCordon(ground, {"rules", "add", "--rules", rules, "allow", "network", "granted.test:80"}))
      .Status(0);
  ground.MakeFile("wait.py",
                  "import socket\ns = socket.create_connection(('granted.test', 80), 9)\n"
                  "s.sendall(b'\\0')\nprint('connected', flush=True)\ns.settimeout(20)\n"
                  "try: print('said', s.recv(9), flush=True)\n"
                  "except ConnectionResetError: print('cut', flush=True)\n");
  Child command(InsideCommand(ground, {"--gate", "deny", "--rules", rules, "--audit", audit,
                                       "--resolve", "granted.test:80=127.0.0.1:" + silent.number,
                                       "--", "python3", "wait.py"}),
                InsideOptions(ground));
  std::string line;
  REQUIRE(command.ReadLine(line, std::chrono::seconds(15)));
  CHECK(line == "connected");
  const nlohmann::json listed = nlohmann::json::parse(
      RunCordon(ground, {"rules", "list", "--json", "--rules", rules}).out, nullptr, false);
  REQUIRE(listed.is_array());
  Expect(RunCordon(ground, {"rules", "remove", "--rules", rules, listed[0]["id"]})).Status(0);
  REQUIRE(command.ReadLine(line, std::chrono::seconds(10)));
  CHECK(line == "cut");
  CHECK(command.Finish().status == 0);
  CHECK(Has(RunCordon(ground, {"audit", "show", audit}).out, "cut: no longer allowed"));
}

TEST_CASE("the environment names a proxy only to a profile that asks for one") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  Child upstream({CordonProgram(), "proxy", "--net", "granted.test:80", "--resolve",
                  "granted.test:80=" + At(server)},
                 InsideOptions(ground));
  std::string line;
  REQUIRE(upstream.ReadLine(line, std::chrono::seconds(15)));
  const std::string asks = ground.MakeFile(
      ground.outside() + "/asks.json",
      R"({"version": 1, "workspace_read": "allow", "command": "allow", "network_route": "environment"})");
  const auto fetch = [&](const Words& policy, const std::string& proxy) {
    Words words = {"run", "-w", ground.workspace(), "--net", "granted.test:80"};
    words.insert(words.end(), policy.begin(), policy.end());
    words.insert(words.end(), {"-c", kFetch});
    words.insert(words.begin(), CordonProgram());
    ChildOptions options = InsideOptions(ground);
    options.environment["HTTPS_PROXY"] = proxy;
    return Child(words, options).Finish();
  };
  const std::string at = "http://" + line.substr(line.find("127.0.0.1"));
  CHECK(fetch({"-p", asks}, at).status == 0);
  CHECK(server.contacts() == 1);
  // Nobody asks: the name is looked up here, where it is not known.
  CHECK(fetch({}, at).status != 0);
  // The proxy is gone: there is no other way, not even one that would lead there.
  const Ended gone = fetch({"-p", asks}, "http://127.0.0.1:" + Port(false).number);
  CHECK(gone.status != 0);
  const Ended odd = fetch({"-p", asks}, "socks5://u:s3cr3t@127.0.0.1:1");
  CHECK(odd.status == 125);
  CHECK(Has(odd.err, "HTTPS_PROXY"));
  CHECK_FALSE(Has(odd.err, "s3cr3t"));
  CHECK(server.contacts() == 1);
}

TEST_CASE("each refused target is said once at the end, with what would allow it") {
  NEEDS_CURL();
  const Ground ground;
  const char* text =
      "curl -s -m 5 http://one.test/; curl -s -m 5 http://one.test/; curl -s -m 5 "
      "http://two.test:8080/; exit 3";
  const CordonRun run = RunText(ground, {}, text);
  Expect(run).Status(3).Err("one.test").Err("two.test").Err("--net");
  CHECK(ReportAt(run, "/outcome/kind") == "exited");
  CHECK(ReportAt(run, "/denials").size() == 2);
  Expect(RunText(ground, {"--quiet"}, text)).Status(3).NoErr("cordon:");
  Expect(RunText(ground, {}, "true")).NoErr("cordon:");
}

TEST_CASE("what nobody declared is asked about while the connection waits") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const Words mapping = {"--resolve", "granted.test:80=" + At(server)};
  Words approving = mapping;
  approving.insert(approving.end(), {"--gate", "approve"});
  ExpectAllowed(ground, approving, kFetch);
  CHECK(server.contacts() == 1);
  Words denying = mapping;
  denying.insert(denying.end(), {"--gate", "deny"});
  Expect(RunText(ground, denying, kFetch)).Status(1);
  CHECK(server.contacts() == 1);
}

TEST_CASE("a stored rule opens a target although nobody is there") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const std::string rules = ground.outside() + "/rules.json";
  Expect(
      RunCordon(ground, {"rules", "add", "--rules", rules, "allow", "network", "granted.test:80"}))
      .Status(0);
  const Words policy = {"--gate", "deny", "--resolve", "granted.test:80=" + At(server)};
  Words ruled = policy;
  ruled.insert(ruled.end(), {"--rules", rules});
  ExpectAllowed(ground, ruled, kFetch);
  Expect(RunText(ground, policy, kFetch)).Status(1);  // The control.
}

TEST_CASE("why net knows the profile and the stored rules") {
  const Ground ground;
  const std::string rules = ground.outside() + "/rules.json";
  for (const Words& rule :
       {Words{"allow", "network", "allowed.test:80"}, Words{"deny", "network", "denied.test:80"}}) {
    Words add = {"rules", "add", "--rules", rules};
    add.insert(add.end(), rule.begin(), rule.end());
    Expect(RunCordon(ground, add)).Status(0);
  }
  const auto why = [&](const std::string& target, const Words& more) {
    Words words = {"why", "net", target, "-w", ground.workspace()};
    words.insert(words.end(), more.begin(), more.end());
    return RunCordon(ground, words);
  };
  Expect(why("allowed.test:80", {})).Status(1).Out("--net allowed.test:80");
  Expect(why("allowed.test:80", {"--rules", rules})).Status(0).Out("allow");
  Expect(why("denied.test:80", {"--rules", rules, "--net", "denied.test:80"})).Status(2);
  Expect(why("denied.test:80", {"--net", "denied.test:80"})).Status(0);
  Expect(why("other.test:80", {"--rules", rules})).Status(1);
  Expect(why("*.other.test:80", {"--rules", rules})).Status(1);
}

TEST_CASE("a mapping for tests is stated in the report and grants nothing") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const CordonRun run = RunText(ground, {"--resolve", "granted.test:80=" + At(server)}, kFetch);
  Expect(run).Status(1);
  CHECK(Has(run.report.dump(), At(server)));
  CHECK(server.contacts() == 0);
}

TEST_CASE("what cannot be served is refused before anything starts") {
  const Ground ground;
  const Port taken(true);
  Expect(RunText(ground, {"--publish", taken.number}, "echo ran")).NotStarted().Err(taken.number);
  Expect(RunText(ground, {"--publish", Port(false).number}, "echo ran")).Status(0).OutIs("ran\n");
}

TEST_CASE("a published port and the network behind it end with a cordon that is killed") {
  NEEDS_CURL();
  const Ground ground;
  const Port port(false);
  const std::string mark = SleepMark();
  Child run(InsideCommand(ground, {"--publish", port.number, "-c",
                                   "python3 -m http.server --bind 127.0.0.1 " + port.number +
                                       " & sleep " + mark}),
            InsideOptions(ground));
  const std::string ask = "curl -s -m 5 -o /dev/null http://127.0.0.1:" + port.number + "/";
  REQUIRE(Within(std::chrono::seconds(15), [&] { return ground.RunUnconfined(ask).status == 0; }));
  run.Signal(SIGKILL);
  CHECK(run.Finish().status == 128 + SIGKILL);
  CHECK(Within(std::chrono::seconds(5), [&] { return ground.RunUnconfined(ask).status == 7; }));
}

TEST_CASE("the tool server reaches what it may, and asks about the rest while a connection waits") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  int asked = 0;
  const auto approve = [&asked](const nlohmann::json& request) {
    ++asked;
    if (Has(request.dump(), "granted.test:81")) return nlohmann::json{{"action", "decline"}};
    return nlohmann::json{{"action", "accept"}, {"content", {{"decision", "once"}}}};
  };
  Words policy = Granting("granted.test:80", server);
  policy.insert(policy.end(), {"--resolve", "asked.test:80=" + At(server)});
  McpClient client(ground, policy, approve);
  CHECK(Has(client.Bash("curl -sf -m 15 http://granted.test/").dump(), Listener::kGreeting));
  CHECK(asked == 0);
  CHECK(Has(client.Bash("curl -sf -m 15 http://asked.test/").dump(), Listener::kGreeting));
  CHECK(asked == 1);
  const std::string refused = client.Bash("curl -s -m 5 http://granted.test:81/").dump();
  CHECK(Has(refused, "tcp:granted.test:81"));
  CHECK(asked == 2);
  CHECK(server.contacts() == 2);
}

TEST_CASE("the report says which targets were bound by their address alone") {
  NEEDS_CURL();
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const Words policy = Granting("granted.test:80", server);
  constexpr char kByAddress[] = "bound by their address alone: granted.test:80";
  const CordonRun raw =
      RunText(ground, policy,
              "python3 -c \"import socket; s = socket.create_connection(("
              "'granted.test', 80), 8); s.sendall(b'raw and no HTTP\\n\\r\\n\\r\\n'); "
              "print(s.recv(999))\"");
  Expect(raw).Status(0).Out("greetings");
  CHECK(Has(raw.report.dump(), kByAddress));
  const CordonRun named = RunText(ground, policy, kFetch);
  Expect(named).Status(0);
  CHECK_FALSE(Has(named.report.dump(), kByAddress));
}

TEST_CASE("the report's network bits hold for a served network and each entry is covered") {
  const Ground ground;
  const Listener server(Listener::Kind::kTcp);
  const CordonRun run = RunText(ground, Granting("granted.test:80", server), "true");
  for (const char* bit : {"network_boundary", "address_network", "target_network"}) {
    CHECK(ReportAt(run, std::string("/guarantees/") + bit) == true);
  }
  CHECK(ReportAt(run, "/denials").empty());
  CHECK(Has(run.report.dump(), "network.targets"));
}

}  // namespace
}  // namespace cordon::test
