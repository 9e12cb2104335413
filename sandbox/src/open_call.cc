#include "open_call.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <string_view>

#include "seccomp_filter.h"
#include "syscall_policy.h"

namespace cordon::internal {
namespace {

constexpr const char* kOpenCalls[] = {"open", "creat", "openat", "openat2"};

int NumberOf(const char* name) { return CallNumber(name, NativeArchitecture()); }

bool IsCreat(const Caller& caller) {
  static const int number = NumberOf("creat");
  return caller.call_number() == number;
}

// The argument that is the path.
int PathPlace(const Caller& caller) {
  static const int open_number = NumberOf("open");
  return caller.call_number() == open_number || IsCreat(caller) ? 0 : 1;
}

// As the kernel takes an `int`. Not of openat2(2).
std::uint64_t FlagsOf(const Caller& caller) {
  if (IsCreat(caller)) return O_CREAT | O_WRONLY | O_TRUNC;
  return static_cast<std::uint32_t>(caller.argument(PathPlace(caller) + 1));
}

bool DecodeHow(const Caller& caller, OpenRequest& request) {
  open_how how = {};
  // A longer one asks for something that is not known here.
  if (caller.argument(3) != sizeof how || !caller.Read(caller.argument(2), &how, sizeof how)) {
    return false;
  }
  request.flags = how.flags;
  request.mode = how.mode;
  request.resolve = how.resolve;
  return true;
}

}  // namespace

bool OpenRequest::only_reads() const {
  return (flags & O_ACCMODE) == O_RDONLY && !has(O_CREAT) && !has(O_TRUNC) && !has(O_TMPFILE);
}

std::span<const char* const> OpenCalls() { return kOpenCalls; }

bool IsOpenCall(int number) {
  static const int numbers[] = {NumberOf("open"), NumberOf("creat"), NumberOf("openat"),
                                NumberOf("openat2")};
  return number >= 0 &&
         std::find(std::begin(numbers), std::end(numbers), number) != std::end(numbers);
}

bool MayWriteByOpen(const Caller& caller) {
  static const int how_number = NumberOf("openat2");
  if (caller.call_number() == how_number) return true;
  OpenRequest request;
  request.flags = FlagsOf(caller);
  return !request.only_reads();
}

std::optional<OpenRequest> DecodeOpenCall(const Caller& caller) {
  static const int how_number = NumberOf("openat2");
  OpenRequest request;
  const int first = PathPlace(caller);
  if (first == 1) request.folder = caller.number(0);
  std::optional<std::string> path = caller.ReadPath(caller.argument(first));
  if (!path.has_value()) return std::nullopt;
  request.path = *std::move(path);
  if (caller.call_number() == how_number) {
    if (!DecodeHow(caller, request)) return std::nullopt;
  } else {
    request.flags = FlagsOf(caller);
    const int mode = IsCreat(caller) ? 1 : first + 2;
    request.mode = static_cast<std::uint32_t>(caller.argument(mode));
  }
  return request;
}

std::string AbsolutePathOf(const Caller& caller, const OpenRequest& request) {
  std::string absolute;
  if (!request.path.starts_with('/')) {
    absolute = caller.FolderPath(request.folder);
    if (absolute.empty()) return {};
    if (absolute == "/") absolute.clear();
  }
  std::string_view rest = request.path;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name == "..") return {};
    if (name.empty() || name == ".") continue;
    absolute.append(1, '/').append(name);
  }
  return absolute.empty() ? std::string("/") : absolute;
}

}  // namespace cordon::internal
