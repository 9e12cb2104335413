#include "process_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace cordon::internal {
namespace {

// Whatever else a call asks for is not done for it.
constexpr std::uint64_t kLargeFile = 0100000;  // O_LARGEFILE, which libc hides.
constexpr std::uint64_t kPlainFlags = O_ACCMODE | O_CLOEXEC | O_DIRECTORY | O_NOATIME | O_NOCTTY |
                                      O_NOFOLLOW | O_NONBLOCK | kLargeFile;
// A shell's redirection creates and cuts what is there already.
constexpr std::uint64_t kWriteFlags = kPlainFlags | O_CREAT | O_TRUNC | O_APPEND;

constexpr std::string_view kPublicFiles[] = {
    "cgroup",    "cmdline", "comm",    "coredump_filter", "cpuset",    "limits", "loginuid",
    "oom_score", "sched",   "stat",    "oom_score_adj",   "schedstat", "statm",  "sessionid",
    "status",    "wchan",   "children"};
constexpr std::string_view kPrivateFiles[] = {
    "arch_status",   "auxv",        "environ",    "gid_map", "io",           "ksm_stat",
    "maps",          "numa_maps",   "syscall",    "smaps",   "smaps_rollup", "timers",
    "timerslack_ns", "personality", "projid_map", "uid_map", "setgroups"};

std::optional<int> NumberOf(std::string_view text) {
  int number = 0;
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char byte) {
    return byte >= '0' && byte <= '9';
  });
  if (!plain || !absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number)) {
    return std::nullopt;
  }
  return number;
}

// Takes the first component, and the slash after it, off `path`.
std::string_view TakeComponent(std::string_view& path) {
  const std::string_view name = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(name.size() + 1, path.size()));
  return name;
}

// The part of `name` that is about one thread: without "task/NUMBER".
std::string_view WithoutTask(std::string_view name) {
  std::string_view rest = name;
  if (TakeComponent(rest) != "task") return name;
  return NumberOf(TakeComponent(rest)).has_value() ? rest : name;
}

template <typename Names>
bool Has(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// A thread may give any thread of its process another name; the kernel refuses it to others.
bool MayWrite(std::string_view name, Kinship kinship, const OpenRequest& request) {
  return kinship == Kinship::kSelf && WithoutTask(name) == "comm" &&
         (request.flags & ~kWriteFlags) == 0;
}

bool IsFor(ProcessFileClass file, Kinship kinship, bool caller_is_plain) {
  switch (kinship) {
    case Kinship::kStranger:
      return false;
    case Kinship::kOther:
      return file == ProcessFileClass::kPublic && caller_is_plain;
    case Kinship::kBelow:
    case Kinship::kSelf:
      return file != ProcessFileClass::kClosed;
  }
  return false;
}

UniqueFd OpenPlainBelow(int folder, std::string_view name, std::uint64_t flags) {
  constexpr std::uint64_t kTaken = O_ACCMODE | O_DIRECTORY | O_NONBLOCK;
  open_how how = {};
  how.flags = (flags & kTaken) | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  const std::string path = name.empty() ? "." : std::string(name);
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
}

// The descriptor of the caller's own that "/dev/NAME" stands for.
std::optional<int> DescriptorOfDevice(std::string_view name) {
  if (name == "stdin") return STDIN_FILENO;
  if (name == "stdout") return STDOUT_FILENO;
  if (name == "stderr") return STDERR_FILENO;
  return TakeComponent(name) == "fd" ? NumberOf(name) : std::nullopt;
}

bool IsPseudoTerminal(int descriptor) {
  constexpr unsigned kFirst = 136;  // UNIX98_PTY_SLAVE_MAJOR
  constexpr unsigned kLast = 143;
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  return major(status.st_rdev) >= kFirst && major(status.st_rdev) <= kLast;
}

// Whether what is open with `held` could be read and written like that already.
bool Covers(int held, std::uint64_t flags) {
  if (held < 0 || (held & O_PATH) != 0) return false;
  const auto mode = static_cast<int>(flags & O_ACCMODE);
  return (held & O_ACCMODE) == O_RDWR || (held & O_ACCMODE) == mode;
}

// The call returns the descriptor that the caller gets.
CallAnswer HandOver(const Caller& caller, int opened, std::uint64_t flags) {
  CallAnswer answer;
  const int number = caller.Give(opened, (flags & O_CLOEXEC) != 0);
  // Whom nothing can be given has as many as it may have, or waits no more.
  if (number < 0) return {.goes_on = false, .error_number = -number};
  answer.goes_on = false;
  answer.value = number;
  return answer;
}

}  // namespace

ProcessFileClass ClassOfProcessFile(std::string_view name) {
  const std::string_view own = WithoutTask(name);
  if (own.empty() || own == "task" || Has(kPublicFiles, own)) return ProcessFileClass::kPublic;
  std::string_view rest = own;
  const std::string_view first = TakeComponent(rest);
  const bool lists_descriptors = own == "fd" || own == "fdinfo";
  const bool tells_of_one = first == "fdinfo" && NumberOf(rest).has_value();
  if (lists_descriptors || tells_of_one || Has(kPrivateFiles, own)) {
    return ProcessFileClass::kPrivate;
  }
  return ProcessFileClass::kClosed;
}

CallAnswer ProcessFiles::OnCall(const seccomp_notif& call, int listener) {
  if (!IsOpenCall(call.data.nr)) return {};
  const Caller caller(call, listener);
  const std::optional<OpenRequest> request = DecodeOpenCall(caller);
  if (!request.has_value() || request->resolve != 0) return {};
  const UniqueFd opened = Open(caller, *request);
  // What was found by the caller's id was the caller's only if that still waits.
  if (!opened.valid() || !caller.IsWaiting()) return {};
  return HandOver(caller, opened.get(), request->flags);
}

UniqueFd ProcessFiles::Open(const Caller& caller, const OpenRequest& request) {
  const std::string path = AbsolutePathOf(caller, request);
  std::string_view rest = path;
  TakeComponent(rest);
  const std::string_view top = TakeComponent(rest);
  if (top == "dev") {
    const std::optional<int> descriptor = DescriptorOfDevice(rest);
    return descriptor.has_value() ? OpenTerminal(caller, *descriptor, request) : UniqueFd();
  }
  if (top != "proc") return UniqueFd();
  if (rest.empty()) return OpenListing(caller, request);
  const std::string_view process = TakeComponent(rest);
  return OpenOfProcess(caller, process, rest, request);
}

UniqueFd ProcessFiles::OpenOfProcess(const Caller& caller, std::string_view process,
                                     std::string_view name, const OpenRequest& request) {
  const bool is_self = process == "self";
  const bool is_thread = process == "thread-self";
  const std::optional<int> number = NumberOf(process);
  if (!is_self && !is_thread && !number.has_value()) return UniqueFd();
  // The link itself is meant.
  if ((is_self || is_thread) && name.empty() && request.has(O_NOFOLLOW)) return UniqueFd();

  const std::optional<HeldProcess> asking = HoldProcess(caller.thread());
  if (!asking.has_value() || !caller.IsOfThisUser()) return UniqueFd();
  const pid_t own = asking->status.process;
  const std::optional<HeldProcess> asked = HoldProcess(number.value_or(own));
  if (!asked.has_value()) return UniqueFd();
  const Kinship kinship = tree_->KinshipOf(*asked, *asking);

  std::string_view rest = name;
  if (kinship == Kinship::kSelf && TakeComponent(rest) == "fd" && NumberOf(rest).has_value()) {
    return OpenTerminal(caller, *NumberOf(rest), request);
  }
  if (!IsFor(ClassOfProcessFile(name), kinship, tree_->IsPlain(*asking))) return UniqueFd();
  const bool reads = request.only_reads() && (request.flags & ~kPlainFlags) == 0;
  if (!reads && !MayWrite(name, kinship, request)) return UniqueFd();
  std::string place(name);
  if (is_thread) {
    place = absl::StrCat("task/", caller.thread(), name.empty() ? "" : "/", std::string(name));
  }
  return OpenPlainBelow(asked->folder.get(), place, request.flags);
}

UniqueFd ProcessFiles::OpenListing(const Caller& caller, const OpenRequest& request) {
  if (!request.only_reads() || (request.flags & ~kPlainFlags) != 0) return UniqueFd();
  const std::optional<HeldProcess> asking = HoldProcess(caller.thread());
  if (!asking.has_value() || !tree_->IsPlain(*asking) || !caller.IsOfThisUser()) return UniqueFd();
  return listing_.Open(tree_->Processes());
}

// A terminal that the caller has open already, in a way that it has it open. Its path is the
// host's, and closed.
UniqueFd ProcessFiles::OpenTerminal(const Caller& caller, int descriptor,
                                    const OpenRequest& request) {
  if ((request.flags & ~kWriteFlags) != 0) return UniqueFd();
  const UniqueFd held = caller.CopyDescriptor(descriptor);
  if (!held.valid() || !IsPseudoTerminal(held.get())) return UniqueFd();
  if (!Covers(fcntl(held.get(), F_GETFL), request.flags)) return UniqueFd();
  const std::string place = absl::StrCat("/proc/self/fd/", held.get());
  const auto mode = static_cast<int>(request.flags & O_ACCMODE);
  UniqueFd opened(open(place.c_str(), mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  const auto kept = static_cast<int>(request.flags & (O_NONBLOCK | O_APPEND));
  if (opened.valid() && fcntl(opened.get(), F_SETFL, kept) != 0) return UniqueFd();
  return opened;
}

}  // namespace cordon::internal
