#include "model_http.h"

#include <chrono>
#include <string>
#include <vector>

#include "anthropic_model.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"
#include "openai_model.h"
#include "support/catch.h"

namespace cordon::agent {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Answers each request with the next prepared stream, and keeps what was sent.
class FakeTransport final : public ModelTransport {
 public:
  struct Answer {
    std::vector<std::string> events;
    absl::Status end;
  };
  explicit FakeTransport(std::vector<Answer> answers, std::vector<ModelRequest>& sent)
      : answers_(std::move(answers)), sent_(sent) {}

  absl::Status Stream(const ModelRequest& request, milliseconds,
                      const std::function<bool(std::string_view)>& on_event,
                      std::stop_token) override {
    sent_.push_back(request);
    const Answer& answer = answers_.at(sent_.size() - 1);
    for (const std::string& event : answer.events) {
      if (!on_event(event)) return absl::OkStatus();
    }
    return answer.end;
  }
  milliseconds wanted_pause() const override { return milliseconds(0); }

 private:
  const std::vector<Answer> answers_;
  std::vector<ModelRequest>& sent_;
};

ModelEndpoint Endpoint() {
  ModelEndpoint endpoint;
  endpoint.base_url = "https://example.invalid";
  endpoint.key = "the-key";
  endpoint.model = "m";
  endpoint.max_attempts = 3;
  endpoint.first_pause = milliseconds(1);
  return endpoint;
}

absl::Status Broken() { return MakeError(ErrorCode::kUnavailable, "broke off"); }

std::vector<Message> Conversation() {
  return {{Role::kUser, "task", {}, "", false},
          {Role::kAssistant,
           "I look",
           {{"c1", "bash", R"({"command":"ls"})"}, {"c2", "bash", "{"}},
           "",
           false},
          {Role::kTool, "listing", {}, "c1", false},
          {Role::kTool, "no JSON", {}, "c2", true}};
}

const std::vector<ToolSpec>& Specs() {
  static const std::vector<ToolSpec> specs = {{"bash", "runs", R"({"type":"object"})"}};
  return specs;
}

TEST_CASE("A key never leaves for another machine in the clear") {
  const auto valid = [](std::string url) {
    ModelEndpoint endpoint;
    endpoint.base_url = std::move(url);
    return CheckEndpoint(endpoint).ok();
  };
  for (const char* url : {"https://api.example.com", "http://127.0.0.1:8080/v1",
                          "http://localhost:11434/v1", "http://[::1]:1/v1"}) {
    CHECK(valid(url));
  }
  for (const char* url :
       {"http://api.example.com", "http://127.0.0.1.example.com/", "http://localhost@example.com/",
        "ftp://localhost", "localhost:80", "", "https://", "http://user:x@127.0.0.1/"}) {
    CAPTURE(url);
    CHECK_FALSE(valid(url));
  }
}

TEST_CASE("A conversation becomes the messages of the Anthropic API") {
  std::vector<ModelRequest> sent;
  const auto model = MakeAnthropicModel(
      Endpoint(),
      std::make_unique<FakeTransport>(
          std::vector<FakeTransport::Answer>{{{R"({"type":"message_stop"})"}, {}}}, sent));
  REQUIRE(model->Next(Conversation(), Specs(), {}).ok());
  CHECK(sent[0].url == "https://example.invalid/v1/messages");
  const json body = json::parse(sent[0].body);
  CHECK(sent[0].body.find("the-key") == std::string::npos);
  CHECK(body["stream"] == true);
  CHECK(body["tools"][0]["name"] == "bash");
  const json& messages = body["messages"];
  REQUIRE(messages.size() == 3);
  CHECK(messages[1]["content"][1]["input"]["command"] == "ls");
  CHECK(messages[1]["content"][2]["input"].is_object());
  REQUIRE(messages[2]["content"].size() == 2);
  CHECK(messages[2]["role"] == "user");
  CHECK(messages[2]["content"][0]["tool_use_id"] == "c1");
  CHECK(messages[2]["content"][1]["is_error"] == true);
}

TEST_CASE("A conversation becomes the messages of chat completions") {
  std::vector<ModelRequest> sent;
  const auto model = MakeOpenAiModel(
      Endpoint(),
      std::make_unique<FakeTransport>(std::vector<FakeTransport::Answer>{{{"[DONE]"}, {}}}, sent));
  REQUIRE(model->Next(Conversation(), Specs(), {}).ok());
  CHECK(sent[0].url == "https://example.invalid/chat/completions");
  const json messages = json::parse(sent[0].body)["messages"];
  REQUIRE(messages.size() == 5);
  CHECK(messages[0]["role"] == "system");
  CHECK(messages[2]["tool_calls"][1]["function"]["arguments"] == "{");
  CHECK(messages[3]["tool_call_id"] == "c1");
  CHECK(messages[4]["content"] == "error: no JSON");
}

TEST_CASE("Parallel calls are put together from their parts, in order") {
  std::vector<ModelRequest> sent;
  const auto model = MakeOpenAiModel(
      Endpoint(),
      std::make_unique<FakeTransport>(
          std::vector<FakeTransport::Answer>{
              {{R"({"choices":[{"delta":{"content":"Hel"}}]})",
                R"({"choices":[{"delta":{"content":"lo"}}]})",
                R"({"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"bash","arguments":"{\"x\""}}]}}]})",
                R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":""}}]}}]})",
                R"({"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]})"},
               {}}},
          sent));
  const auto turn = model->Next(Conversation(), Specs(), {});
  REQUIRE(turn.ok());
  CHECK(turn->text == "Hello");
  REQUIRE(turn->calls.size() == 2);
  CHECK(turn->calls[0].id == "a");
  CHECK(turn->calls[0].arguments_json == "{}");
  CHECK(turn->calls[1].arguments_json == R"({"x":1})");
}

TEST_CASE("Calls of servers that number nothing are told apart by their ids") {
  std::vector<ModelRequest> sent;
  const auto model = MakeOpenAiModel(
      Endpoint(),
      std::make_unique<FakeTransport>(
          std::vector<FakeTransport::Answer>{
              {{R"({"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"bash","arguments":"{}"}}]}}]})",
                R"({"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"bash","arguments":"{}"}}]}}]})",
                "[DONE]"},
               {}}},
          sent));
  CHECK(model->Next(Conversation(), Specs(), {})->calls.size() == 2);
}

TEST_CASE("A stream that breaks off is asked for again, and its half of a turn is forgotten") {
  const FakeTransport::Answer half = {
      {R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"bash"}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}})"},
      Broken()};
  const FakeTransport::Answer silent_end = {
      {R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}})"},
      {}};
  const FakeTransport::Answer whole = {
      {R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"whole"}})",
       R"({"type":"message_stop"})"},
      Broken()};
  std::vector<ModelRequest> sent;
  int retries = 0;
  ModelEndpoint endpoint = Endpoint();
  endpoint.on_retry = [&retries](std::string_view, milliseconds) { ++retries; };
  const auto model = MakeAnthropicModel(
      endpoint, std::make_unique<FakeTransport>(
                    std::vector<FakeTransport::Answer>{half, silent_end, whole}, sent));
  const auto turn = model->Next(Conversation(), Specs(), {});
  REQUIRE(turn.ok());
  CHECK(turn->text == "whole");
  CHECK(turn->calls.empty());
  CHECK(sent.size() == 3);
  CHECK(retries == 2);
}

TEST_CASE("Attempts end, and what will not pass is not tried again") {
  std::vector<ModelRequest> sent;
  const auto broken = MakeOpenAiModel(
      Endpoint(),
      std::make_unique<FakeTransport>(std::vector<FakeTransport::Answer>(3, {{}, Broken()}), sent));
  CHECK(Is(broken->Next(Conversation(), Specs(), {}).status(), ErrorCode::kUnavailable));
  CHECK(sent.size() == 3);
  sent.clear();
  const auto refused = MakeOpenAiModel(
      Endpoint(),
      std::make_unique<FakeTransport>(
          std::vector<FakeTransport::Answer>{{{}, MakeError(ErrorCode::kInvalidRequest, "no key")}},
          sent));
  CHECK(Is(refused->Next(Conversation(), Specs(), {}).status(), ErrorCode::kInvalidRequest));
  CHECK(sent.size() == 1);
}

TEST_CASE("A pause between attempts ends at once when it is cancelled") {
  std::vector<ModelRequest> sent;
  std::stop_source stop;
  ModelEndpoint endpoint = Endpoint();
  endpoint.first_pause = std::chrono::minutes(1);
  endpoint.on_retry = [&stop](std::string_view, milliseconds) { stop.request_stop(); };
  const auto model = MakeOpenAiModel(
      endpoint,
      std::make_unique<FakeTransport>(std::vector<FakeTransport::Answer>(3, {{}, Broken()}), sent));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(Is(model->Next(Conversation(), Specs(), stop.get_token()).status(), ErrorCode::kCancelled));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("Text is handed out line by line as it comes") {
  std::vector<std::string> lines;
  TextLines text([&lines](std::string_view line) { lines.emplace_back(line); });
  text.Add("on");
  text.Add("e\ntwo\nth");
  CHECK(lines == std::vector<std::string>{"one", "two"});
  text.Finish();
  CHECK(lines.back() == "th");
}

}  // namespace
}  // namespace cordon::agent
