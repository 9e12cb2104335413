#include "mcp_log.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "nlohmann/json.hpp"

namespace cordon::cli {
namespace {

// In the order of `McpLevel`.
constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};

}  // namespace

bool McpLog::SetLevel(std::string_view name) {
  const auto* found = std::find(kLevels.begin(), kLevels.end(), name);
  if (found == kLevels.end()) return false;
  least_ = static_cast<int>(std::distance(kLevels.begin(), found));
  return true;
}

void McpLog::Write(McpLevel level, std::string_view logger, const nlohmann::json& data) const {
  const int number = static_cast<int>(level);
  if (number < least_) return;
  const nlohmann::json message = {{"jsonrpc", "2.0"},
                                  {"method", "notifications/message"},
                                  {"params",
                                   {{"level", kLevels.at(static_cast<std::size_t>(number))},
                                    {"logger", logger},
                                    {"data", data}}}};
  send_(message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace cordon::cli
