// A session with the server over several calls: background jobs, progress, cancellation, questions.

#include <signal.h>

#include <string>
#include <vector>

#include "integration/support/ground.h"
#include "integration/support/mcp_client.h"
#include "integration/support/waiting.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

std::string StartJob(McpClient& client, const std::string& command) {
  const json result = client.Bash(command, {{"background", true}});
  INFO(result.dump(2));
  CHECK(result["isError"] == false);
  CHECK(result["structuredContent"]["outcome"] == "running");
  return result["structuredContent"]["handle"];
}

TEST_CASE("a background job is read, given input and stopped over several calls") {
  const Ground ground;
  McpClient client(ground);
  const std::string job = StartJob(client, "echo up; while read x; do echo got-$x; done; sleep 30");
  json output = client.Tool("bash_output", {{"handle", job}, {"wait_ms", 15000}});
  CHECK(output["structuredContent"]["output"] == "up\n");
  CHECK(client.Tool("bash_input", {{"handle", job}, {"input", "line\n"}})["isError"] == false);
  output = client.Tool("bash_output", {{"handle", job}, {"wait_ms", 15000}});
  CHECK(output["structuredContent"]["output"] == "got-line\n");
  const json stopped = client.Tool("bash_stop", {{"handle", job}});
  CHECK(stopped["structuredContent"]["job"]["outcome"] == "cancelled");
  CHECK(client.Tool("bash_output", {{"handle", "job-none"}})["isError"] == true);
}

TEST_CASE("the end of a job is notified, and told with the next result") {
  const Ground ground;
  McpClient client(ground);
  const std::string job = StartJob(client, "while [ ! -e go ]; do sleep 0.05; done; exit 6");
  (void)client.Bash("touch go");
  // Any answer may carry the news; the notification comes on its own.
  std::string told;
  CHECK(Within(seconds(15), [&] {
    told += TextOf(client.Bash("true"));
    return !client.Notifications("notifications/message").empty();
  }));
  CHECK(Within(seconds(15), [&] {
    told += TextOf(client.Bash("true"));
    return Has(told, job + " exit code: 6");
  }));
  const json data = client.Notifications("notifications/message").front()["params"]["data"];
  CHECK(data["handle"] == job);
  CHECK(data["exit_code"] == 6);
}

TEST_CASE("everything that a session started ends with it, and leaves no file") {
  const Ground ground;
  const std::string mark = SleepMark();
  const std::vector<std::string> before = Snapshot(ground.temporary());
  SECTION("when the client hangs up") {
    McpClient client(ground);
    (void)StartJob(client, "setsid sleep " + mark + " & sleep " + mark);
    const Ended ended = client.HangUp();
    CHECK(ended.in_time);
    CHECK(ended.status == 0);
  }
  SECTION("when the server is asked to end") {
    McpClient client(ground);
    (void)StartJob(client, "setsid sleep " + mark + " & sleep " + mark);
    REQUIRE(kill(client.server().pid(), SIGTERM) == 0);
    const Ended ended = client.HangUp();
    CHECK(ended.in_time);
    CHECK(ended.status == 0);
  }
  CHECK(Within(seconds(3), [&] { return ProcessesWith(mark).empty(); }));
  CHECK(Snapshot(ground.temporary()) == before);
}

TEST_CASE("a killed server leaves nothing running, and the next one removes what it left") {
  const Ground ground;
  const std::string mark = SleepMark();
  const std::vector<std::string> before = Snapshot(ground.temporary());
  {
    McpClient client(ground);
    (void)StartJob(client, "setsid sleep " + mark + " & sleep " + mark);
    REQUIRE(kill(client.server().pid(), SIGKILL) == 0);
    (void)client.HangUp();
  }
  CHECK(Within(seconds(3), [&] { return ProcessesWith(mark).empty(); }));
  McpClient next(ground);
  CHECK(next.HangUp().status == 0);
  CHECK(Snapshot(ground.temporary()) == before);
}

TEST_CASE("with a folder for jobs a later server finds what an earlier one had") {
  const Ground ground;
  const Words policy = {"--jobs", ground.outside() + "/jobs"};
  std::string job;
  {
    McpClient client(ground, policy);
    job = StartJob(client, "echo before; sleep 30");
    (void)client.Tool("bash_output", {{"handle", job}, {"wait_ms", 15000}});
    REQUIRE(kill(client.server().pid(), SIGKILL) == 0);
    (void)client.HangUp();
  }
  McpClient client(ground, policy);
  const json output = client.Tool("bash_output", {{"handle", job}});
  CHECK(output["structuredContent"]["job"]["state"] == "lost");
  CHECK(output["structuredContent"]["output"] == "before\n");
}

TEST_CASE("a long call that asked for it reports progress") {
  const Ground ground;
  McpClient client(ground);
  const json answer = client.Call("tools/call", {{"name", "bash"},
                                                 {"arguments", {{"command", "sleep 3.5; echo x"}}},
                                                 {"_meta", {{"progressToken", "p"}}}});
  CHECK(answer["result"]["structuredContent"]["stdout"] == "x\n");
  const std::vector<json> progress = client.Notifications("notifications/progress");
  REQUIRE(progress.size() >= 2);
  CHECK(progress[0]["params"]["progressToken"] == "p");
  CHECK(progress[0]["params"]["progress"] < progress[1]["params"]["progress"]);
}

TEST_CASE("a cancelled call ends its tree and gets no answer, and the server goes on") {
  const Ground ground;
  const std::string mark = SleepMark();
  McpClient client(ground);
  const int id = client.AskBash("echo ready >ready; setsid sleep " + mark + " & sleep " + mark);
  REQUIRE(FileAppears(ground.PathOf("ready"), seconds(10)));
  client.SendLine(json({{"jsonrpc", "2.0"},
                        {"method", "notifications/cancelled"},
                        {"params", {{"requestId", id}, {"reason", "changed my mind"}}}})
                      .dump());
  CHECK(Within(seconds(5), [&] { return ProcessesWith(mark).empty(); }));
  CHECK(client.Bash("echo alive")["structuredContent"]["stdout"] == "alive\n");
}

// A profile under which commands are gated.
Words Gated(const Ground& ground) {
  return {"--profile", ground.MakeFile(ground.outside() + "/gated.json",
                                       json({{"workspace_root", ground.workspace()},
                                             {"workspace_read", "allow"},
                                             {"workspace_write", "allow"},
                                             {"command", "gated"}})
                                           .dump())};
}

TEST_CASE("the person behind the client is asked, and the answer decides") {
  const Ground ground;
  std::vector<std::string> questions;
  std::string decision;
  McpClient client(ground, Gated(ground), [&](const json& request) {
    CHECK(request["method"] == "elicitation/create");
    questions.push_back(request["params"]["message"]);
    if (decision == "decline") return json{{"action", "decline"}};
    if (decision == "cancel") return json{{"action", "cancel"}};
    return json{{"action", "accept"}, {"content", {{"decision", decision}}}};
  });
  decision = "once";
  CHECK(client.Bash("echo one >made")["structuredContent"]["exit_code"] == 0);
  REQUIRE(questions.size() == 1);
  CHECK(Has(questions[0], "echo one >made"));
  decision = "decline";
  const json declined = client.Bash("echo two >made");
  CHECK(declined["isError"] == true);
  CHECK(Has(TextOf(declined), "refused_by_person"));
  decision = "cancel";
  CHECK(Has(TextOf(client.Bash("echo three >made")), "no_approver"));
  CHECK(ground.Read("made") == "one\n");
  CHECK(questions.size() == 3);

  // Input to an interpreter is a question of its own.
  decision = "once";
  const std::string job = StartJob(client, "sh");
  decision = "decline";
  CHECK(client.Tool("bash_input", {{"handle", job}, {"input", "echo four >made\n"}})["isError"] ==
        true);
  CHECK(Has(questions.back(), "echo four >made"));
  CHECK(Has(questions.back(), job));
}

TEST_CASE("a client that cannot ask gets a refusal that says so") {
  const Ground ground;
  McpClient client(ground, Gated(ground));
  const json refused = client.Bash("true");
  CHECK(refused["isError"] == true);
  CHECK(Has(TextOf(refused), "no_approver"));
  CHECK_FALSE(client.Notifications("notifications/message").empty());
}

// Serves the workspace at 127.0.0.1:8123 once it has said so.
constexpr const char* kServer =
    "python3 -u -c 'import http.server as h; s = h.HTTPServer((\"127.0.0.1\", 8123), "
    "h.SimpleHTTPRequestHandler); print(\"up\"); s.serve_forever()'";
constexpr const char* kFetch =
    "python3 -c 'import urllib.request as u; "
    "print(u.urlopen(\"http://127.0.0.1:8123/page\", timeout=5).read().decode())'";

void ExpectServerIsUp(McpClient& client, const std::string& job) {
  const json output = client.Tool("bash_output", {{"handle", job}, {"wait_ms", 15000}});
  INFO(output.dump(2));
  REQUIRE(Has(output["structuredContent"]["output"].get<std::string>(), "up"));
}

TEST_CASE("without a shared network a server of one call is not reached by the next") {
  const Ground ground;
  ground.MakeFile("page", "hello-from-the-job");
  McpClient client(ground);
  ExpectServerIsUp(client, StartJob(client, kServer));
  CHECK(client.Bash(kFetch)["structuredContent"]["exit_code"] != 0);
}

TEST_CASE("with a shared network a server of one call is reached by the next, and by nobody else") {
  const Ground ground;
  ground.MakeFile("page", "hello-from-the-job");
  // The network gated, and denied.
  for (const char* preset : {"workspace", "read-only"}) {
    McpClient client(ground, {"--share-network", "--preset", preset});
    const std::string job = StartJob(client, kServer);
    ExpectServerIsUp(client, job);
    const json fetched = client.Bash(kFetch);
    INFO(preset << fetched.dump(2));
    CHECK(fetched["structuredContent"]["stdout"] == "hello-from-the-job\n");
    CHECK(ground.RunUnconfined(kFetch).status != 0);
    CHECK(client.Tool("bash_stop", {{"handle", job}})["isError"] == false);
    CHECK(client.Bash(kFetch)["structuredContent"]["exit_code"] != 0);
    ExpectServerIsUp(client, StartJob(client, kServer));  // The port is free again.
    CHECK(client.Bash(kFetch)["structuredContent"]["exit_code"] == 0);
    CHECK(client.HangUp().status == 0);
  }
}

TEST_CASE("in a shared network a refusal is listed with the command that ran into it") {
  const Ground ground;
  McpClient client(ground, {"--share-network"});
  const json refused = client.Bash(
      "python3 -c 'import socket; socket.create_connection((\"refused.example\", 80), 5)'");
  INFO(refused.dump(2));
  CHECK(refused["structuredContent"]["exit_code"] != 0);
  CHECK(Has(refused["structuredContent"]["denials"].dump(), "refused.example"));
  CHECK(client.Bash("true")["structuredContent"]["denials"] == json::array());
}

TEST_CASE("programs that want a person end, and the result says what to do instead") {
  const Ground ground;
  McpClient client(ground);
  const auto begin = steady_clock::now();
  const json editor = client.Bash(
      "git init -q . && git -c user.name=a -c user.email=a@b commit "
      "--allow-empty");
  CHECK(editor["structuredContent"]["exit_code"] != 0);
  CHECK(Has(TextOf(editor), "git commit -m"));
  CHECK(Has(TextOf(client.Bash("python3 -c 'input()'")), "standard input is at end of file"));
  CHECK(client.Bash(
            "if command -v vi >/dev/null; then vi file; else exit 1; fi")["structuredContent"]
                                                                         ["outcome"] == "exited");
  CHECK(Has(TextOf(client.Bash("sudo true")), "sudo, su and doas cannot"));
  CHECK(steady_clock::now() - begin < seconds(20));
}

}  // namespace
}  // namespace cordon::test
