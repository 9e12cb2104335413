// cordon mcp: the Bash tool and its background jobs as a Model Context Protocol server on standard
// input and output.

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "command_line.h"
#include "cordon/bash/bash_tool.h"
#include "cordon/bash/job_tools.h"
#include "cordon/bash/process_registry.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/tool_call.h"
#include "cordon/sdk/unique_fd.h"
#include "line_writer.h"
#include "mcp_log.h"
#include "mcp_server.h"
#include "nlohmann/json.hpp"
#include "session.h"
#include "supervise.h"
#include "values.h"

namespace cordon::cli {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;
constexpr int kTickMilliseconds = 1000;

struct McpArguments {
  SessionOptions session;
  std::string timeout;
  std::string jobs;
};

constexpr char kInstructions[] =
    "Shell commands here are confined: files, network and approvals are what the bash tool's "
    "description says. Start servers and long work with \"background\": true. A refusal says how "
    "it "
    "can be allowed; do not try to get around it.";

// Vim waits for ever where it has neither a terminal nor an end of its input.
constexpr char kNoVim[] = "VIMINIT=autocmd VimEnter * cquit";

// Readable once somebody asks this process to end; `PrepareSignals` has blocked these.
absl::StatusOr<UniqueFd> OpenEndSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, signal);
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return MakeErrnoError(errno, "cannot watch for signals");
  return signals;
}

// Whole lines of standard input.
class LineReader {
 public:
  // One read's worth; false at the end of the input.
  absl::StatusOr<bool> Read(McpServer& server) {
    char buffer[65536];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got <= 0) return false;
    pending_.append(buffer, static_cast<std::size_t>(got));
    std::size_t start = 0;
    for (std::size_t end; (end = pending_.find('\n', start)) != std::string::npos;
         start = end + 1) {
      server.Handle(pending_.substr(start, end - start));
    }
    pending_.erase(0, start);
    if (pending_.size() <= kMaxLineBytes) return true;
    return MakeError(ErrorCode::kInvalidRequest, "a message of the client is longer than 16 MiB");
  }

 private:
  std::string pending_;
};

// Hands each line of standard input to the server until the client hangs up or a signal asks for
// the end.
absl::Status Serve(McpServer& server, const LineWriter& writer) {
  const absl::StatusOr<UniqueFd> signals = OpenEndSignals();
  if (!signals.ok()) return signals.status();
  LineReader reader;
  auto last_tick = std::chrono::steady_clock::now();
  while (true) {
    pollfd sources[] = {
        {STDIN_FILENO, POLLIN, 0}, {signals->get(), POLLIN, 0}, {writer.overflow_fd(), POLLIN, 0}};
    const int ready = ::poll(sources, 3, kTickMilliseconds);
    if (ready < 0 && errno != EINTR) return MakeErrnoError(errno, "cannot wait for input");
    const auto now = std::chrono::steady_clock::now();
    if (now - last_tick >= std::chrono::milliseconds(kTickMilliseconds)) {
      last_tick = now;
      server.Tick();
    }
    if (ready <= 0) continue;
    if (sources[1].revents != 0) return absl::OkStatus();
    if (sources[2].revents != 0) {
      return MakeError(ErrorCode::kInvalidRequest,
                       "the client does not read: more than 64 MiB wait for it");
    }
    if (sources[0].revents == 0) continue;
    const absl::StatusOr<bool> more = reader.Read(server);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
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

McpLevel LevelOf(const JobInfo& job) {
  const bool well = job.outcome.has_value() && job.outcome->kind == Outcome::Kind::kExited;
  return well ? McpLevel::kInfo : McpLevel::kNotice;
}

nlohmann::json EndedJobJson(const JobInfo& job) {
  nlohmann::json data = {{"event", "job_ended"},   {"handle", job.handle},
                         {"command", job.command}, {"output_bytes", job.output_bytes},
                         {"exit_code", nullptr},   {"signal", nullptr}};
  if (!job.outcome.has_value()) return data;
  data["outcome"] = std::string(OutcomeKindName(job.outcome->kind));
  if (job.outcome->code.has_value()) data["exit_code"] = *job.outcome->code;
  if (job.outcome->signal.has_value()) data["signal"] = *job.outcome->signal;
  return data;
}

std::string AbsolutePath(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

absl::StatusOr<std::unique_ptr<ProcessRegistry>> OpenJobs(const std::string& folder,
                                                          const Profile& profile,
                                                          const McpLog& log) {
  ProcessRegistryOptions options;
  options.on_end = [&log](const std::string&, const JobInfo& job) {
    log.Write(LevelOf(job), "jobs", EndedJobJson(job));
  };
  if (folder.empty()) {
    return ProcessRegistry::OpenTemporary(ScratchRoot(profile), std::move(options));
  }
  options.folder = folder;
  auto registry = ProcessRegistry::Open(std::move(options));
  if (!registry.ok()) return Annotate(registry.status(), "--jobs");
  return registry;
}

// The four tools of one session.
struct SessionTools {
  std::unique_ptr<BashTool> bash;
  JobTools jobs;

  [[nodiscard]] std::vector<Tool*> All() const {
    return {bash.get(), jobs.output.get(), jobs.input.get(), jobs.stop.get()};
  }
};

absl::StatusOr<SessionTools> MakeTools(BashToolOptions options, Session& session,
                                       const std::shared_ptr<ProcessRegistry>& registry) {
  SessionTools tools;
  options.jobs = registry;
  const std::string owner = options.owner;
  auto bash = BashTool::Create(session.shared_executor(), std::move(options));
  if (!bash.ok()) return bash.status();
  tools.bash = *std::move(bash);
  auto jobs = MakeJobTools({registry, owner, session.shared_executor()});
  if (!jobs.ok()) return jobs.status();
  tools.jobs = *std::move(jobs);
  return tools;
}

std::vector<McpTool> Announce(const SessionTools& tools) {
  const auto entry = [](Tool* tool, std::string title, bool read_only) {
    return McpTool{tool, std::move(title), ResultSchemaJson(tool->name()), read_only};
  };
  return {entry(tools.bash.get(), "Bash, confined", false),
          entry(tools.jobs.output.get(), "Output of background jobs", true),
          entry(tools.jobs.input.get(), "Input for a background job", false),
          entry(tools.jobs.stop.get(), "Stop a background job", false)};
}

absl::Status ServeSession(const McpArguments& arguments, const BashToolOptions& tool_options) {
  LineWriter writer(STDOUT_FILENO);
  const McpSend send = [&writer](const std::string& line) { writer.Write(line); };
  McpLog log(send);
  auto approver = std::make_shared<ElicitingApprover>(send);
  SessionOptions session_options = arguments.session;
  session_options.approver = approver;
  session_options.policy.env.insert(session_options.policy.env.begin(), kNoVim);
  const std::string jobs = AbsolutePath(arguments.jobs);
  if (!jobs.empty()) {
    session_options.policy.deny_read.push_back(jobs);
    session_options.policy.deny_write.push_back(jobs);
  }
  const auto profile = BuildSessionProfile(session_options);
  if (!profile.ok()) return profile.status();
  session_options.many_commands = true;
  const auto session = Session::Open(*profile, session_options);
  if (!session.ok()) return session.status();
  auto opened = OpenJobs(jobs, *profile, log);
  if (!opened.ok()) return opened.status();
  const std::shared_ptr<ProcessRegistry> registry = *std::move(opened);
  const auto tools = MakeTools(tool_options, **session, registry);
  if (!tools.ok()) return tools.status();
  ToolCallOptions step_options;
  step_options.tools = tools->All();
  step_options.admission = &(*session)->admission();
  step_options.log = (*session)->log();
  const auto step = ToolCallStep::Create(std::move(step_options));
  if (!step.ok()) return step.status();

  absl::Status status;
  {
    McpServer server({Announce(*tools), &*step, approver.get(), &log, kInstructions}, send);
    status = Serve(server, writer);
  }
  status.Update(registry->Close());
  status.Update((*session)->Close());
  return status;
}

int Mcp(const McpArguments& arguments) {
  const auto tool_options = ToolOptions(arguments);
  if (!tool_options.ok()) return Fail(tool_options.status());
  const absl::Status status = ServeSession(arguments, *tool_options);
  return status.ok() ? 0 : Fail(status);
}

}  // namespace

void AddMcpCommand(CLI::App& mcp, Invocation& invocation) {
  mcp.footer(
      "Example, as an entry of an assistant's settings:\n"
      "  {\"command\": \"cordon\", \"args\": [\"mcp\", \"-w\", \"/path/to/project\"]}\n"
      "or by hand:\n"
      "  cordon mcp -w . --preset workspace --timeout 10m");
  auto arguments = std::make_shared<McpArguments>();
  AddSessionOptions(mcp, arguments->session);
  mcp.add_flag("--explain", arguments->session.explain,
               "Also list refused paths in the results of calls");
  mcp.add_option("--timeout", arguments->timeout, "Default and ceiling of a call's time limit")
      ->type_name("DURATION");
  mcp.add_flag(
      "--share-network", arguments->session.share_network,
      "A server that one call started is reachable at 127.0.0.1 by the next ones; what the "
      "profile gates is then refused, unless the call declares it");
  mcp.add_option("--jobs", arguments->jobs,
                 "Keep the record and the output of background jobs in this folder, which a later "
                 "server can read; without it they go with the session")
      ->type_name("DIR");
  mcp.callback([&invocation, arguments] {
    invocation.action = [arguments] {
      PrepareSignals();
      return Mcp(*arguments);
    };
  });
}

}  // namespace cordon::cli
