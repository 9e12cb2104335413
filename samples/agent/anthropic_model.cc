#include "anthropic_model.h"

#include <string>
#include <utility>

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

class TurnReader : public TurnInPieces {
 public:
  using TurnInPieces::TurnInPieces;

  bool OnEvent(std::string_view data) {
    const Json event = Json::parse(data, nullptr, false);
    const std::string type = TextAt(event, "type");
    if (type == "content_block_start") StartBlock(event);
    if (type == "content_block_delta") AddToBlock(event);
    if (type == "message_stop") SetFinished();
    if (type == "error") Fail(TextAt(MemberAt(event, "error"), "message"));
    return !finished() && !failed();
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
      AddText(TextAt(delta, "text"));
    } else if (type == "input_json_delta") {
      const auto call = calls_.find(IndexOf(event));
      if (call != calls_.end()) call->second.arguments_json += TextAt(delta, "partial_json");
    }
  }
};

ModelRequest WriteRequest(const ModelEndpoint& endpoint, absl::Span<const Message> transcript,
                          absl::Span<const ToolSpec> tools) {
  const Json body = {{"model", endpoint.model},
                     {"max_tokens", kMaxTokens},
                     {"stream", true},
                     {"system", std::string(kSystemPrompt)},
                     {"tools", ToolsJson(tools)},
                     {"messages", MessagesJson(transcript)}};
  return {endpoint.base_url + "/v1/messages",
          {"content-type: application/json", "accept: text/event-stream",
           "anthropic-version: 2023-06-01", "x-api-key: " + endpoint.key},
          body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace

std::unique_ptr<Model> MakeAnthropicModel(ModelEndpoint endpoint,
                                          std::unique_ptr<ModelTransport> transport) {
  return std::make_unique<StreamedModel<TurnReader>>(std::move(endpoint), std::move(transport),
                                                     WriteRequest);
}

}  // namespace cordon::agent
