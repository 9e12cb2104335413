#include "own_sockets.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

bool HasEnded(int process) {
  pollfd entry = {process, POLLIN, 0};
  return poll(&entry, 1, 0) != 0;
}

// The numbers of the descriptors that lead to `socket`.
std::vector<int> DescriptorsOf(const HeldProcess& process, std::uint32_t socket) {
  std::vector<int> numbers;
  const UniqueFd folder(
      openat(process.folder.get(), "fd", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return numbers;
  const std::string wanted = absl::StrCat("socket:[", socket, "]");
  std::string text(wanted.size() + 1, '\0');
  (void)ReadNames(folder.get(), [&](std::string_view name, NodeType, std::uint64_t) {
    const std::string entry(name);
    const ssize_t size = readlinkat(folder.get(), entry.c_str(), text.data(), text.size());
    int number = -1;
    if (size == static_cast<ssize_t>(wanted.size()) &&
        text.compare(0, wanted.size(), wanted) == 0 && absl::SimpleAtoi(entry, &number)) {
      numbers.push_back(number);
    }
  });
  return numbers;
}

bool Is(int copy, std::uint32_t socket) {
  struct stat status = {};
  return fstat(copy, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == socket;
}

}  // namespace

std::vector<UniqueFd> OwnSockets::Hold(const HeldProcess& caller,
                                       const std::vector<std::uint32_t>& sockets) {
  std::vector<UniqueFd> held;
  for (const std::uint32_t socket : sockets) {
    UniqueFd copy = Find(caller, socket);
    if (!copy.valid()) return {};
    held.push_back(std::move(copy));
  }
  return held;
}

UniqueFd OwnSockets::Find(const HeldProcess& caller, std::uint32_t socket) {
  if (last_ != 0) {
    UniqueFd copy = FindIn(last_, caller, socket);
    if (copy.valid()) return copy;
  }
  for (const pid_t process : tree_->Processes()) {
    UniqueFd copy = FindIn(process, caller, socket);
    if (!copy.valid()) continue;
    last_ = process;
    return copy;
  }
  return UniqueFd();
}

// The number belongs to one process from the moment that it is opened until that one has ended.
UniqueFd OwnSockets::FindIn(pid_t process, const HeldProcess& caller, std::uint32_t socket) const {
  const UniqueFd opened(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!opened.valid()) return UniqueFd();
  const std::optional<HeldProcess> held = HoldProcess(process);
  if (!held.has_value()) return UniqueFd();
  const std::vector<int> numbers = DescriptorsOf(*held, socket);
  if (numbers.empty()) return UniqueFd();
  if (tree_->KinshipOf(*held, caller) == Kinship::kStranger || HasEnded(opened.get())) {
    return UniqueFd();
  }
  for (const int number : numbers) {
    UniqueFd copy(static_cast<int>(syscall(SYS_pidfd_getfd, opened.get(), number, 0)));
    if (copy.valid() && Is(copy.get(), socket)) return copy;
  }
  return UniqueFd();
}

}  // namespace cordon::internal
