#include "command_cgroups.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kSetPrefix = "cordon-set-";
constexpr long kCgroup2Magic = 0x63677270;  // CGROUP2_SUPER_MAGIC, linux/magic.h
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kTries = 500;     // Of a removal, `kPauseMilliseconds` apart.
constexpr int kEndTries = 100;  // Of one tree's.
constexpr int kPauseMilliseconds = 10;
// The first process of a tree is in its cgroup, too.
constexpr std::uint64_t kOwnProcesses = 1;

absl::Status CannotBeHad(std::string_view what, int error) {
  return MakeError(ErrorCode::kUnavailable,
                   absl::StrFormat("%s: %s", std::string(what), std::string(std::strerror(error))));
}

// 0 or an errno.
int Write(int folder, const char* name, std::string_view text) {
  const UniqueFd file(openat(folder, name, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  return write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

std::string Read(int folder, const char* name) {
  const UniqueFd file(openat(folder, name, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return {};
  char text[4096];
  const ssize_t size = read(file.get(), text, sizeof(text));
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

// The number behind `key` in a file of lines "KEY NUMBER".
std::optional<std::uint64_t> Figure(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  std::string name;
  for (std::uint64_t value = 0; lines >> name >> value;) {
    if (name == key) return value;
  }
  return std::nullopt;
}

bool RemoveFolder(int parent, const std::string& name) {
  return unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

void RemoveBelow(int folder) {
  std::vector<std::string> names;
  (void)ReadNames(folder, [&names](std::string_view name, NodeType type, std::uint64_t) {
    if (type == NodeType::kFolder) names.emplace_back(name);
  });
  for (const std::string& name : names) (void)RemoveFolder(folder, name);
}

// Whether it is locked and still there.
bool TakeLock(int parent, int folder, const std::string& name) {
  if (flock(folder, LOCK_EX | LOCK_NB) != 0) return false;
  struct stat here = {};
  struct stat there = {};
  return fstat(folder, &here) == 0 &&
         fstatat(parent, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         here.st_ino == there.st_ino;
}

// Those of which nobody holds the lock any more.
void RemoveAbandonedSets(int delegated) {
  std::vector<std::string> names;
  (void)ReadNames(delegated, [&names](std::string_view name, NodeType type, std::uint64_t) {
    if (type == NodeType::kFolder && name.rfind(kSetPrefix, 0) == 0) names.emplace_back(name);
  });
  for (const std::string& name : names) {
    const UniqueFd folder(openat(delegated, name.c_str(), kFolderFlags));
    if (!folder.valid() || !TakeLock(delegated, folder.get(), name)) continue;
    (void)Write(folder.get(), "cgroup.kill", "1");
    RemoveBelow(folder.get());
    // What has not ended by now is removed by the next set.
    (void)RemoveFolder(delegated, name);
  }
}

// Swap that does not count would let a tree have more than its memory limit.
bool HasUncountedSwap(int folder) {
  if (faccessat(folder, "memory.swap.max", F_OK, 0) == 0) return false;
  std::ifstream swaps("/proc/swaps");
  std::string line;
  return std::getline(swaps, line) && std::getline(swaps, line);
}

}  // namespace

CommandCgroup::~CommandCgroup() {
  Kill();
  all_->Retire(name_);
}

void CommandCgroup::Kill() const { (void)Write(fd(), "cgroup.kill", "1"); }

bool CommandCgroup::End() const {
  Kill();
  for (int i = 0; i < kEndTries; ++i) {
    if (Figure(Read(fd(), "cgroup.events"), "populated") == std::uint64_t{0}) return true;
    (void)poll(nullptr, 0, kPauseMilliseconds);
  }
  return false;
}

TreeCount CommandCgroup::Count() const {
  TreeCount count;
  count.out_of_memory = Figure(Read(fd(), "memory.events"), "oom_kill").value_or(0) > 0;
  count.cpu_microseconds = Figure(Read(fd(), "cpu.stat"), "usage_usec");
  std::istringstream peak(Read(fd(), "memory.peak"));
  std::uint64_t bytes = 0;
  if (peak >> bytes) count.most_memory_bytes = bytes;
  return count;
}

CommandCgroups::CommandCgroups(std::string path, UniqueFd delegated, UniqueFd own, std::string name,
                               const Limits& limits)
    : path_(std::move(path)),
      delegated_(std::move(delegated)),
      own_(std::move(own)),
      name_(std::move(name)),
      limits_(limits) {}

CommandCgroups::~CommandCgroups() { (void)Remove(); }

absl::StatusOr<std::shared_ptr<CommandCgroups>> CommandCgroups::Create(const std::string& path,
                                                                       const Limits& limits) {
  UniqueFd delegated(open(path.c_str(), kFolderFlags));
  struct statfs kind = {};
  if (!delegated.valid() || fstatfs(delegated.get(), &kind) != 0) {
    return CannotBeHad(absl::StrCat("cannot open the cgroup ", path), errno);
  }
  if (kind.f_type != kCgroup2Magic)
    return CannotBeHad(path + " is no cgroup of version 2", ENOTSUP);
  RemoveAbandonedSets(delegated.get());
  constexpr std::string_view kControllers = "+memory +pids";
  if (const int error = Write(delegated.get(), "cgroup.subtree_control", kControllers)) {
    return CannotBeHad(absl::StrCat("cannot use the controllers of the cgroup ", path), error);
  }
  std::string name = absl::StrCat(std::string(kSetPrefix), RandomId());
  if (mkdirat(delegated.get(), name.c_str(), 0755) != 0) {
    return CannotBeHad(absl::StrCat("cannot make a cgroup in ", path), errno);
  }
  UniqueFd own(openat(delegated.get(), name.c_str(), kFolderFlags));
  // Another set may take what is not locked yet for abandoned.
  if (!own.valid() || !TakeLock(delegated.get(), own.get(), name)) {
    (void)RemoveFolder(delegated.get(), name);
    return CannotBeHad(absl::StrCat("cannot keep a cgroup in ", path), EBUSY);
  }
  std::shared_ptr<CommandCgroups> made(
      new CommandCgroups(path, std::move(delegated), std::move(own), std::move(name), limits));
  if (const int error = Write(made->own_.get(), "cgroup.subtree_control", kControllers)) {
    return CannotBeHad(absl::StrCat("cannot use the controllers below ", path), error);
  }
  return made;
}

absl::StatusOr<std::shared_ptr<CommandCgroup>> CommandCgroups::Make() {
  const std::lock_guard lock(mutex_);
  if (removed_) return MakeError(ErrorCode::kClosed, "the executor set is closed");
  RemoveRetiredLocked();
  const std::string name = absl::StrCat(++made_);
  if (mkdirat(own_.get(), name.c_str(), 0755) != 0) {
    return MakeSetupFailure("cgroup", errno, "cannot make a cgroup for the command");
  }
  UniqueFd folder(openat(own_.get(), name.c_str(), kFolderFlags));
  absl::Status status = folder.valid()
                            ? SetLimits(folder.get())
                            : MakeSetupFailure("cgroup", errno, "cannot open the command's cgroup");
  if (!status.ok()) {
    (void)RemoveFolder(own_.get(), name);
    return status;
  }
  return std::make_shared<CommandCgroup>(shared_from_this(), name, std::move(folder));
}

absl::Status CommandCgroups::SetLimits(int folder) const {
  const auto set = [folder](const char* name, const std::string& value) -> absl::Status {
    const int error = Write(folder, name, value);
    if (error == 0) return absl::OkStatus();
    return MakeSetupFailure("cgroup", error, absl::StrFormat("cannot set %s", name));
  };
  absl::Status status;
  // What it used can then be told, and nothing escapes a kill: Linux 5.14.
  if (faccessat(folder, "cgroup.kill", F_OK, 0) != 0) {
    return MakeSetupFailure("cgroup", errno, "this kernel has no cgroup.kill");
  }
  if (limits_.processes.has_value()) {
    status.Update(set("pids.max", absl::StrCat(*limits_.processes + kOwnProcesses)));
  }
  if (limits_.memory_bytes.has_value()) {
    if (HasUncountedSwap(folder)) {
      return MakeSetupFailure("cgroup", ENOTSUP, "this kernel does not count swap");
    }
    status.Update(set("memory.max", absl::StrCat(*limits_.memory_bytes)));
    status.Update(set("memory.oom.group", "1"));
    if (faccessat(folder, "memory.swap.max", F_OK, 0) == 0) {
      status.Update(set("memory.swap.max", "0"));
    }
  }
  return status;
}

void CommandCgroups::Retire(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (!RemoveFolder(own_.get(), name)) retired_.push_back(name);
}

void CommandCgroups::RemoveRetiredLocked() {
  retired_.erase(
      std::remove_if(retired_.begin(), retired_.end(),
                     [this](const std::string& name) { return RemoveFolder(own_.get(), name); }),
      retired_.end());
}

absl::Status CommandCgroups::Remove() {
  const std::lock_guard lock(mutex_);
  if (removed_) return absl::OkStatus();
  (void)Write(own_.get(), "cgroup.kill", "1");
  for (int i = 0; i < kTries; ++i) {
    RemoveBelow(own_.get());
    if (RemoveFolder(delegated_.get(), name_)) {
      removed_ = true;
      return absl::OkStatus();
    }
    (void)poll(nullptr, 0, kPauseMilliseconds);
  }
  return MakeError(
      ErrorCode::kInternal,
      absl::StrFormat("the cgroup %s cannot be removed: processes in it do not end", name_));
}

}  // namespace cordon::internal
