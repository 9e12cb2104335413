#include "sandbox_testing.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"
#include "support/catch.h"

namespace cordon::internal::testing {

TemporaryFolder::TemporaryFolder() {
  path_ = std::filesystem::canonical(std::filesystem::temp_directory_path()) / "cordon-test-XXXXXX";
  REQUIRE(mkdtemp(path_.data()) != nullptr);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ViewOp Op(ViewOp::Kind kind, const std::string& target) {
  ViewOp op;
  op.kind = kind;
  op.target = target;
  return op;
}

void LetFileClockPass(std::int64_t nanoseconds) {
  const std::int64_t end = FileClockNanoseconds() + nanoseconds;
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (FileClockNanoseconds() < end && std::chrono::steady_clock::now() < deadline) {
    (void)poll(nullptr, 0, 5);
  }
}

ViewOp Bind(const std::string& path, bool read_only) {
  ViewOp op = Op(ViewOp::Kind::kBind, path);
  op.source = path;
  op.read_only = read_only;
  return op;
}

SandboxPlan SystemPlan() {
  SandboxPlan plan;
  for (const char* folder : {"/usr", "/etc"}) plan.view.push_back(Bind(folder, true));
  for (const char* folder : {"/bin", "/sbin", "/lib", "/lib64"}) {
    std::error_code not_a_link;
    const auto text = std::filesystem::read_symlink(folder, not_a_link);
    if (not_a_link) {
      plan.view.push_back(Bind(folder, true));
      plan.view.back().optional = true;
      continue;
    }
    plan.view.push_back(Op(ViewOp::Kind::kSymlink, folder));
    plan.view.back().data = text;
  }
  plan.view.push_back(Op(ViewOp::Kind::kProc, "/proc"));
  plan.view.push_back(Op(ViewOp::Kind::kDev, "/dev"));
  plan.view.push_back(Op(ViewOp::Kind::kTmpfs, "/tmp"));
  plan.view.back().mode = 01777;
  return plan;
}

CommandPlan Shell(const std::string& text) {
  CommandPlan command;
  command.argv = {"/bin/sh", "-c", text};
  command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/tmp"};
  command.working_directory = "/";
  return command;
}

int Ran::exit_code() const {
  if (events.empty() || events.back().kind != SpawnEvent::Kind::kEnded) return -1;
  const int wait_status = events.back().wait_status;
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

const SpawnEvent* Ran::failure() const {
  if (events.empty() || events.back().kind != SpawnEvent::Kind::kFailed) return nullptr;
  return &events.back();
}

std::shared_ptr<Launcher> StartedLauncherOrFail() {
  absl::StatusOr<std::shared_ptr<Launcher>> launcher =
      Launcher::Start(std::filesystem::temp_directory_path());
  if (!launcher.ok()) FAIL(launcher.status());
  return *std::move(launcher);
}

bool WaitReadable(int fd) {
  pollfd entry = {fd, POLLIN, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(kDeadline);
  int ready = 0;
  do {
    ready = poll(&entry, 1, static_cast<int>(milliseconds.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Ran Run(Launcher& launcher, const SandboxPlan& plan, const CommandPlan& command,
        const SpawnPlace& place) {
  Ran ran;
  const absl::StatusOr<std::uint32_t> id = launcher.AddPlan(plan);
  if (!id.ok()) return {id.status(), {}, {}, false};
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  absl::StatusOr<SpawnedSandbox> spawned =
      launcher.Spawn(*id, command, null.get(), writer.get(), writer.get(), place);
  launcher.RemovePlan(*id);  // A spawn that has begun does not need it.
  writer.Reset();
  ran.status = spawned.status();
  if (!spawned.ok()) return ran;

  ran.output = ReadAll(reader.get());
  ran.events = ReadEvents(spawned->channel.get());
  ran.tree_ended = WaitReadable(spawned->pidfd.get());
  return ran;
}

Ran Run(Launcher& launcher, const SandboxPlan& plan, const CommandPlan& command, int network) {
  SpawnPlace place;
  place.network = network;
  return Run(launcher, plan, command, place);
}

Ran Run(const SandboxPlan& plan, const CommandPlan& command) {
  return Run(*StartedLauncherOrFail(), plan, command);
}

Ran Run(const SandboxPlan& plan, const std::string& shell_text) {
  return Run(plan, Shell(shell_text));
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> part;
  while (WaitReadable(fd)) {
    const ssize_t size = read(fd, part.data(), part.size());
    if (size <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::vector<SpawnEvent> ReadEvents(int channel) {
  std::vector<SpawnEvent> events;
  SpawnEvent event;
  while (WaitReadable(channel) && recv(channel, &event, sizeof(event), 0) == sizeof(event)) {
    events.push_back(event);
  }
  return events;
}

std::string Field(const std::string& text, const std::string& name) {
  const std::size_t at = ("\n" + text).find("\n" + name + ":");
  if (at == std::string::npos) return {};
  const std::size_t start = text.find_first_not_of(" \t", at + name.size() + 1);
  const std::string value = text.substr(start, text.find('\n', start) - start);
  return value.substr(0, value.find_last_not_of(" \t") + 1);
}

const std::string& WhyNoNamespaces() {
  static const std::string why = [] {
    const Ran ran = Run(SystemPlan(), "true");
    if (!ran.status.ok()) return ran.status.ToString();
    const SpawnEvent* failure = ran.failure();
    if (failure == nullptr) return std::string();
    return std::string(StepName(failure->step)) + ": errno " +
           std::to_string(failure->error_number);
  }();
  return why;
}

}  // namespace cordon::internal::testing
