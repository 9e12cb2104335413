#include "anthropic_model.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "json_members.h"
#include "nlohmann/json.hpp"
#include "streamed_turn.h"
#include "system_prompt.h"

namespace cordon::agent {
namespace {

using Json = nlohmann::json;

constexpr int kMaxTokens = 8192;

// --- the request

// A model's arguments as the object that the API wants back, also when they are none.
Json InputOf(const ToolCall& call) {
  Json input = Json::parse(call.arguments_json, nullptr, false);
  return input.is_object() ? input : Json{{"not_an_object", call.arguments_json}};
}

Json AssistantContent(const Message& message) {
  Json content = Json::array();
  if (!message.text.empty()) content.push_back({{"type", "text"}, {"text", message.text}});
  for (const ToolCall& call : message.calls) {
    content.push_back(
        {{"type", "tool_use"}, {"id", call.id}, {"name", call.tool}, {"input", InputOf(call)}});
  }
  return content;
}

Json ToolResultJson(const Message& message) {
  return {{"type", "tool_result"},
          {"tool_use_id", message.call_id},
          {"content", message.text},
          {"is_error", message.is_error}};
}

// The results of one turn are one message of the user.
Json MessagesJson(absl::Span<const Message> transcript) {
  Json messages = Json::array();
  bool results_open = false;
  for (const Message& message : transcript) {
    const bool was_open = std::exchange(results_open, message.role == Role::kTool);
    switch (message.role) {
      case Role::kUser:
        messages.push_back({{"role", "user"}, {"content", message.text}});
        break;
      case Role::kAssistant: {
        Json content = AssistantContent(message);
        if (!content.empty()) {
          messages.push_back({{"role", "assistant"}, {"content", std::move(content)}});
        }
        break;
      }
      case Role::kTool:
        if (!was_open) messages.push_back({{"role", "user"}, {"content", Json::array()}});
        messages.back()["content"].push_back(ToolResultJson(message));
        break;
    }
  }
  return messages;
}

Json ToolsJson(absl::Span<const ToolSpec> specs) {
  Json tools = Json::array();
  for (const ToolSpec& spec : specs) {
    tools.push_back({{"name", spec.name},
                     {"description", spec.description},
                     {"input_schema", Json::parse(spec.input_schema_json, nullptr, false)}});
  }
  return tools;
}

// --- the answer

// Puts a turn together from the events of one stream.
class TurnReader {
 public:
  explicit TurnReader(const OnModelText& on_text) : lines_(on_text) {}

  // False when nothing more is wanted.
  bool OnEvent(std::string_view data) {
    const Json event = Json::parse(data, nullptr, false);
    const std::string type = TextAt(event, "type");
    if (type == "content_block_start") StartBlock(event);
    if (type == "content_block_delta") AddToBlock(event);
    if (type == "message_stop") finished_ = true;
    if (type == "error") error_ = TextAt(MemberAt(event, "error"), "message");
    return !finished_ && error_.empty();
  }

  [[nodiscard]] bool finished() const { return finished_; }

  absl::StatusOr<Turn> Finish() && {
    lines_.Finish();
    if (!error_.empty()) {
      return MakeError(ErrorCode::kUnavailable,
                       absl::StrFormat("the model's server says: %s", EscapeForDisplay(error_)));
    }
    if (!finished_) {
      return MakeError(ErrorCode::kUnavailable, "the model's answer broke off");
    }
    for (auto& [index, call] : calls_) {
      if (call.arguments_json.empty()) call.arguments_json = "{}";
      turn_.calls.push_back(std::move(call));
    }
    return std::move(turn_);
  }

 private:
  static int IndexOf(const Json& event) {
    const Json& index = MemberAt(event, "index");
    return index.is_number_integer() ? index.get<int>() : 0;
  }

  void StartBlock(const Json& event) {
    const Json& block = MemberAt(event, "content_block");
    if (TextAt(block, "type") == "tool_use") {
      calls_[IndexOf(event)] = {TextAt(block, "id"), TextAt(block, "name"), ""};
    }
  }

  void AddToBlock(const Json& event) {
    const Json& delta = MemberAt(event, "delta");
    const std::string type = TextAt(delta, "type");
    if (type == "text_delta") {
      const std::string text = TextAt(delta, "text");
      turn_.text += text;
      lines_.Add(text);
    } else if (type == "input_json_delta") {
      const auto call = calls_.find(IndexOf(event));
      if (call != calls_.end()) call->second.arguments_json += TextAt(delta, "partial_json");
    }
  }

  TextLines lines_;
  Turn turn_;
  std::map<int, ToolCall> calls_;
  std::string error_;
  bool finished_ = false;
};

class AnthropicModel final : public Model {
 public:
  AnthropicModel(ModelEndpoint endpoint, std::unique_ptr<ModelTransport> transport)
      : endpoint_(std::move(endpoint)), transport_(std::move(transport)) {}

  absl::StatusOr<Turn> Next(absl::Span<const Message> transcript, absl::Span<const ToolSpec> tools,
                            std::stop_token stop) override {
    return StreamTurn<TurnReader>(endpoint_, *transport_, MakeRequest(transcript, tools),
                                  std::move(stop));
  }

 private:
  ModelRequest MakeRequest(absl::Span<const Message> transcript,
                           absl::Span<const ToolSpec> tools) const {
    const Json body = {{"model", endpoint_.model},
                       {"max_tokens", kMaxTokens},
                       {"stream", true},
                       {"system", std::string(kSystemPrompt)},
                       {"tools", ToolsJson(tools)},
                       {"messages", MessagesJson(transcript)}};
    return {endpoint_.base_url + "/v1/messages",
            {"content-type: application/json", "accept: text/event-stream",
             "anthropic-version: 2023-06-01", "x-api-key: " + endpoint_.key},
            body.dump(-1, ' ', false, Json::error_handler_t::replace)};
  }

  const ModelEndpoint endpoint_;
  const std::unique_ptr<ModelTransport> transport_;
};

}  // namespace

std::unique_ptr<Model> MakeAnthropicModel(ModelEndpoint endpoint,
                                          std::unique_ptr<ModelTransport> transport) {
  return std::make_unique<AnthropicModel>(std::move(endpoint), std::move(transport));
}

}  // namespace cordon::agent
