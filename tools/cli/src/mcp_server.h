// The Model Context Protocol (modelcontextprotocol.io, revisions 2024-11-05 to 2025-06-18) for one
// tool, without any transport: messages come in and go out as lines of JSON-RPC 2.0.

#ifndef CORDON_TOOLS_CLI_SRC_MCP_SERVER_H_
#define CORDON_TOOLS_CLI_SRC_MCP_SERVER_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "cordon/sdk/admission.h"
#include "cordon/sdk/tool.h"
#include "cordon/sdk/tool_call.h"
#include "nlohmann/json_fwd.hpp"

namespace cordon::internal {

// Sends one message, a line without its newline; safe from any thread.
using McpSend = std::function<void(const std::string& line)>;

// Asks the person behind the client by `elicitation/create`, where the client announced that it
// can; otherwise kNoApprover. Safe from any thread.
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

class McpServer {
 public:
  static constexpr std::size_t kMaxCalls = 16;

  // `tool`, `step` and `approver` are borrowed.
  McpServer(Tool& tool, const ToolCallStep& step, ElicitingApprover* approver, McpSend send);
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
  void Reply(const nlohmann::json& id, const nlohmann::json& result);
  void ReplyError(const nlohmann::json& id, int code, const std::string& text);
  void Send(const nlohmann::json& message);
  [[nodiscard]] nlohmann::json Initialize(const nlohmann::json& parameters);
  [[nodiscard]] nlohmann::json ListTools() const;

  Tool& tool_;
  const ToolCallStep& step_;
  ElicitingApprover* approver_;
  McpSend send_;
  std::mutex mutex_;
  std::list<std::unique_ptr<Call>> calls_;
};

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_CLI_SRC_MCP_SERVER_H_
