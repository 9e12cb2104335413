// A client of `cordon mcp`: JSON-RPC over the program's standard streams.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_MCP_CLIENT_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_MCP_CLIENT_H_

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "integration/support/child.h"
#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "nlohmann/json.hpp"

namespace cordon::test {

class McpClient {
 public:
  // The `result` for a request of the server.
  using OnRequest = std::function<nlohmann::json(const nlohmann::json& request)>;

  // Starts the server with these policy options and shakes hands. With `on_request` the client
  // announces that it can ask a person.
  explicit McpClient(const Ground& ground, const Words& policy = {}, OnRequest on_request = {});

  // Sends one line as it is.
  void SendLine(const std::string& line);
  // The next message of any kind; null at the deadline.
  nlohmann::json Next(std::chrono::milliseconds limit = std::chrono::seconds(15));

  // Sends a request and returns its id; `Answer` then waits for the response to it.
  int Ask(const std::string& method, const nlohmann::json& parameters = nlohmann::json::object());
  nlohmann::json Answer(int id, std::chrono::milliseconds limit = std::chrono::seconds(20));
  nlohmann::json Call(const std::string& method,
                      const nlohmann::json& parameters = nlohmann::json::object());

  int AskBash(const std::string& command, const nlohmann::json& more = nlohmann::json::object());
  // The `result` of a call of any tool.
  nlohmann::json Tool(const std::string& name, const nlohmann::json& arguments);
  // The `result` of a call of `bash`, which must not be an error of the protocol.
  nlohmann::json Bash(const std::string& command,
                      const nlohmann::json& more = nlohmann::json::object());

  [[nodiscard]] const nlohmann::json& about() const { return about_; }  // Of `initialize`.
  // The notifications of this method that came while answers were waited for.
  [[nodiscard]] std::vector<nlohmann::json> Notifications(const std::string& method) const;
  [[nodiscard]] Child& server() { return server_; }
  // Ends the client's side and returns how the server ended.
  Ended HangUp();

 private:
  Child server_;
  OnRequest on_request_;
  nlohmann::json about_;
  std::vector<nlohmann::json> notifications_;
  std::map<int, nlohmann::json> kept_;
  int last_id_ = 0;
};

// The text that the model reads.
[[nodiscard]] std::string TextOf(const nlohmann::json& result);

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_MCP_CLIENT_H_
