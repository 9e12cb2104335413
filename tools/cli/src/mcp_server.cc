#include "mcp_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"

namespace cordon::cli {
namespace {

using Json = nlohmann::json;

// JSON-RPC 2.0, section 5.1.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;

constexpr std::array<std::string_view, 3> kRevisions = {"2025-06-18", "2025-03-26", "2024-11-05"};

// Members of `value` that may be missing or of another type.
const Json& Member(const Json& value, const char* name) {
  static const Json kNull;
  if (!value.is_object()) return kNull;
  const auto found = value.find(name);
  return found == value.end() ? kNull : *found;
}

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A schema of ours; null for none.
Json ParseSchema(const std::string& text) { return Json::parse(text, nullptr, false); }

Json ToolJson(const McpTool& entry) {
  Json object = {{"name", entry.tool->name()},
                 {"title", entry.title},
                 {"description", entry.tool->description()},
                 {"inputSchema", ParseSchema(entry.tool->input_schema_json())},
                 {"annotations", {{"title", entry.title}, {"readOnlyHint", entry.read_only}}}};
  if (!entry.result_schema_json.empty()) {
    object["outputSchema"] = ParseSchema(entry.result_schema_json);
  }
  return object;
}

Json ResultJson(const ToolCallOutcome& outcome) {
  Json result = {{"content", {{{"type", "text"}, {"text", outcome.result.text}}}},
                 {"isError", outcome.result.is_error || !outcome.status.ok()}};
  if (!outcome.result.structured_json.empty()) {
    Json structured = Json::parse(outcome.result.structured_json, nullptr, false);
    if (structured.is_object()) result["structuredContent"] = std::move(structured);
  }
  return result;
}

}  // namespace

struct McpServer::Call {
  Json id;
  ToolCall call;
  Json progress_token;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  bool cancelled = false;  // By the client, which then expects no answer.
  bool done = false;
  std::jthread thread;  // Last, so that it ends before what it uses.
};

McpServer::McpServer(McpParts parts, McpSend send)
    : parts_(std::move(parts)), send_(std::move(send)) {}

McpServer::~McpServer() {
  std::list<std::unique_ptr<Call>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& call : calls_) {
      call->cancelled = true;
      call->thread.request_stop();
    }
  }
  // The threads take the lock when they end, so they are joined without it.
  for (const auto& call : calls_) call->thread.join();
}

void McpServer::Handle(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  const Json message = Json::parse(line, nullptr, false);
  if (message.is_discarded()) {
    ReplyError(nullptr, kParseError, "this line is no JSON");
    return;
  }
  if (!message.is_array()) {
    HandleMessage(message);
    return;
  }
  // A batch, as in revision 2025-03-26; the answers come one by one, which JSON-RPC allows.
  if (message.empty()) ReplyError(nullptr, kInvalidRequest, "an empty batch");
  for (const Json& part : message) HandleMessage(part);
}

void McpServer::HandleMessage(const Json& message) {
  const bool has_id = message.is_object() && message.contains("id");
  if (!Member(message, "method").is_string()) {
    const bool response = has_id && (message.contains("result") || message.contains("error"));
    if (response && parts_.approver != nullptr && parts_.approver->Respond(message)) return;
    if (!response) ReplyError(nullptr, kInvalidRequest, "neither a request nor a response");
    return;
  }
  if (has_id) {
    HandleRequest(message);
  } else {
    HandleNotification(message);
  }
}

void McpServer::HandleRequest(const Json& message) {
  const Json& id = message["id"];
  const std::string method = Text(message["method"]);
  if (!id.is_string() && !id.is_number_integer()) {
    ReplyError(nullptr, kInvalidRequest, "the id is neither a string nor an integer");
  } else if (method == "initialize") {
    Reply(id, Initialize(Member(message, "params")));
  } else if (method == "ping") {
    Reply(id, Json::object());
  } else if (method == "logging/setLevel") {
    SetLogLevel(message);
  } else if (method == "tools/list") {
    Reply(id, ListTools());
  } else if (method == "tools/call") {
    StartCall(message);
  } else {
    ReplyError(id, kMethodNotFound, absl::StrFormat("there is no method %s", method));
  }
}

void McpServer::HandleNotification(const Json& message) {
  if (Text(message["method"]) != "notifications/cancelled") return;
  const Json& id = Member(Member(message, "params"), "requestId");
  const std::lock_guard lock(mutex_);
  for (const auto& call : calls_) {
    if (call->id != id) continue;
    call->cancelled = true;
    call->thread.request_stop();
  }
}

void McpServer::SetLogLevel(const Json& message) {
  const std::string level = Text(Member(Member(message, "params"), "level"));
  if (parts_.log->SetLevel(level)) {
    Reply(message["id"], Json::object());
  } else {
    ReplyError(message["id"], kInvalidParams,
               absl::StrFormat("there is no level \"%s\"; they are those of RFC 5424", level));
  }
}

void McpServer::StartCall(const Json& message) {
  const Json& id = message["id"];
  const Json& parameters = Member(message, "params");
  const std::string name = Text(Member(parameters, "name"));
  std::string known;
  bool found = false;
  for (const McpTool& entry : parts_.tools) {
    found |= entry.tool->name() == name;
    known += absl::StrFormat("%s%s", known.empty() ? "" : ", ", entry.tool->name());
  }
  if (!found) {
    ReplyError(id, kInvalidParams,
               absl::StrFormat("there is no tool \"%s\"; there are: %s", name, known));
    return;
  }
  const Json& arguments = Member(parameters, "arguments");
  auto call = std::make_unique<Call>();
  call->id = id;
  call->call = {Dump(id), name, arguments.is_null() ? "{}" : Dump(arguments)};
  call->progress_token = Member(Member(parameters, "_meta"), "progressToken");

  const std::lock_guard lock(mutex_);
  calls_.remove_if([](const auto& old) { return old->done; });
  if (calls_.size() >= kMaxCalls) {
    ReplyError(id, kInvalidRequest,
               absl::StrFormat("%d calls are running already, wait for one", kMaxCalls));
    return;
  }
  Call& running = *calls_.emplace_back(std::move(call));
  running.thread = std::jthread([this, &running] { RunCall(running); });
}

void McpServer::RunCall(Call& call) {
  std::stop_token stop;
  {
    const std::lock_guard lock(mutex_);  // Until the thread has been stored.
    stop = call.thread.get_stop_token();
  }
  const ToolCallOutcome outcome = parts_.step->Run(call.call, stop);
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    cancelled = call.cancelled;
  }
  if (!cancelled && !outcome.status.ok()) LogRefusal(call.call, outcome);
  if (!cancelled) Reply(call.id, ResultJson(outcome));
  const std::lock_guard lock(mutex_);
  call.done = true;
}

void McpServer::LogRefusal(const ToolCall& call, const ToolCallOutcome& outcome) {
  const std::optional<Error> error = ErrorOf(outcome.status);
  parts_.log->Write(McpLevel::kNotice, "calls",
                    {{"tool", call.tool},
                     {"execution_id", outcome.execution_id},
                     {"code", error ? std::string(ErrorCodeName(error->code)) : "failed"},
                     {"message", std::string(outcome.status.message())}});
}

void McpServer::Tick() {
  const std::lock_guard lock(mutex_);
  for (const auto& call : calls_) {
    if (call->done || call->cancelled || call->progress_token.is_null()) continue;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
                             std::chrono::steady_clock::now() - call->started)
                             .count();
    if (seconds == 0) continue;
    Send({{"jsonrpc", "2.0"},
          {"method", "notifications/progress"},
          {"params",
           {{"progressToken", call->progress_token},
            {"progress", seconds},
            {"message", absl::StrFormat("running for %d s", seconds)}}}});
  }
}

Json McpServer::Initialize(const Json& parameters) {
  if (parts_.approver != nullptr) {
    parts_.approver->SetSupported(
        Member(Member(parameters, "capabilities"), "elicitation").is_object());
  }
  const std::string asked = Text(Member(parameters, "protocolVersion"));
  const bool known = std::find(kRevisions.begin(), kRevisions.end(), asked) != kRevisions.end();
  Json about = {
      {"protocolVersion", known ? asked : std::string(kRevisions.front())},
      {"capabilities", {{"tools", Json::object()}, {"logging", Json::object()}}},
      {"serverInfo", {{"name", "cordon"}, {"title", "cordon"}, {"version", CORDON_VERSION}}}};
  if (!parts_.instructions.empty()) about["instructions"] = parts_.instructions;
  return about;
}

Json McpServer::ListTools() const {
  Json tools = Json::array();
  for (const McpTool& entry : parts_.tools) tools.push_back(ToolJson(entry));
  return {{"tools", std::move(tools)}};
}

void McpServer::Reply(const Json& id, const Json& result) {
  Send({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}

void McpServer::ReplyError(const Json& id, int code, const std::string& text) {
  Send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", text}}}});
}

void McpServer::Send(const Json& message) { send_(Dump(message)); }

}  // namespace cordon::cli
