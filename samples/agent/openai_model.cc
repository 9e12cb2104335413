#include "openai_model.h"

#include <string>
#include <utility>

#include "json_members.h"
#include "nlohmann/json.hpp"
#include "streamed_turn.h"
#include "system_prompt.h"

namespace cordon::agent {
namespace {

using Json = nlohmann::json;

// --- the request

Json AssistantJson(const Message& message) {
  Json object = {{"role", "assistant"}, {"content", message.text}};
  for (const ToolCall& call : message.calls) {
    object["tool_calls"].push_back(
        {{"id", call.id},
         {"type", "function"},
         {"function", {{"name", call.tool}, {"arguments", call.arguments_json}}}});
  }
  return object;
}

Json MessagesJson(absl::Span<const Message> transcript) {
  Json messages = {{{"role", "system"}, {"content", std::string(kSystemPrompt)}}};
  for (const Message& message : transcript) {
    switch (message.role) {
      case Role::kUser:
        messages.push_back({{"role", "user"}, {"content", message.text}});
        break;
      case Role::kAssistant:
        messages.push_back(AssistantJson(message));
        break;
      case Role::kTool:
        messages.push_back({{"role", "tool"},
                            {"tool_call_id", message.call_id},
                            {"content", (message.is_error ? "error: " : "") + message.text}});
        break;
    }
  }
  return messages;
}

Json ToolsJson(absl::Span<const ToolSpec> specs) {
  Json tools = Json::array();
  for (const ToolSpec& spec : specs) {
    tools.push_back({{"type", "function"},
                     {"function",
                      {{"name", spec.name},
                       {"description", spec.description},
                       {"parameters", Json::parse(spec.input_schema_json, nullptr, false)}}}});
  }
  return tools;
}

// --- the answer

class TurnReader : public TurnInPieces {
 public:
  using TurnInPieces::TurnInPieces;

  bool OnEvent(std::string_view data) {
    if (data == "[DONE]") {
      SetFinished();
      return false;
    }
    const Json event = Json::parse(data, nullptr, false);
    if (MemberAt(event, "error").is_object()) {
      Fail(TextAt(event["error"], "message"));
      return false;
    }
    const Json& choices = MemberAt(event, "choices");
    if (!choices.is_array() || choices.empty()) return true;  // E.g. the usage.
    AddDelta(MemberAt(choices[0], "delta"));
    // Some servers end the stream without [DONE].
    if (MemberAt(choices[0], "finish_reason").is_string()) SetFinished();
    return true;
  }

 private:
  void AddDelta(const Json& delta) {
    AddText(TextAt(delta, "content"));
    const Json& parts = MemberAt(delta, "tool_calls");
    if (!parts.is_array()) return;
    for (const Json& part : parts) AddCallPart(part);
  }

  // Some servers send no index: a part with an id of its own begins a new call.
  void AddCallPart(const Json& part) {
    const std::string id = TextAt(part, "id");
    const Json& index = MemberAt(part, "index");
    int key = calls_.empty() ? 0 : calls_.rbegin()->first;
    if (index.is_number_integer()) {
      key = index.get<int>();
    } else if (!calls_.empty() && !id.empty() && calls_.rbegin()->second.id != id) {
      ++key;
    }
    ToolCall& call = calls_[key];
    if (!id.empty()) call.id = id;
    const Json& function = MemberAt(part, "function");
    call.tool += TextAt(function, "name");
    call.arguments_json += TextAt(function, "arguments");
  }
};

ModelRequest WriteRequest(const ModelEndpoint& endpoint, absl::Span<const Message> transcript,
                          absl::Span<const ToolSpec> tools) {
  const Json body = {{"model", endpoint.model},
                     {"stream", true},
                     {"messages", MessagesJson(transcript)},
                     {"tools", ToolsJson(tools)}};
  ModelRequest request{endpoint.base_url + "/chat/completions",
                       {"content-type: application/json", "accept: text/event-stream"},
                       body.dump(-1, ' ', false, Json::error_handler_t::replace)};
  if (!endpoint.key.empty()) request.headers.push_back("authorization: Bearer " + endpoint.key);
  return request;
}

}  // namespace

std::unique_ptr<Model> MakeOpenAiModel(ModelEndpoint endpoint,
                                       std::unique_ptr<ModelTransport> transport) {
  return std::make_unique<StreamedModel<TurnReader>>(std::move(endpoint), std::move(transport),
                                                     WriteRequest);
}

}  // namespace cordon::agent
