#include "launcher.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "descriptor_message.h"
#include "launcher_protocol.h"
#include "launcher_start.h"
#include "plan_wire.h"

namespace cordon::internal {
namespace {

absl::Status Gone() { return MakeError(ErrorCode::kUnavailable, "the launcher has ended"); }

template <typename Record>
std::string_view BytesOf(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof(record)};
}

struct Channel {
  UniqueFd ours;
  UniqueFd theirs;
};

absl::StatusOr<Channel> MakeChannel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return MakeErrnoError(errno, "cannot make a channel");
  }
  return Channel{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Adds to a request where its sandbox is to be made.
void AddPlace(const SpawnPlace& place, LauncherRequest& request, std::vector<int>& descriptors) {
  if (place.template_plan.has_value()) request.template_plan = *place.template_plan + 1;
  if (place.network >= 0) {
    request.flags |= kInNetwork;
    descriptors.push_back(place.network);
  }
  if (place.cgroup >= 0) {
    request.flags |= kInCgroup;
    descriptors.push_back(place.cgroup);
  }
}

struct Answer {
  LauncherReply reply;
  UniqueFd descriptor;
};

// Requests, and their replies in the same order.
class Conversation {
 public:
  explicit Conversation(UniqueFd socket) : socket_(std::move(socket)) {}

  absl::StatusOr<Answer> Ask(const LauncherRequest& request, std::string_view more,
                             std::span<const int> descriptors) {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<std::uint64_t> reply = BeginLocked(request, more, descriptors);
    if (!reply.ok()) return reply.status();
    return AwaitLocked(*reply);
  }

  // The number of the reply, for one call of `Await`.
  absl::StatusOr<std::uint64_t> Begin(const LauncherRequest& request, std::string_view more,
                                      std::span<const int> descriptors) {
    const std::lock_guard lock(mutex_);
    return BeginLocked(request, more, descriptors);
  }

  absl::StatusOr<Answer> Await(std::uint64_t reply) {
    const std::lock_guard lock(mutex_);
    return AwaitLocked(reply);
  }

  // A request without a reply.
  absl::Status Tell(const LauncherRequest& request, std::span<const int> descriptors) {
    const std::lock_guard lock(mutex_);
    if (!socket_.valid()) return Gone();
    return Send(request, {}, descriptors);
  }

  void Hang() {
    const std::lock_guard lock(mutex_);
    socket_.Reset();
  }

 private:
  absl::Status Send(const LauncherRequest& request, std::string_view more,
                    std::span<const int> descriptors) const {
    const int error = SendMessage(socket_.get(), BytesOf(request), more, descriptors);
    if (error == EPIPE || error == ECONNRESET) return Gone();
    if (error != 0) return MakeErrnoError(error, "cannot send to the launcher");
    return absl::OkStatus();
  }

  absl::StatusOr<std::uint64_t> BeginLocked(const LauncherRequest& request, std::string_view more,
                                            std::span<const int> descriptors) {
    if (!socket_.valid()) return Gone();
    if (absl::Status sent = Send(request, more, descriptors); !sent.ok()) return sent;
    return next_reply_++;
  }

  absl::StatusOr<Answer> AwaitLocked(std::uint64_t reply) {
    while (received_ <= reply) {
      absl::StatusOr<Answer> answer = Receive();
      if (!answer.ok()) return answer.status();
      early_.emplace(received_++, *std::move(answer));
    }
    const auto found = early_.find(reply);
    if (found == early_.end()) return Gone();
    Answer answer = std::move(found->second);
    early_.erase(found);
    return answer;
  }

  absl::StatusOr<Answer> Receive() const {
    if (!socket_.valid()) return Gone();
    Answer answer;
    const ssize_t size =
        ReceiveMessage(socket_.get(), &answer.reply, sizeof(answer.reply), &answer.descriptor);
    if (size != sizeof(answer.reply)) return Gone();
    return answer;
  }

  std::mutex mutex_;
  UniqueFd socket_;
  std::uint64_t next_reply_ = 0;
  std::uint64_t received_ = 0;             // How many.
  std::map<std::uint64_t, Answer> early_;  // Those that somebody else waits for, or will.
};

class LauncherProcess final : public Launcher {
 public:
  explicit LauncherProcess(StartedLauncher started)
      : conversation_(std::move(started.socket)), pidfd_(std::move(started.pidfd)) {}
  ~LauncherProcess() override { Stop(); }

  absl::StatusOr<std::uint32_t> AddPlan(const SandboxPlan& plan) override {
    const absl::StatusOr<std::string> block = EncodePlan(plan);
    if (!block.ok()) return block.status();
    const absl::StatusOr<UniqueFd> file = MemoryFile(*block);
    if (!file.ok()) return file.status();
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kAddPlan;
    const int descriptors[] = {file->get()};
    const absl::StatusOr<Answer> answer = conversation_.Ask(request, {}, descriptors);
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      return MakeSetupFailure(StepName(Step::kPlan), error, "the launcher refused the plan");
    }
    if (!plan.absent.empty()) {
      const std::lock_guard lock(runs_mutex_);
      noted_plans_.insert(answer->reply.plan_id);
    }
    return answer->reply.plan_id;
  }

  void RemovePlan(std::uint32_t id) override {
    {
      const std::lock_guard lock(runs_mutex_);
      noted_plans_.erase(id);
    }
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kRemovePlan;
    request.plan_id = id;
    (void)conversation_.Ask(request, {}, {});
  }

  absl::StatusOr<PreparedSandbox> Prepare(std::uint32_t plan_id, const SpawnPlace& place) override {
    absl::StatusOr<Channel> channel = MakeChannel();
    if (!channel.ok()) return channel.status();
    absl::StatusOr<NotedRun> run = TakePlace(plan_id);
    if (!run.ok()) return run.status();
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kPrepare;
    request.plan_id = plan_id;
    AddRun(*run, request);
    std::vector<int> descriptors = {channel->theirs.get()};
    AddPlace(place, request, descriptors);
    absl::Status told = conversation_.Tell(request, descriptors);
    if (!told.ok()) return told;
    return PreparedSandbox{std::move(channel->ours), *std::move(run)};
  }

  absl::StatusOr<SpawnedSandbox> Spawn(std::uint32_t plan_id, const CommandPlan& command,
                                       int standard_input, int standard_output, int standard_error,
                                       const SpawnPlace& place) override {
    const absl::StatusOr<std::string> block = EncodeCommand(command);
    if (!block.ok()) return block.status();
    absl::StatusOr<Channel> channel = MakeChannel();
    if (!channel.ok()) return channel.status();
    absl::StatusOr<NotedRun> run = TakePlace(plan_id);
    if (!run.ok()) return run.status();
    std::vector<int> descriptors = {standard_input, standard_output, standard_error,
                                    channel->theirs.get()};
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kSpawn;
    request.plan_id = plan_id;
    AddRun(*run, request);
    AddPlace(place, request, descriptors);
    run->Begin();
    if (block->size() <= kMaxInlineBytes) {
      request.inline_bytes = static_cast<std::uint32_t>(block->size());
      return Begun(conversation_.Ask(request, *block, descriptors), std::move(channel->ours),
                   *std::move(run));
    }
    const absl::StatusOr<UniqueFd> file = MemoryFile(*block);
    if (!file.ok()) return file.status();
    descriptors.push_back(file->get());
    return Begun(conversation_.Ask(request, {}, descriptors), std::move(channel->ours),
                 *std::move(run));
  }

  absl::StatusOr<StartedNetwork> MakeNetwork(bool with_gateway) override {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return MakeErrnoError(errno, "cannot make a socket");
    }
    UniqueFd socket(ends[0]);
    const UniqueFd theirs(ends[1]);
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kMakeNetwork;
    request.flags = with_gateway ? kWithGateway : 0;
    const int descriptors[] = {theirs.get()};
    const absl::StatusOr<std::uint64_t> reply = conversation_.Begin(request, {}, descriptors);
    if (!reply.ok()) return reply.status();
    return StartedNetwork{std::move(socket), *reply};
  }

  absl::StatusOr<UniqueFd> AwaitKeeper(const StartedNetwork& network) override {
    absl::StatusOr<Answer> answer = conversation_.Await(network.reply);
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      return MakeSetupFailure(StepName(Step::kNamespaces), error, "cannot make a network");
    }
    return std::move(answer->descriptor);
  }

  absl::Status CheckProcessLimit() override {
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kCheckProcessLimit;
    const absl::StatusOr<Answer> answer = conversation_.Ask(request, {}, {});
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      return Annotate(MakeError(ErrorCode::kUnavailable,
                                "no pid namespace can be given a limit of its own here"),
                      std::generic_category().message(error));
    }
    return absl::OkStatus();
  }

  absl::Status CheckCgroup(int cgroup) override {
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kCheckCgroup;
    const int descriptors[] = {cgroup};
    const absl::StatusOr<Answer> answer = conversation_.Ask(request, {}, descriptors);
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      return MakeSetupFailure("cgroup", error, "no process can be started in the cgroup");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::uint64_t> BeginOwnFolder(int parent, const std::string& name) override {
    return BeginOwn(LauncherRequest::Kind::kOwnFolder, parent, name);
  }

  absl::Status AwaitOwned(std::uint64_t reply) override {
    const absl::StatusOr<Answer> answer = conversation_.Await(reply);
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      return MakeErrnoError(error, "the launcher refused the folder");
    }
    return absl::OkStatus();
  }

  absl::Status OwnCgroup(int parent, const std::string& name) override {
    const auto reply = BeginOwn(LauncherRequest::Kind::kOwnCgroup, parent, name);
    return reply.ok() ? AwaitOwned(*reply) : reply.status();
  }

  void Kill() override {
    conversation_.Hang();
    const std::lock_guard lock(stop_mutex_);
    if (!pidfd_.valid()) return;
    (void)syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  }

  void Stop() override {
    Kill();
    const std::lock_guard lock(stop_mutex_);
    if (!pidfd_.valid()) return;
    pollfd entry = {pidfd_.get(), POLLIN, 0};
    while (poll(&entry, 1, -1) < 0 && errno == EINTR) {
    }
    // Where the caller is a subreaper or init, the program is its child and would stay a zombie.
    siginfo_t info;
    constexpr auto kByPidfd = static_cast<idtype_t>(3);  // P_PIDFD
    (void)waitid(kByPidfd, static_cast<id_t>(pidfd_.get()), &info, WEXITED | __WALL);
    pidfd_.Reset();
  }

 private:
  absl::StatusOr<std::uint64_t> BeginOwn(LauncherRequest::Kind kind, int parent,
                                         const std::string& name) {
    LauncherRequest request;
    request.kind = kind;
    const int descriptors[] = {parent};
    return conversation_.Begin(request, name, descriptors);
  }

  // For one more command of the plan. None where there is nothing that it must not leave behind.
  absl::StatusOr<NotedRun> TakePlace(std::uint32_t plan_id) {
    const std::lock_guard lock(runs_mutex_);
    if (!noted_plans_.contains(plan_id)) return NotedRun();
    if (runs_ == nullptr) {
      absl::StatusOr<std::shared_ptr<RunTable>> made = RunTable::Create();
      if (!made.ok()) return made.status();
      LauncherRequest request;
      request.kind = LauncherRequest::Kind::kRunTable;
      const UniqueFd file = (*made)->TakeFile();
      const int descriptors[] = {file.get()};
      absl::Status told = conversation_.Tell(request, descriptors);
      if (!told.ok()) return told;
      runs_ = *std::move(made);
    }
    return runs_->Take();
  }

  static void AddRun(const NotedRun& run, LauncherRequest& request) {
    request.run_place = run.place();
    request.run_id = run.id();
  }

  static absl::StatusOr<SpawnedSandbox> Begun(absl::StatusOr<Answer> answer, UniqueFd channel,
                                              NotedRun run) {
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      run.Tidied();
      return MakeSetupFailure(StepName(Step::kNamespaces), error, "cannot make a sandbox");
    }
    return SpawnedSandbox{std::move(answer->descriptor), std::move(channel), std::move(run), {}};
  }

  Conversation conversation_;
  std::mutex runs_mutex_;
  std::set<std::uint32_t> noted_plans_;  // Those with names under which nothing may be left.
  std::shared_ptr<RunTable> runs_;       // Null while there are none.
  std::mutex stop_mutex_;
  UniqueFd pidfd_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Launcher>> Launcher::Start(const std::string& fallback_directory) {
  absl::StatusOr<StartedLauncher> started = StartLauncher(LauncherImage::kMemory, {});
  if (!started.ok()) {
    absl::Status first = started.status();
    started = StartLauncher(LauncherImage::kFile, fallback_directory);
    if (!started.ok()) return Annotate(started.status(), std::string(first.message()));
  }
  return std::make_shared<LauncherProcess>(*std::move(started));
}

}  // namespace cordon::internal
