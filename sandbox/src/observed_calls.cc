#include "observed_calls.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/socket.h>

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "bpf_writer.h"
#include "fork_limit.h"
#include "name_call.h"
#include "open_call.h"
#include "seccomp_filter.h"
#include "syscall_policy.h"

namespace cordon::internal {
namespace {

using Kind = CallKind;

// Name, kind, folder, path, flags, second folder, second path.
constexpr ObservedCall kCalls[] = {
    {"connect", Kind::kConnect},
    {"sendto", Kind::kConnect},
    {"open", Kind::kOpen, -1, 0, 1},
    {"openat", Kind::kOpen, 0, 1, 2},
    {"openat2", Kind::kOpenHow, 0, 1, 2},
    {"creat", Kind::kCreateFile, -1, 0},
    {"mkdir", Kind::kCreateName, -1, 0},
    {"mkdirat", Kind::kCreateName, 0, 1},
    {"mknod", Kind::kCreateName, -1, 0},
    {"mknodat", Kind::kCreateName, 0, 1},
    {"symlink", Kind::kCreateName, -1, 1},
    {"symlinkat", Kind::kCreateName, 1, 2},
    {"unlink", Kind::kRemove, -1, 0},
    {"unlinkat", Kind::kRemove, 0, 1},
    {"rmdir", Kind::kRemove, -1, 0},
    {"rename", Kind::kRename, -1, 0, -1, -1, 1},
    {"renameat", Kind::kRename, 0, 1, -1, 2, 3},
    {"renameat2", Kind::kRename, 0, 1, -1, 2, 3},
    {"link", Kind::kLink, -1, 0, -1, -1, 1},
    {"linkat", Kind::kLink, 0, 1, -1, 2, 3},
    {"truncate", Kind::kChange, -1, 0},
    {"chmod", Kind::kChange, -1, 0},
    {"fchmodat", Kind::kChange, 0, 1},
    {"fchmodat2", Kind::kChange, 0, 1, 3},
    {"chown", Kind::kChange, -1, 0},
    {"lchown", Kind::kChangeNoLink, -1, 0},
    {"fchownat", Kind::kChange, 0, 1, 4},
    {"utime", Kind::kChange, -1, 0},
    {"utimes", Kind::kChange, -1, 0},
    {"futimesat", Kind::kChange, 0, 1},
    {"utimensat", Kind::kChange, 0, 1, 3},
    {"execve", Kind::kExecute, -1, 0},
    {"execveat", Kind::kExecute, 0, 1, 4},
    {"chdir", Kind::kEnter, -1, 0},
};

constexpr std::uint32_t kArchitectureOffset = offsetof(seccomp_data, arch);
constexpr std::uint32_t kNumberOffset = offsetof(seccomp_data, nr);
constexpr std::uint32_t kFirstArgumentOffset = offsetof(seccomp_data, args);
constexpr std::uint32_t kThirdArgumentOffset = offsetof(seccomp_data, args) + 2 * sizeof(__u64);
constexpr std::uint32_t kSendFlagsOffset = offsetof(seccomp_data, args) + 3 * sizeof(__u64);

bool IsIn(const ObservedScope& scope, const ObservedCall& call) {
  // Sockets have paths, too.
  return call.kind == Kind::kConnect ? scope.connects || scope.paths : scope.paths;
}

std::map<int, const ObservedCall*> ByNumber() {
  std::map<int, const ObservedCall*> calls;
  for (const ObservedCall& call : kCalls) {
    const int number = CallNumber(call.name, NativeArchitecture());
    if (number >= 0) calls.emplace(number, &call);
  }
  return calls;
}

}  // namespace

std::string BuildObserverProgram(std::uint32_t architecture, const ObservedScope& scope) {
  if (!scope.any()) return {};
  BpfWriter writer;
  const BpfWriter::Label allow = writer.Return(SECCOMP_RET_ALLOW);
  const BpfWriter::Label look = writer.Return(SECCOMP_RET_USER_NOTIF);
  const BpfWriter::Label send =
      writer.Load(kSendFlagsOffset, writer.Branch(BPF_JSET, MSG_FASTOPEN, look, allow));
  BpfWriter::Label next = allow;
  for (const ObservedCall& call : kCalls) {
    const int number = CallNumber(call.name, architecture);
    if (number < 0 || !IsIn(scope, call)) continue;
    const bool is_send = std::string_view(call.name) == "sendto";
    next = writer.Branch(BPF_JEQ, static_cast<std::uint32_t>(number), is_send ? send : look, next);
  }
  const auto hand_over = [&](std::span<const char* const> names) {
    for (const char* name : names) {
      const int number = CallNumber(name, architecture);
      if (number < 0) continue;
      next = writer.Branch(BPF_JEQ, static_cast<std::uint32_t>(number), look, next);
    }
  };
  constexpr const char* kUnixCalls[] = {"connect", "listen"};
  if (scope.unix_sockets) hand_over(kUnixCalls);
  if (scope.metadata) hand_over(MetadataCalls());
  if (scope.forks) hand_over(ForkCalls());
  if (scope.names) {
    hand_over(NameCalls());
    // Not what only reads by an open folder, as programs do that walk through trees: they would pay
    // for nothing.
    const BpfWriter::Label writes = writer.Load(
        kThirdArgumentOffset, writer.Branch(BPF_JSET, O_ACCMODE | O_CREAT | O_TRUNC, look, allow));
    const BpfWriter::Label by_path =
        writer.Load(kFirstArgumentOffset,
                    writer.Branch(BPF_JEQ, static_cast<std::uint32_t>(AT_FDCWD), look, writes));
    for (const char* name : OpenCalls()) {
      const int number = CallNumber(name, architecture);
      if (number < 0) continue;
      const bool has_flags = std::string_view(name) == "openat" && !scope.paths && !scope.reads;
      next = writer.Branch(BPF_JEQ, static_cast<std::uint32_t>(number), has_flags ? by_path : look,
                           next);
    }
  }
  next = writer.Load(kNumberOffset, next);
  // Calls by another ABI are not understood here, and end the process by the other filter.
  writer.Load(kArchitectureOffset, writer.Branch(BPF_JEQ, architecture, next, allow));
  return writer.Finish();
}

const ObservedCall* FindObservedCall(int number) {
  static const std::map<int, const ObservedCall*> calls = ByNumber();
  const auto found = calls.find(number);
  return found == calls.end() ? nullptr : found->second;
}

}  // namespace cordon::internal
