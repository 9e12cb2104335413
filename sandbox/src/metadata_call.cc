#include "metadata_call.h"

#include <fcntl.h>
#include <sys/time.h>
#include <utime.h>

#include <cerrno>
#include <map>
#include <utility>

#include "seccomp_filter.h"
#include "syscall_policy.h"

namespace cordon::internal {
namespace {

using Kind = MetadataRequest::Kind;

// How the times are written down.
enum class TimeForm : std::uint8_t { kNone, kSeconds, kMicroseconds, kNanoseconds };

// Places of arguments; -1: there is none.
struct Form {
  const char* name;
  Kind kind;
  std::int8_t folder;  // A descriptor.
  std::int8_t path;
  std::int8_t value;       // The mode, the user before the group, or where the times are.
  std::int8_t flags = -1;  // AT_*
  bool follow = true;
  TimeForm times = TimeForm::kNone;
};

constexpr Form kForms[] = {
    {"chmod", Kind::kMode, -1, 0, 1},
    {"fchmod", Kind::kMode, 0, -1, 1},
    {"fchmodat", Kind::kMode, 0, 1, 2},
    {"fchmodat2", Kind::kMode, 0, 1, 2, 3},
    {"chown", Kind::kOwner, -1, 0, 1},
    {"lchown", Kind::kOwner, -1, 0, 1, -1, false},
    {"fchown", Kind::kOwner, 0, -1, 1},
    {"fchownat", Kind::kOwner, 0, 1, 2, 4},
    {"utime", Kind::kTimes, -1, 0, 1, -1, true, TimeForm::kSeconds},
    {"utimes", Kind::kTimes, -1, 0, 1, -1, true, TimeForm::kMicroseconds},
    {"futimesat", Kind::kTimes, 0, 1, 2, -1, true, TimeForm::kMicroseconds},
    {"utimensat", Kind::kTimes, 0, 1, 2, 3, true, TimeForm::kNanoseconds},
};

const std::map<int, const Form*>& Forms() {
  static const std::map<int, const Form*> forms = [] {
    std::map<int, const Form*> by_number;
    for (const Form& form : kForms) {
      const int number = CallNumber(form.name, NativeArchitecture());
      if (number >= 0) by_number.emplace(number, &form);
    }
    return by_number;
  }();
  return forms;
}

timespec FromMicroseconds(const timeval& time) {
  return {time.tv_sec, static_cast<decltype(timespec::tv_nsec)>(time.tv_usec * 1000)};
}

int DecodeTimes(const Caller& caller, std::uint64_t address, TimeForm form,
                std::optional<std::array<timespec, 2>>& times) {
  if (address == 0) return 0;
  std::array<timespec, 2> read = {};
  if (form == TimeForm::kSeconds) {
    utimbuf seconds = {};
    if (!caller.Read(address, &seconds, sizeof seconds)) return EFAULT;
    read = {timespec{seconds.actime, 0}, timespec{seconds.modtime, 0}};
  } else if (form == TimeForm::kMicroseconds) {
    std::array<timeval, 2> precise = {};
    if (!caller.Read(address, precise.data(), sizeof precise)) return EFAULT;
    for (const timeval& time : precise) {
      if (time.tv_usec < 0 || time.tv_usec >= 1'000'000) return EINVAL;
    }
    read = {FromMicroseconds(precise[0]), FromMicroseconds(precise[1])};
  } else if (!caller.Read(address, read.data(), sizeof read)) {
    return EFAULT;
  }
  times = read;
  return 0;
}

int DecodePlace(const Caller& caller, const Form& form, MetadataRequest& request) {
  request.follow = form.follow;
  request.folder = form.folder < 0 ? AT_FDCWD : caller.number(form.folder);
  if (form.path < 0) return 0;
  const std::uint64_t address = caller.argument(form.path);
  // Only the calls that set times by a folder take a null pointer for the descriptor itself.
  const bool may_be_null = form.kind == Kind::kTimes && form.folder >= 0;
  if (address == 0) return may_be_null && request.folder != AT_FDCWD ? 0 : EFAULT;
  std::optional<std::string> path = caller.ReadPath(address);
  if (!path.has_value()) return EFAULT;
  request.path = *std::move(path);
  const int flags = form.flags < 0 ? 0 : caller.number(form.flags);
  if ((flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0) return EINVAL;
  if ((flags & AT_SYMLINK_NOFOLLOW) != 0) request.follow = false;
  return request.path.empty() && (flags & AT_EMPTY_PATH) == 0 ? ENOENT : 0;
}

int DecodeValue(const Caller& caller, const Form& form, MetadataRequest& request) {
  constexpr unsigned kModeBits = 07777;
  switch (form.kind) {
    case Kind::kMode:
      request.mode = static_cast<mode_t>(caller.number(form.value)) & kModeBits;
      return 0;
    case Kind::kOwner:
      request.user = static_cast<uid_t>(caller.number(form.value));
      request.group = static_cast<gid_t>(caller.number(form.value + 1));
      return 0;
    case Kind::kTimes:
      return DecodeTimes(caller, caller.argument(form.value), form.times, request.times);
  }
  return ENOSYS;
}

}  // namespace

bool IsMetadataCall(int number) { return Forms().contains(number); }

DecodedMetadataCall DecodeMetadataCall(const Caller& caller) {
  DecodedMetadataCall decoded;
  const auto form = Forms().find(caller.call_number());
  if (form == Forms().end()) return {ENOSYS, {}};
  decoded.request.kind = form->second->kind;
  decoded.error_number = DecodePlace(caller, *form->second, decoded.request);
  if (decoded.error_number == 0) {
    decoded.error_number = DecodeValue(caller, *form->second, decoded.request);
  }
  // What was read may be somebody else's, who has the id by now.
  if (!caller.IsWaiting()) decoded.error_number = EPERM;
  return decoded;
}

}  // namespace cordon::internal
