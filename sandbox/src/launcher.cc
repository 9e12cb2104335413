#include "launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "launcher_protocol.h"
#include "launcher_start.h"
#include "plan_wire.h"

namespace cordon::internal {
namespace {

absl::Status Gone() { return MakeError(ErrorCode::kUnavailable, "the launcher has ended"); }

absl::StatusOr<UniqueFd> MemoryFile(std::string_view bytes) {
  UniqueFd file(memfd_create("cordon-plan", MFD_CLOEXEC));
  if (!file.valid()) return MakeErrnoError(errno, "cannot make a memory file");
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return MakeErrnoError(errno, "cannot fill a memory file");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return file;
}

struct Answer {
  LauncherReply reply;
  UniqueFd descriptor;
};

// One request and its reply.
class Conversation {
 public:
  explicit Conversation(UniqueFd socket) : socket_(std::move(socket)) {}

  absl::StatusOr<Answer> Ask(const LauncherRequest& request, std::string_view more,
                             std::span<const int> descriptors) {
    const std::lock_guard lock(mutex_);
    if (!socket_.valid()) return Gone();
    if (absl::Status sent = Send(request, more, descriptors); !sent.ok()) return sent;
    return Receive();
  }

  void Hang() {
    const std::lock_guard lock(mutex_);
    socket_.Reset();
  }

 private:
  static constexpr std::size_t kMaxDescriptors = 8;

  absl::Status Send(const LauncherRequest& request, std::string_view more,
                    std::span<const int> descriptors) const {
    iovec vectors[] = {
        {const_cast<LauncherRequest*>(&request), sizeof(request)},
        {const_cast<char*>(more.data()), more.size()},
    };
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = vectors;
    header.msg_iovlen = more.empty() ? 1 : 2;
    if (!descriptors.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    }
    while (sendmsg(socket_.get(), &header, MSG_NOSIGNAL) < 0) {
      if (errno == EPIPE || errno == ECONNRESET) return Gone();
      if (errno != EINTR) return MakeErrnoError(errno, "cannot send to the launcher");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Answer> Receive() const {
    Answer answer;
    iovec vector = {&answer.reply, sizeof(answer.reply)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    ssize_t size = 0;
    do {
      size = recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (const cmsghdr* rights = CMSG_FIRSTHDR(&header); size > 0 && rights != nullptr) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(rights), sizeof(descriptor));
      answer.descriptor = UniqueFd(descriptor);
    }
    if (size != sizeof(answer.reply)) return Gone();
    return answer;
  }

  std::mutex mutex_;
  UniqueFd socket_;
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
    return answer->reply.plan_id;
  }

  void RemovePlan(std::uint32_t id) override {
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kRemovePlan;
    request.plan_id = id;
    (void)conversation_.Ask(request, {}, {});
  }

  absl::StatusOr<SpawnedSandbox> Spawn(std::uint32_t plan_id, const CommandPlan& command,
                                       int standard_input, int standard_output, int standard_error,
                                       int network) override {
    const absl::StatusOr<std::string> block = EncodeCommand(command);
    if (!block.ok()) return block.status();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return MakeErrnoError(errno, "cannot make a channel");
    }
    UniqueFd channel(ends[0]);
    const UniqueFd theirs(ends[1]);
    std::vector<int> descriptors = {standard_input, standard_output, standard_error, theirs.get()};
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kSpawn;
    request.plan_id = plan_id;
    if (network >= 0) {
      request.flags = kInNetwork;
      descriptors.push_back(network);
    }
    if (block->size() <= kMaxInlineBytes) {
      request.inline_bytes = static_cast<std::uint32_t>(block->size());
      return Begun(conversation_.Ask(request, *block, descriptors), std::move(channel));
    }
    const absl::StatusOr<UniqueFd> file = MemoryFile(*block);
    if (!file.ok()) return file.status();
    descriptors.push_back(file->get());
    return Begun(conversation_.Ask(request, {}, descriptors), std::move(channel));
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
    absl::StatusOr<Answer> answer = conversation_.Ask(request, {}, descriptors);
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      return MakeSetupFailure(StepName(Step::kNamespaces), error, "cannot make a network");
    }
    return StartedNetwork{std::move(answer->descriptor), std::move(socket)};
  }

  absl::Status OwnFolder(int parent, const std::string& name) override {
    LauncherRequest request;
    request.kind = LauncherRequest::Kind::kOwnFolder;
    const int descriptors[] = {parent};
    const absl::StatusOr<Answer> answer = conversation_.Ask(request, name, descriptors);
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      return MakeErrnoError(error, "the launcher refused the folder");
    }
    return absl::OkStatus();
  }

  void Stop() override {
    conversation_.Hang();
    const std::lock_guard lock(stop_mutex_);
    if (!pidfd_.valid()) return;
    (void)syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
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
  static absl::StatusOr<SpawnedSandbox> Begun(absl::StatusOr<Answer> answer, UniqueFd channel) {
    if (!answer.ok()) return answer.status();
    if (const int error = answer->reply.error_number) {
      return MakeSetupFailure(StepName(Step::kNamespaces), error, "cannot make a sandbox");
    }
    return SpawnedSandbox{std::move(answer->descriptor), std::move(channel)};
  }

  Conversation conversation_;
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
