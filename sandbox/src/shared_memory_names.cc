#include "shared_memory_names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kFolder = "/dev/shm/";
constexpr std::uint64_t kLargeFile = 0100000;  // O_LARGEFILE, which libc hides.
// What is handed on to the kernel, and what is dealt with here.
constexpr std::uint64_t kTaken = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND;
constexpr std::uint64_t kKnown = kTaken | kLargeFile | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;

CallAnswer Done(int error_number) { return {.goes_on = false, .error_number = error_number}; }

// What was made has been under this program's mask.
bool SetMode(int file, mode_t mode) { return fchmod(file, mode) == 0; }

}  // namespace

std::string_view SharedMemoryName(std::string_view path) {
  if (!path.starts_with(kFolder)) return {};
  std::string_view name = path.substr(kFolder.size());
  // The C library's own text has one slash, or two.
  while (name.starts_with('/')) name.remove_prefix(1);
  const bool is_name = !name.empty() && name != "." && name != ".." && name.size() <= NAME_MAX &&
                       name.find('/') == std::string_view::npos;
  return is_name ? name : std::string_view();
}

SharedMemoryNames::~SharedMemoryNames() {
  if (!held_.valid()) return;
  for (const std::string& name : names_) (void)unlinkat(held_.get(), name.c_str(), 0);
  (void)rmdir(folder_.c_str());
}

CallAnswer SharedMemoryNames::OnCall(const seccomp_notif& call, int listener) {
  const Caller caller(call, listener);
  if (IsOpenCall(call.data.nr)) return OnOpen(caller);
  return IsNameCall(call.data.nr) ? OnName(caller) : CallAnswer();
}

CallAnswer SharedMemoryNames::OnOpen(const Caller& caller) {
  const std::optional<OpenRequest> request = DecodeOpenCall(caller);
  if (!request.has_value() || request->resolve != 0) return {};
  const std::string name(SharedMemoryName(request->path));
  if (name.empty() || (request->flags & ~kKnown) != 0) return {};
  const std::optional<mode_t> mask = MaskOf(caller);
  if (!mask.has_value() || !HoldFolder()) return {};

  const bool is_known = names_.contains(name);
  const bool makes = request->has(O_CREAT) && !is_known;
  if (makes && names_.size() >= kMostNames) return Done(ENOSPC);
  const auto flags = static_cast<int>(request->flags & kTaken);
  const UniqueFd file(openat(held_.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                             S_IRUSR | S_IWUSR));
  if (!file.valid()) return Done(errno);
  if (makes) {
    names_.insert(name);
    const mode_t mode = static_cast<mode_t>(request->mode) & 0777 & ~*mask;
    if (!SetMode(file.get(), mode)) return Done(errno);
  }
  const int number = caller.Give(file.get(), request->has(O_CLOEXEC));
  if (number < 0) return Done(-number);
  return {.goes_on = false, .value = number};
}

CallAnswer SharedMemoryNames::OnName(const Caller& caller) {
  const std::optional<NameRequest> request = DecodeNameCall(caller);
  if (!request.has_value()) return {};
  const std::string name(SharedMemoryName(request->path));
  if (name.empty() || !MaskOf(caller).has_value() || !HoldFolder()) return {};
  using Kind = NameRequest::Kind;
  if (request->kind == Kind::kRemove) return Done(Remove(name));
  const std::string to(SharedMemoryName(request->new_path));
  // Into and out of other folders nothing goes.
  if (to.empty() || request->flags != 0) return {};
  if (request->kind == Kind::kLink) return Done(Connect(name, to, /*moves=*/false));
  if (request->kind == Kind::kRename) return Done(Connect(name, to, /*moves=*/true));
  return {};
}

std::optional<mode_t> SharedMemoryNames::MaskOf(const Caller& caller) const {
  const std::optional<HeldProcess> asking = HoldProcess(caller.thread());
  if (!asking.has_value() || !tree_->IsPlain(*asking)) return std::nullopt;
  if (!caller.IsOfThisUser() || !caller.IsWaiting()) return std::nullopt;
  return asking->status.mask;
}

bool SharedMemoryNames::HoldFolder() {
  if (held_.valid()) return true;
  if (mkdir(folder_.c_str(), 0700) != 0) return false;
  held_.Reset(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return held_.valid();
}

int SharedMemoryNames::Remove(const std::string& name) {
  if (unlinkat(held_.get(), name.c_str(), 0) != 0) return errno;
  names_.erase(name);
  return 0;
}

int SharedMemoryNames::Connect(const std::string& from, const std::string& to, bool moves) {
  if (!moves && names_.size() >= kMostNames) return ENOSPC;
  const int failed = moves ? renameat(held_.get(), from.c_str(), held_.get(), to.c_str())
                           : linkat(held_.get(), from.c_str(), held_.get(), to.c_str(), 0);
  if (failed != 0) return errno;
  names_.insert(to);
  if (moves && from != to && faccessat(held_.get(), from.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    names_.erase(from);
  }
  return 0;
}

}  // namespace cordon::internal
