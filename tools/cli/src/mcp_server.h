// The Model Context Protocol (modelcontextprotocol.io, revisions 2024-11-05 to 2025-06-18) for a
// set of tools, without any transport: messages come in and go out as lines of JSON-RPC 2.0.

#ifndef CORDON_TOOLS_CLI_SRC_MCP_SERVER_H_
#define CORDON_TOOLS_CLI_SRC_MCP_SERVER_H_

#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/admission.h"
#include "cordon/sdk/tool.h"
#include "cordon/sdk/tool_call.h"
#include "mcp_log.h"
#include "nlohmann/json_fwd.hpp"

namespace cordon::cli {

// Asks the person behind the client by `elicitation/create`, where the client announced that it
// can; otherwise kNoApprover. Only an accepted form with an explicit decision approves, and only
// that or a declined one is a person's answer: a question that was closed without one, or that the
// client could not show, is kNoApprover. Safe from any thread.
class ElicitingApprover : public Approver {
 public:
  explicit ElicitingApprover(McpSend send) : send_(std::move(send)) {}

  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override;

  void SetSupported(bool supported);
  // Takes the client's response to one of our requests; false when it is none of ours.
  bool Respond(const nlohmann::json& message);

 private:
  McpSend send_;
  std::mutex mutex_;
  std::condition_variable_any answered_;
  bool supported_ = false;
  std::uint64_t last_id_ = 0;
  std::map<std::string, std::string> waiting_;  // By our id: the response, empty until it came.
};

// What a client is told about one tool beside what the tool says itself.
struct McpTool {
  Tool* tool = nullptr;  // Borrowed.
  std::string title;
  std::string result_schema_json;  // Empty: none is announced.
  bool read_only = false;
};

struct McpParts {
  std::vector<McpTool> tools;
  const ToolCallStep* step = nullptr;     // Borrowed; has the same tools.
  ElicitingApprover* approver = nullptr;  // Borrowed; may be null.
  McpLog* log = nullptr;                  // Borrowed.
  std::string instructions;               // What the whole server is for; may be empty.
};

class McpServer {
 public:
  static constexpr std::size_t kMaxCalls = 16;

  McpServer(McpParts parts, McpSend send);
  // Cancels every call and waits for them.
  ~McpServer();

  // One line from the client. Calls run in the background; everything else is answered at once.
  void Handle(const std::string& line);

  // Progress notifications for the calls that asked for them; call it about once a second.
  void Tick();

 private:
  struct Call;

  void HandleMessage(const nlohmann::json& message);
  void HandleRequest(const nlohmann::json& message);
  void HandleNotification(const nlohmann::json& message);
  void StartCall(const nlohmann::json& message);
  void RunCall(Call& call);
  void SetLogLevel(const nlohmann::json& message);
  void LogRefusal(const ToolCall& call, const ToolCallOutcome& outcome);
  void Reply(const nlohmann::json& id, const nlohmann::json& result);
  void ReplyError(const nlohmann::json& id, int code, const std::string& text);
  void Send(const nlohmann::json& message);
  [[nodiscard]] nlohmann::json Initialize(const nlohmann::json& parameters);
  [[nodiscard]] nlohmann::json ListTools() const;

  const McpParts parts_;
  const McpSend send_;
  std::mutex mutex_;
  std::list<std::unique_ptr<Call>> calls_;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_MCP_SERVER_H_
