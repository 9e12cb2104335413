#include "open_call.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <string_view>

#include "seccomp_filter.h"
#include "syscall_policy.h"

namespace cordon::internal {
namespace {

constexpr const char* kOpenCalls[] = {"open", "openat", "openat2"};

int NumberOf(const char* name) { return CallNumber(name, NativeArchitecture()); }

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
  static const int numbers[] = {NumberOf("open"), NumberOf("openat"), NumberOf("openat2")};
  return number >= 0 &&
         std::find(std::begin(numbers), std::end(numbers), number) != std::end(numbers);
}

std::optional<OpenRequest> DecodeOpenCall(const Caller& caller) {
  static const int open_number = NumberOf("open");
  static const int how_number = NumberOf("openat2");
  OpenRequest request;
  const int first = caller.call_number() == open_number ? 0 : 1;
  if (first == 1) request.folder = caller.number(0);
  std::optional<std::string> path = caller.ReadPath(caller.argument(first));
  if (!path.has_value()) return std::nullopt;
  request.path = *std::move(path);
  if (caller.call_number() == how_number) {
    if (!DecodeHow(caller, request)) return std::nullopt;
  } else {
    // As the kernel takes an `int`.
    request.flags = static_cast<std::uint32_t>(caller.argument(first + 1));
    request.mode = static_cast<std::uint32_t>(caller.argument(first + 2));
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
