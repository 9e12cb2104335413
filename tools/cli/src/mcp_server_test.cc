#include "mcp_server.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::cli {
namespace {

using Json = nlohmann::json;

// Prepares anything; running it waits for `stop` when the arguments ask for that.
class EchoTool : public Tool {
 public:
  std::string_view name() const override { return "bash"; }
  std::string description() const override { return "for tests"; }
  std::string input_schema_json() const override { return R"({"type":"object"})"; }
  absl::StatusOr<PreparedCall> Prepare(std::string_view arguments,
                                       const PrepareContext& context) override {
    Request request;
    request.tool = "bash";
    request.call_id = context.call_id;
    request.execution_id = context.execution_id;
    request.authority = NoAuthority("only echoes");
    return PreparedCall(std::move(request), SealedArtifact::Seal(std::string(arguments)));
  }
  absl::StatusOr<ToolResult> Run(const PreparedCall& call, std::vector<Grant>,
                                 std::stop_token stop) override {
    const std::string arguments = *call.artifact().Open<std::string>();
    if (arguments.find("wait") != std::string::npos) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any never;
      never.wait_for(lock, stop, std::chrono::seconds(30), [] { return false; });
      return MakeError(ErrorCode::kCancelled, "stopped");
    }
    return ToolResult{"ran " + arguments, R"({"exit_code":0})", false};
  }
};

class AdmitAll : public Admission {
 public:
  absl::StatusOr<std::unique_ptr<Admitted>> Admit(const Request&, std::stop_token) override {
    class Nothing : public Admitted {
     public:
      absl::StatusOr<std::vector<Grant>> Mint() override { return std::vector<Grant>(); }
    };
    return std::make_unique<Nothing>();
  }
};

// A server, and what it sent.
class Conversation {
 public:
  Conversation()
      : approver_([this](const std::string& line) { Receive(line); }),
        log_([this](const std::string& line) { Receive(line); }),
        step_(ToolCallStep::Create(Options()).value()),
        server_({{{&tool_, "Bash", R"({"type":"object"})", false}},
                 &step_,
                 &approver_,
                 &log_,
                 "what it is for"},
                [this](const std::string& line) { Receive(line); }) {}

  McpServer& server() { return server_; }
  McpLog& log() { return log_; }
  ElicitingApprover& approver() { return approver_; }

  void Send(const Json& message) { server_.Handle(message.dump()); }

  // The message that comes next, at most ten seconds later.
  Json Next() {
    std::unique_lock lock(mutex_);
    REQUIRE(came_.wait_for(lock, std::chrono::seconds(10), [&] { return !received_.empty(); }));
    Json message = received_.front();
    received_.erase(received_.begin());
    return message;
  }

 private:
  ToolCallOptions Options() {
    ToolCallOptions options;
    options.tools = {&tool_};
    options.admission = &admission_;
    return options;
  }
  void Receive(const std::string& line) {
    const std::lock_guard lock(mutex_);
    received_.push_back(Json::parse(line));
    came_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Json> received_;
  EchoTool tool_;
  AdmitAll admission_;
  ElicitingApprover approver_;
  McpLog log_;
  ToolCallStep step_;
  McpServer server_;
};

Json CallMessage(int id, const std::string& command) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"method", "tools/call"},
          {"params", {{"name", "bash"}, {"arguments", {{"command", command}}}}}};
}

TEST_CASE("the revision that the client asks for is used when it is known, else the newest") {
  Conversation talk;
  for (const auto& [asked, used] :
       std::vector<std::pair<std::string, std::string>>{{"2024-11-05", "2024-11-05"},
                                                        {"2025-03-26", "2025-03-26"},
                                                        {"2025-06-18", "2025-06-18"},
                                                        {"2099-01-01", "2025-06-18"}}) {
    talk.Send({{"jsonrpc", "2.0"},
               {"id", 1},
               {"method", "initialize"},
               {"params", {{"protocolVersion", asked}}}});
    CHECK(talk.Next()["result"]["protocolVersion"] == used);
  }
}

TEST_CASE("a call's result carries the text, the structured part and whether it is an error") {
  Conversation talk;
  talk.Send(CallMessage(7, "hello"));
  const Json answer = talk.Next();
  CHECK(answer["id"] == 7);
  CHECK(answer["result"]["content"][0]["text"] == R"(ran {"command":"hello"})");
  CHECK(answer["result"]["structuredContent"]["exit_code"] == 0);
  CHECK(answer["result"]["isError"] == false);
}

TEST_CASE("broken lines, unknown methods and unknown tools are errors, and the server goes on") {
  Conversation talk;
  talk.server().Handle("this is no JSON");
  CHECK(talk.Next()["error"]["code"] == -32700);
  talk.server().Handle("[]");
  CHECK(talk.Next()["error"]["code"] == -32600);
  talk.server().Handle("17");
  CHECK(talk.Next()["error"]["code"] == -32600);
  talk.Send({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "no/such"}});
  CHECK(talk.Next()["error"]["code"] == -32601);
  Json call = CallMessage(2, "x");
  call["params"]["name"] = "other";
  talk.Send(call);
  CHECK(talk.Next()["error"]["code"] == -32602);
  talk.Send({{"jsonrpc", "2.0"}, {"id", 3}, {"method", "ping"}});
  CHECK(talk.Next()["result"] == Json::object());
}

TEST_CASE("a cancelled call ends without an answer") {
  Conversation talk;
  talk.Send(CallMessage(1, "wait"));
  talk.Send(
      {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 1}}}});
  talk.Send(CallMessage(2, "after"));
  CHECK(talk.Next()["id"] == 2);
}

TEST_CASE("closing the server ends the calls that still run") {
  const auto begin = std::chrono::steady_clock::now();
  {
    Conversation talk;
    talk.Send(CallMessage(1, "wait"));
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

ApprovalCard Card(std::chrono::milliseconds time) {
  ApprovalCard card;
  card.request.command = Command::Shell("rm -r build", "/w");
  card.request.authority = std::vector<Requirement>{RequireCommand(*card.request.command)};
  card.pending = {RequireCommand(*card.request.command)};
  card.digest = RequestDigest(card.request);
  card.would_store = {"allow exact \"rm -r build\" in /w"};
  card.expires = std::chrono::steady_clock::now() + time;
  return card;
}

// Asks while the client answers `result`.
absl::StatusOr<ApprovalAnswer> AskAndAnswer(const Json& result) {
  Conversation talk;
  talk.approver().SetSupported(true);
  absl::StatusOr<ApprovalAnswer> answer = MakeError(ErrorCode::kInternal, "not asked");
  std::jthread asking([&] { answer = talk.approver().Ask(Card(std::chrono::seconds(10)), {}); });
  const Json question = talk.Next();
  CHECK(question["method"] == "elicitation/create");
  CHECK(question["params"]["message"].get<std::string>().find("rm -r build") != std::string::npos);
  talk.Send({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", result}});
  asking.join();
  return answer;
}

TEST_CASE("only an accepted form with an explicit decision approves") {
  CHECK(AskAndAnswer({{"action", "accept"}, {"content", {{"decision", "once"}}}})->approved);
  const auto session = AskAndAnswer({{"action", "accept"}, {"content", {{"decision", "session"}}}});
  CHECK(session->approved);
  CHECK(session->remember == Remember::kSession);
  for (const Json& refusal :
       {Json{{"action", "accept"}, {"content", {{"decision", "deny"}}}},
        Json{{"action", "accept"}, {"content", Json::object()}}, Json{{"action", "accept"}},
        Json{{"action", "decline"}, {"content", {{"decision", "once"}}}}}) {
    CAPTURE(refusal.dump());
    CHECK_FALSE(AskAndAnswer(refusal)->approved);
  }
}

TEST_CASE("a question that was closed, or not understood, is nobody's refusal") {
  for (const Json& answer : {Json{{"action", "cancel"}}, Json("once"), Json(nullptr),
                             Json{{"action", "other"}, {"content", {{"decision", "once"}}}}}) {
    CAPTURE(answer.dump());
    CHECK(Is(AskAndAnswer(answer).status(), ErrorCode::kNoApprover));
  }
}

TEST_CASE("a question that nobody answers in time is withdrawn") {
  Conversation talk;
  talk.approver().SetSupported(true);
  CHECK_FALSE(talk.approver().Ask(Card(std::chrono::milliseconds(20)), {}).ok());
  const Json question = talk.Next();
  const Json withdrawn = talk.Next();
  CHECK(withdrawn["method"] == "notifications/cancelled");
  CHECK(withdrawn["params"]["requestId"] == question["id"]);
}

TEST_CASE("the log is sent from the level on that the client chose") {
  Conversation talk;
  talk.log().Write(McpLevel::kDebug, "test", {{"n", 1}});
  talk.log().Write(McpLevel::kInfo, "test", {{"n", 2}});
  CHECK(talk.Next()["params"]["data"]["n"] == 2);
  talk.Send({{"jsonrpc", "2.0"},
             {"id", 1},
             {"method", "logging/setLevel"},
             {"params", {{"level", "warning"}}}});
  CHECK(talk.Next()["result"] == Json::object());
  talk.log().Write(McpLevel::kNotice, "test", {{"n", 3}});
  talk.log().Write(McpLevel::kError, "test", {{"n", 4}});
  const Json message = talk.Next();
  CHECK(message["method"] == "notifications/message");
  CHECK(message["params"]["level"] == "error");
  CHECK(message["params"]["data"]["n"] == 4);
  talk.Send({{"jsonrpc", "2.0"},
             {"id", 2},
             {"method", "logging/setLevel"},
             {"params", {{"level", "loud"}}}});
  CHECK(talk.Next()["error"]["code"] == -32602);
}

TEST_CASE("a tool is listed with its title, both schemas and whether it only reads") {
  Conversation talk;
  talk.Send({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/list"}});
  const Json tools = talk.Next()["result"]["tools"];
  REQUIRE(tools.size() == 1);
  CHECK(tools[0]["title"] == "Bash");
  CHECK(tools[0]["inputSchema"]["type"] == "object");
  CHECK(tools[0]["outputSchema"]["type"] == "object");
  CHECK(tools[0]["annotations"]["readOnlyHint"] == false);
}

TEST_CASE("nobody who can ask, nobody who answers and a withdrawn question are told apart") {
  Conversation talk;
  CHECK(
      Is(talk.approver().Ask(Card(std::chrono::seconds(10)), {}).status(), ErrorCode::kNoApprover));
  talk.approver().SetSupported(true);
  CHECK(Is(talk.approver().Ask(Card(std::chrono::milliseconds(20)), {}).status(),
           ErrorCode::kApprovalTimedOut));
  std::stop_source stop;
  stop.request_stop();
  CHECK(Is(talk.approver().Ask(Card(std::chrono::seconds(10)), stop.get_token()).status(),
           ErrorCode::kCancelled));
}

}  // namespace
}  // namespace cordon::cli
