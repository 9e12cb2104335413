#include "command_tree.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

// Deeper ones are not followed.
constexpr std::size_t kMaxDepth = 256;
// More are not looked at.
constexpr std::size_t kMaxProcesses = 65536;
// Filters that a confined and observed command is started with.
constexpr int kOwnFilters = 2;

// The number after "NAME:" at the start of a line.
std::optional<int> NumberOf(std::string_view text, std::string_view name) {
  const std::string label = absl::StrCat("\n", absl::string_view(name.data(), name.size()), ":\t");
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + label.size());
  text = text.substr(0, text.find('\n'));
  int value = 0;
  if (!absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &value)) return std::nullopt;
  return value;
}

std::optional<ProcessStatus> ReadStatus(int folder) {
  const UniqueFd file(openat(folder, "status", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::array<char, 4096> text;
  const ssize_t size = read(file.get(), text.data(), text.size());
  if (size <= 0) return std::nullopt;
  return ParseProcessStatus({text.data(), static_cast<std::size_t>(size)});
}

std::vector<pid_t> ThreadsOf(pid_t process) {
  std::vector<pid_t> threads;
  const UniqueFd folder(
      open(absl::StrCat("/proc/", process, "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return threads;
  (void)ReadNames(folder.get(), [&threads](std::string_view name, NodeType, std::uint64_t) {
    pid_t id = 0;
    if (absl::SimpleAtoi(absl::string_view(name.data(), name.size()), &id)) threads.push_back(id);
  });
  return threads;
}

// Adds what `thread` of `process` has as children (proc_tid_children(5)).
void AddChildren(pid_t process, pid_t thread, std::vector<pid_t>& children) {
  const std::string place = absl::StrCat("/proc/", process, "/task/", thread, "/children");
  const UniqueFd file(open(place.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text;
  pid_t number = 0;
  ssize_t size = 0;
  while (file.valid() && (size = read(file.get(), text.data(), text.size())) > 0) {
    for (const char byte : std::string_view(text.data(), static_cast<std::size_t>(size))) {
      if (byte >= '0' && byte <= '9') {
        number = number * 10 + (byte - '0');
      } else if (number != 0) {
        children.push_back(number);
        number = 0;
      }
    }
  }
}

}  // namespace

// The name on the first line has its line ends escaped, so that no other line can be forged.
std::optional<ProcessStatus> ParseProcessStatus(std::string_view text) {
  const std::optional<int> process = NumberOf(text, "Tgid");
  const std::optional<int> parent = NumberOf(text, "PPid");
  if (!process.has_value() || !parent.has_value()) return std::nullopt;
  ProcessStatus status{*process, *parent, NumberOf(text, "Seccomp_filters").value_or(-1)};
  constexpr std::string_view kMask = "\nUmask:\t";
  const std::size_t mask = text.find(kMask);
  if (mask != std::string_view::npos) {
    constexpr int kOctal = 8;
    const std::string digits(text.substr(mask + kMask.size(), 4));
    status.mask = static_cast<mode_t>(std::strtoul(digits.c_str(), nullptr, kOctal)) & 0777;
  }
  return status;
}

std::optional<HeldProcess> HoldProcess(pid_t id) {
  if (id <= 0) return std::nullopt;
  HeldProcess held;
  held.folder.Reset(open(absl::StrCat("/proc/", id).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!held.folder.valid()) return std::nullopt;
  const std::optional<ProcessStatus> status = ReadStatus(held.folder.get());
  if (!status.has_value()) return std::nullopt;
  held.status = *status;
  return held;
}

void CommandTree::Begin(int first_process) {
  supervisor_.Reset(fcntl(first_process, F_DUPFD_CLOEXEC, 0));
}

const CommandTree::Supervisor& CommandTree::Known() const {
  std::call_once(looked_, [this] { known_ = Look(); });
  return known_;
}

// The number is that of the process behind the pidfd, or -1 when that has ended (pidfd_open(2)). It
// is given to no other before that, so what was held by it is the supervisor if that still runs.
CommandTree::Supervisor CommandTree::Look() const {
  const std::string place = absl::StrCat("/proc/self/fdinfo/", supervisor_.get());
  const UniqueFd file(open(place.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text;
  const ssize_t size = read(file.get(), text.data(), text.size());
  if (size <= 0) return {};
  const pid_t id = NumberOf({text.data(), static_cast<std::size_t>(size)}, "Pid").value_or(0);
  const std::optional<HeldProcess> supervisor = HoldProcess(id);
  if (!supervisor.has_value() || HasEnded()) return {};
  const int filters = supervisor->status.filters;
  return {id, filters >= 0 ? filters + kOwnFilters : -1};
}

bool CommandTree::HasEnded() const {
  pollfd entry = {supervisor_.get(), POLLIN, 0};
  return !supervisor_.valid() || poll(&entry, 1, 0) != 0;
}

// Each ancestor is held before its child is asked again who the parent is: an answer that has not
// changed was about the one that is held, since the child of a parent that ends gets another one.
Kinship CommandTree::KinshipOf(const HeldProcess& process, const HeldProcess& caller) const {
  const pid_t supervisor = Known().id;
  if (supervisor <= 0 || process.status.process == supervisor) return Kinship::kStranger;
  if (process.status.process == caller.status.process) return Kinship::kSelf;
  std::vector<HeldProcess> above;
  bool is_below = false;
  pid_t parent = process.status.parent;
  for (; parent != supervisor; parent = above.back().status.parent) {
    is_below = is_below || parent == caller.status.process;
    if (parent <= 1 || above.size() == kMaxDepth) return Kinship::kStranger;
    std::optional<HeldProcess> next = HoldProcess(parent);
    if (!next.has_value()) return Kinship::kStranger;
    above.push_back(*std::move(next));
  }
  const auto has_moved = [](const HeldProcess& held) {
    const std::optional<ProcessStatus> now = ReadStatus(held.folder.get());
    return !now.has_value() || now->parent != held.status.parent;
  };
  if (has_moved(process)) return Kinship::kStranger;
  for (const HeldProcess& held : above) {
    if (has_moved(held)) return Kinship::kStranger;
  }
  if (HasEnded()) return Kinship::kStranger;
  return is_below ? Kinship::kBelow : Kinship::kOther;
}

bool CommandTree::CanBeListed() {
  const pid_t self = getpid();
  return access(absl::StrCat("/proc/", self, "/task/", self, "/children").c_str(), R_OK) == 0;
}

template <typename Visit>
void CommandTree::Walk(Visit visit) const {
  const pid_t supervisor = Known().id;
  if (supervisor <= 0 || HasEnded()) return;
  std::vector<pid_t> left;
  AddChildren(supervisor, supervisor, left);
  for (std::size_t seen = 0; !left.empty() && seen < kMaxProcesses; ++seen) {
    const pid_t process = left.back();
    left.pop_back();
    const std::vector<pid_t> threads = ThreadsOf(process);
    visit(process, threads.size());
    for (const pid_t thread : threads) AddChildren(process, thread, left);
  }
}

std::vector<pid_t> CommandTree::Processes() const {
  std::vector<pid_t> processes;
  Walk([&processes](pid_t process, std::size_t) { processes.push_back(process); });
  return processes;
}

std::optional<std::uint64_t> CommandTree::CountThreads() const {
  std::uint64_t count = 0;
  Walk([&count](pid_t, std::size_t threads) { count += threads; });
  if (Known().id <= 0 || HasEnded()) return std::nullopt;
  return count;
}

bool CommandTree::IsPlain(const HeldProcess& caller) const {
  return Known().filters >= 0 && caller.status.filters == Known().filters;
}

}  // namespace cordon::internal
