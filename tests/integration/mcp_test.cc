// The Bash tool as a server of the Model Context Protocol.

#include <algorithm>
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
using std::chrono::seconds;
using std::chrono::steady_clock;

TEST_CASE("the server introduces itself and its tool, and ends with its input") {
  const Ground ground;
  McpClient client(ground);
  CHECK(client.about().contains("protocolVersion"));
  CHECK(client.about()["capabilities"].contains("tools"));
  CHECK_FALSE(client.about()["serverInfo"]["name"].get<std::string>().empty());
  const json tools = client.Call("tools/list")["result"]["tools"];
  REQUIRE(tools.size() == 4);
  CHECK(tools[0]["name"] == "bash");
  CHECK(tools[0]["inputSchema"]["properties"].contains("command"));
  CHECK(tools[0]["inputSchema"]["properties"].contains("background"));
  CHECK(tools[1]["name"] == "bash_output");
  CHECK(tools[2]["name"] == "bash_input");
  CHECK(tools[3]["name"] == "bash_stop");
  for (const json& tool : tools) {
    CHECK(tool["inputSchema"]["type"] == "object");
    CHECK(tool["outputSchema"]["type"] == "object");
    CHECK_FALSE(tool["description"].get<std::string>().empty());
  }
  CHECK(client.Call("ping")["result"] == json::object());
  const Ended ended = client.HangUp();
  CHECK(ended.in_time);
  CHECK(ended.status == 0);
}

TEST_CASE("a call returns both streams and the status as text and as structure") {
  const Ground ground;
  McpClient client(ground);
  const json result = client.Bash("echo to-output; echo to-errors >&2; pwd; exit 21");
  const std::string text = TextOf(result);
  INFO(result.dump(2));
  CHECK(Has(text, "to-output"));
  CHECK(Has(text, "to-errors"));
  CHECK(Has(text, "21"));
  CHECK(Has(text, ground.workspace()));
  const json& structure = result["structuredContent"];
  CHECK(structure["exit_code"] == 21);
  CHECK(structure["signal"].is_null());
  CHECK(structure["outcome"] == "exited");
  CHECK(structure["stdout"] == "to-output\n" + ground.workspace() + "\n");
  CHECK(structure["stderr"] == "to-errors\n");
  CHECK(structure["truncated"] == false);
  CHECK(structure["denials"] == json::array());
  CHECK_FALSE(client.Bash("true").value("isError", false));
}

TEST_CASE("the text of a call reaches a shell as it is, with empty input") {
  const Ground ground;
  McpClient client(ground);
  const json result = client.Bash(
      "echo \"it's\" '$HOME' \"a  b\"\ncat <<'X'\n$literal\nX\nread x || echo no-input");
  CHECK(result["structuredContent"]["stdout"] == "it's $HOME a  b\n$literal\nno-input\n");
}

TEST_CASE("calls run side by side and each answer belongs to its call") {
  const Ground ground;
  McpClient client(ground);
  std::vector<int> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(
        client.AskBash("sleep 0." + std::to_string(4 - i) + "; echo answer-" + std::to_string(i)));
  }
  for (int i = 4; i >= 0; --i) {
    const json answer = client.Answer(ids[static_cast<std::size_t>(i)]);
    CHECK(answer["result"]["structuredContent"]["stdout"] == "answer-" + std::to_string(i) + "\n");
  }
}

TEST_CASE("errors of the protocol leave the server standing") {
  const Ground ground;
  McpClient client(ground);
  client.SendLine("this is no message");
  CHECK(client.Next()["error"]["code"] == -32700);
  CHECK(client.Call("no/such/method")["error"]["code"] == -32601);
  const json unknown =
      client.Call("tools/call", {{"name", "other"}, {"arguments", json::object()}});
  CHECK((unknown.contains("error") || unknown["result"]["isError"] == true));
  const json strange = client.Bash("true", {{"sandbox", false}});
  CHECK(strange["isError"] == true);
  client.SendLine(R"({"jsonrpc":"2.0","method":"notifications/unknown"})");
  CHECK(client.Bash("echo alive")["structuredContent"]["stdout"] == "alive\n");
}

TEST_CASE("a call is confined like a run") {
  const Ground ground;
  const std::string secret = ground.MakeFile(ground.home() + "/secret", "CONFIDENTIAL");
  McpClient client(ground);
  const json result =
      client.Bash("cat " + secret + "; echo x >" + ground.outside() + "/made; echo finished");
  CHECK(Has(TextOf(result), "finished"));
  CHECK_FALSE(Has(result.dump(), "CONFIDENTIAL"));
  CHECK_FALSE(ground.Exists(ground.outside() + "/made"));
}

TEST_CASE("long output keeps its head and its tail") {
  const Ground ground;
  McpClient client(ground);
  const json result = client.Bash("echo first; seq 1 500000; echo last; exit 3");
  const std::string text = TextOf(result);
  CHECK(Has(text, "first\n1\n2\n"));
  CHECK(Has(text, "499999\n500000\nlast"));
  CHECK_FALSE(Has(text, "250000\n250001"));
  CHECK(result["structuredContent"]["truncated"] == true);
  CHECK(result["structuredContent"]["exit_code"] == 3);
  CHECK(result.dump().size() < 500'000);
}

TEST_CASE("the time limit ends the tree of a call and keeps what it had written") {
  const Ground ground;
  const std::string mark = SleepMark();
  McpClient client(ground, {"--timeout", "1s"});
  const auto begin = steady_clock::now();
  const json result =
      client.Bash("echo partial; setsid sleep " + mark + " & (trap '' TERM; sleep " + mark +
                  "; sleep " + mark + ") & sleep " + mark);
  CHECK(steady_clock::now() - begin < seconds(8));
  CHECK(Has(TextOf(result), "partial"));
  CHECK(result["structuredContent"]["outcome"] == "timed_out");
  CHECK(result["isError"] == true);
  CHECK(Within(seconds(3), [&] { return ProcessesWith(mark).empty(); }));
  CHECK(client.Bash("echo quick")["structuredContent"]["stdout"] == "quick\n");
  CHECK(client.Bash("true", {{"timeout_ms", 600000}})["isError"] == true);
}

TEST_CASE("a background job does not hold the answer and ends with the call or the session") {
  const Ground ground;
  const std::string mark = SleepMark();
  McpClient client(ground);
  const auto begin = steady_clock::now();
  CHECK(Has(TextOf(client.Bash("sleep " + mark + " & echo started")), "started"));
  CHECK(steady_clock::now() - begin < seconds(5));
  client.HangUp();
  CHECK(Within(seconds(3), [&] { return ProcessesWith(mark).empty(); }));
}

TEST_CASE("a call in progress ends when the client hangs up") {
  const Ground ground;
  const std::string mark = SleepMark();
  McpClient client(ground);
  client.AskBash("echo ready >ready; sleep " + mark);
  REQUIRE(FileAppears(ground.PathOf("ready"), seconds(10)));
  const Ended ended = client.HangUp();
  CHECK(ended.in_time);
  CHECK(Within(seconds(3), [&] { return ProcessesWith(mark).empty(); }));
}

TEST_CASE("a folder that a call removed or replaced leads no later call astray") {
  const Ground ground;
  ground.MakeFile(ground.outside() + "/secret", "CONFIDENTIAL");
  McpClient client(ground);
  for (const char* trick :
       {"mkdir d && cd d && rmdir ../d", "mkdir d && cd d && mv ../d ../m && rm -r ../m",
        "mkdir d && cd d && rmdir ../d && ln -s ../outside ../d"}) {
    INFO(trick);
    (void)client.Bash(trick);
    const json result = client.Bash("pwd -P; cat secret; ls >/dev/null && echo here");
    CHECK(Has(TextOf(result), "here"));
    CHECK(Has(TextOf(result), ground.workspace()));
    CHECK_FALSE(Has(result.dump(), "CONFIDENTIAL"));
    (void)client.Bash("rm -rf d m");
  }
  CHECK(client.Bash("true", {{"workdir", "missing"}})["isError"] == true);
}

TEST_CASE("bytes that are no text are replaced, said to be so, and lose nothing around them") {
  const Ground ground;
  McpClient client(ground);
  const json odd = client.Bash(R"(printf 'start\377\376\000middle\033[31mred\r\nend\n')");
  const std::string text = TextOf(odd);
  for (const char* part : {"start", "middle", "red", "end"}) CHECK(Has(text, part));
  CHECK_FALSE(Has(text, "\x1b[31m"));
  CHECK(odd["structuredContent"]["invalid_utf8"] == true);
  const json plain = client.Bash("echo 'plain-\u00e9-\U0001F600'");
  CHECK(Has(TextOf(plain), "plain-\u00e9-\U0001F600"));
  CHECK(plain["structuredContent"]["invalid_utf8"] == false);
  const json cut = client.Bash("python3 -c 'print(\"\u00e9\" * 100000 + \"\U0001F600\" * 100000)'");
  CHECK(json::accept(cut.dump()));
  CHECK(cut["structuredContent"]["truncated"] == true);
  CHECK(cut["structuredContent"]["invalid_utf8"] == false);
}

}  // namespace
}  // namespace cordon::test
