#include "integration/support/mcp_client.h"

#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;

Words ServerCommand(const Ground& ground, const Words& policy) {
  Words words = {CordonProgram(), "mcp", "-w", ground.workspace()};
  words.insert(words.end(), policy.begin(), policy.end());
  return words;
}

}  // namespace

McpClient::McpClient(const Ground& ground, const Words& policy, OnRequest on_request)
    : server_(ServerCommand(ground, policy), InsideOptions(ground)),
      on_request_(std::move(on_request)) {
  json capabilities = json::object();
  if (on_request_) capabilities["elicitation"] = json::object();
  const json answer = Call("initialize", {{"protocolVersion", "2025-06-18"},
                                          {"capabilities", capabilities},
                                          {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  INFO(answer.dump());
  REQUIRE(answer.contains("result"));
  about_ = answer["result"];
  SendLine(json({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}).dump());
}

void McpClient::SendLine(const std::string& line) { REQUIRE(server_.Write(line + "\n")); }

json McpClient::Next(std::chrono::milliseconds limit) {
  std::string line;
  if (!server_.ReadLine(line, limit)) return nullptr;
  const json message = json::parse(line, nullptr, false);
  INFO(line);
  REQUIRE(message.is_object());
  return message;
}

int McpClient::Ask(const std::string& method, const json& parameters) {
  const int id = ++last_id_;
  SendLine(
      json({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", parameters}}).dump());
  return id;
}

json McpClient::Answer(int id, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (kept_.count(id) == 0) {
    const json message = Next(std::chrono::milliseconds(MillisecondsUntil(end)));
    INFO("waiting for the answer to request " << id);
    REQUIRE_FALSE(message.is_null());
    const bool response = message.contains("id") && !message.contains("method");
    if (!response && !message.contains("id")) notifications_.push_back(message);
    if (!response && message.contains("id") && on_request_) {
      SendLine(json({{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", on_request_(message)}})
                   .dump());
    }
    if (response && message["id"].is_number_integer()) kept_[message["id"]] = message;
  }
  json answer = kept_[id];
  kept_.erase(id);
  return answer;
}

json McpClient::Call(const std::string& method, const json& parameters) {
  return Answer(Ask(method, parameters));
}

int McpClient::AskBash(const std::string& command, const json& more) {
  json arguments = {{"command", command}};
  arguments.update(more);
  return Ask("tools/call", {{"name", "bash"}, {"arguments", arguments}});
}

json McpClient::Bash(const std::string& command, const json& more) {
  const json answer = Answer(AskBash(command, more));
  INFO(answer.dump());
  REQUIRE(answer.contains("result"));
  return answer["result"];
}

json McpClient::Tool(const std::string& name, const json& arguments) {
  const json answer = Call("tools/call", {{"name", name}, {"arguments", arguments}});
  INFO(answer.dump());
  REQUIRE(answer.contains("result"));
  return answer["result"];
}

std::vector<json> McpClient::Notifications(const std::string& method) const {
  std::vector<json> found;
  for (const json& message : notifications_) {
    if (message["method"] == method) found.push_back(message);
  }
  return found;
}

Ended McpClient::HangUp() { return server_.Finish({}, std::chrono::seconds(10)); }

std::string TextOf(const json& result) {
  std::string text;
  for (const json& part : result["content"]) text += part.value("text", "") + "\n";
  return text;
}

}  // namespace cordon::test
