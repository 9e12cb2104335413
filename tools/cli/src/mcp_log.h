// The server's log as the client sees it: `notifications/message`, from a level on that the client
// chooses (Model Context Protocol 2025-06-18, "Logging").

#ifndef CORDON_TOOLS_CLI_SRC_MCP_LOG_H_
#define CORDON_TOOLS_CLI_SRC_MCP_LOG_H_

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "nlohmann/json_fwd.hpp"

namespace cordon::cli {

// Sends one message, a line without its newline; safe from any thread.
using McpSend = std::function<void(const std::string& line)>;

// The levels of RFC 5424, least severe first.
enum class McpLevel : int {
  kDebug,
  kInfo,
  kNotice,
  kWarning,
  kError,
  kCritical,
  kAlert,
  kEmergency
};

// Safe from any thread.
class McpLog {
 public:
  explicit McpLog(McpSend send) : send_(std::move(send)) {}

  // False for an unknown name. Until it is called, everything from kInfo on is sent.
  bool SetLevel(std::string_view name);
  void Write(McpLevel level, std::string_view logger, const nlohmann::json& data) const;

 private:
  const McpSend send_;
  std::atomic<int> least_ = static_cast<int>(McpLevel::kInfo);
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_MCP_LOG_H_
