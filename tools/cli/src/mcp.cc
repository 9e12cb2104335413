// cordon mcp: the Bash tool as a Model Context Protocol server on standard input and output.

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "command_line.h"
#include "cordon/bash/bash_tool.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/tool_call.h"
#include "mcp_server.h"
#include "session.h"
#include "supervise.h"
#include "values.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;
constexpr int kTickMilliseconds = 1000;

struct McpArguments {
  SessionOptions session;
  std::string timeout;
};

// Whole lines to standard output, from any thread. A client that is gone is noticed by the reader.
class LineWriter {
 public:
  void Write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    const std::string text = line + "\n";
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  std::mutex mutex_;
};

// Hands each line of standard input to the server until the client hangs up.
absl::Status Serve(McpServer& server) {
  std::string pending;
  auto last_tick = std::chrono::steady_clock::now();
  while (true) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&input, 1, kTickMilliseconds);
    if (ready < 0 && errno != EINTR) return MakeErrnoError(errno, "cannot wait for input");
    const auto now = std::chrono::steady_clock::now();
    if (now - last_tick >= std::chrono::milliseconds(kTickMilliseconds)) {
      last_tick = now;
      server.Tick();
    }
    if (ready <= 0) continue;
    char buffer[65536];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::OkStatus();
    pending.append(buffer, static_cast<std::size_t>(got));
    std::size_t start = 0;
    for (std::size_t end; (end = pending.find('\n', start)) != std::string::npos; start = end + 1) {
      server.Handle(pending.substr(start, end - start));
    }
    pending.erase(0, start);
    if (pending.size() > kMaxLineBytes) {
      return MakeError(ErrorCode::kInvalidRequest, "a message of the client is longer than 16 MiB");
    }
  }
}

absl::StatusOr<BashToolOptions> ToolOptions(const McpArguments& arguments) {
  BashToolOptions options;
  if (arguments.timeout.empty()) return options;
  const auto timeout = ParseDuration(arguments.timeout);
  if (!timeout.ok()) return Annotate(timeout.status(), "--timeout");
  options.default_timeout = *timeout;
  options.max_timeout = *timeout;
  return options;
}

int Mcp(const McpArguments& arguments) {
  const auto tool_options = ToolOptions(arguments);
  if (!tool_options.ok()) return Fail(tool_options.status());
  LineWriter writer;
  const McpSend send = [&writer](const std::string& line) { writer.Write(line); };
  auto approver = std::make_shared<ElicitingApprover>(send);
  SessionOptions session_options = arguments.session;
  session_options.approver = approver;
  const auto profile = BuildSessionProfile(session_options);
  if (!profile.ok()) return Fail(profile.status());
  const auto session = Session::Open(*profile, session_options);
  if (!session.ok()) return Fail(session.status());
  const auto tool = BashTool::Create((*session)->shared_executor(), *tool_options);
  if (!tool.ok()) return Fail(tool.status());
  ToolCallOptions step_options;
  step_options.tools = {tool->get()};
  step_options.admission = &(*session)->admission();
  step_options.log = (*session)->log();
  const auto step = ToolCallStep::Create(std::move(step_options));
  if (!step.ok()) return Fail(step.status());

  absl::Status served;
  {
    McpServer server(**tool, *step, approver.get(), send);
    served = Serve(server);
  }
  const absl::Status closed = (*session)->Close();
  if (!served.ok()) return Fail(served);
  return closed.ok() ? 0 : Fail(closed);
}

}  // namespace

void AddMcpCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* mcp = root.add_subcommand("mcp", "Serve the Bash tool to an assistant (MCP on stdio)");
  mcp->footer(
      "Example, as an entry of an assistant's settings:\n"
      "  {\"command\": \"cordon\", \"args\": [\"mcp\", \"-w\", \"/path/to/project\"]}\n"
      "or by hand:\n"
      "  cordon mcp -w . --preset workspace --timeout 10m");
  auto arguments = std::make_shared<McpArguments>();
  AddSessionOptions(*mcp, arguments->session);
  mcp->add_option("--timeout", arguments->timeout, "Default and ceiling of a call's time limit")
      ->type_name("DURATION");
  mcp->callback([&invocation, arguments] {
    invocation.action = [arguments] {
      PrepareSignals();
      return Mcp(*arguments);
    };
  });
}

}  // namespace cordon::internal
