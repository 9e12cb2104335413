#include "seccomp_filter.h"

#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_writer.h"
#include "cordon/sdk/status.h"
#include "syscall_policy.h"

namespace cordon::internal {
namespace {

using Label = BpfWriter::Label;

constexpr std::uint32_t kArchitectureOffset = offsetof(seccomp_data, arch);
constexpr std::uint32_t kNumberOffset = offsetof(seccomp_data, nr);
constexpr std::uint32_t kX32Bit = 0x40000000;  // __X32_SYSCALL_BIT

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
constexpr std::uint32_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                          CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                          CLONE_NEWNET;
// What the sandboxes of browsers are made of. Nothing is ever mounted, so a mount namespace would
// be of no use.
constexpr std::uint32_t kNestedNamespaceFlags =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC;
constexpr std::uint32_t kHarmlessPersonality = ADDR_NO_RANDOMIZE | UNAME26 | PER_LINUX32;

constexpr std::uint32_t kTypingIoctls[] = {TIOCSTI, TIOCLINUX};
// ext4 and what all share ('f'), xfs, btrfs, f2fs, fat, nilfs, bcachefs, cifs, ocfs2: flags,
// versions, subvolumes, encryption.
constexpr std::uint32_t kFileIoctlTypes[] = {'f', 'X', 0x94, 0xf5, 'r', 'n', 0xbc, 0xcf, 'o'};
// Of sockets (linux/sockios.h, linux/wireless.h): what devices and addresses there are.
constexpr std::uint32_t kNetworkIoctlTypes[] = {0x89, 0x8b};
constexpr std::uint32_t kHarmlessFileIoctls[] = {
    FS_IOC_GETFLAGS, FS_IOC_GETVERSION, FS_IOC_FIEMAP, FS_IOC_FSGETXATTR, FICLONE,
    FICLONERANGE,    FIDEDUPERANGE,     FIGETBSZ,      SIOCATMARK};
constexpr std::uint32_t kSocketTypeMask = 0xf;  // Above are SOCK_CLOEXEC and SOCK_NONBLOCK.
constexpr std::uint32_t kIoPriorityOfUser = 3;  // IOPRIO_WHO_USER

// The low 32 bits of an argument: what the kernel takes of those that are checked here, all of them
// `int` or `unsigned`. Both architectures are little-endian.
constexpr std::uint32_t ArgumentOffset(int index) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + sizeof(__u64) * index);
}

class FilterWriter {
 public:
  FilterWriter(std::uint32_t architecture, const FilterUse& use)
      : architecture_(architecture), use_(use) {}

  absl::StatusOr<std::string> Build() {
    kill_ = writer_.Return(SECCOMP_RET_KILL_PROCESS);
    unknown_ = Refuse(ENOSYS);
    refused_ = Refuse(EPERM);
    allow_ = writer_.Return(SECCOMP_RET_ALLOW);
    if (use_.on_host) {
      SetForHost();
    } else {
      SetOpened();
    }
    decided_ = verdicts_;
    for (const CheckedCall& call : CheckedCalls()) Set(call.name, Check(call.check));
    for (const RefusedCall& call : RefusedCalls()) Set(call.name, Refuse(call.error_number));
    for (const char* name : AllowedCalls()) Set(name, allow_);
    if (!conflict_.empty()) {
      return MakeError(ErrorCode::kInternal, "two system call lists name " + conflict_);
    }
    WriteStart(WriteSearch(Ranges()));
    return writer_.Finish();
  }

 private:
  struct Range {
    std::uint32_t first;
    Label verdict;
  };

  Label Refuse(int error_number) {
    return writer_.Return(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error_number));
  }

  // What is set here stands, whatever the lists for every tier say.
  void SetForHost() {
    if (use_.led_connections) {
      for (const CheckedCall& call : CheckedWhenLed()) Set(call.name, Check(call.check));
      decided_ = verdicts_;
    }
    for (const RefusedCall& call : RefusedOnHost()) Set(call.name, Refuse(call.error_number));
    for (const CheckedCall& call : CheckedOnHost()) Set(call.name, Check(call.check));
    if (use_.mediated_metadata) return;
    for (const char* name : MetadataCalls()) Set(name, refused_);
  }

  // The same, for what the profile acknowledges.
  void SetOpened() {
    if (use_.tracing) {
      for (const char* name : TracingCalls()) Set(name, allow_);
    }
    if (use_.nested_namespaces) {
      for (const char* name : NestedNamespaceCalls()) Set(name, allow_);
    }
  }

  [[nodiscard]] std::uint32_t RefusedNamespaces() const {
    const bool opened = use_.nested_namespaces && !use_.on_host;
    return opened ? kNamespaceFlags & ~kNestedNamespaceFlags : kNamespaceFlags;
  }

  void Set(const char* name, Label verdict) {
    const int number = CallNumber(name, architecture_);
    if (number < 0) return;
    const auto at = static_cast<std::size_t>(number);
    if (at < decided_.size() && decided_[at].has_value()) return;
    if (at >= verdicts_.size()) verdicts_.resize(at + 1);
    if (verdicts_[at].has_value()) conflict_ = name;
    verdicts_[at] = verdict;
  }

  Label Check(ArgumentCheck check) {
    switch (check) {
      case ArgumentCheck::kClone:
        return RefuseBits(0, RefusedNamespaces());
      case ArgumentCheck::kUnshare:
        return RefuseBits(0, RefusedNamespaces() | CLONE_NEWTIME);
      case ArgumentCheck::kSocket:
        return CheckSocket(allow_);
      case ArgumentCheck::kSocketPair:
        return writer_.Load(ArgumentOffset(0),
                            writer_.Branch(BPF_JEQ, AF_UNIX, allow_, Refuse(EAFNOSUPPORT)));
      case ArgumentCheck::kIoctl:
        return CheckOneOf(1, kTypingIoctls, refused_, allow_);
      case ArgumentCheck::kNetworkSocket:
        return use_.network ? CheckSocket(Refuse(EACCES)) : Refuse(EACCES);
      case ArgumentCheck::kTcpSocket:
        return CheckTcpSocket();
      case ArgumentCheck::kMediatedUnix:
        return use_.unix_sockets ? allow_ : Refuse(EACCES);
      case ArgumentCheck::kPlainSend:
        return RefuseBits(3, MSG_FASTOPEN);
      case ArgumentCheck::kPlainMessage:
        return RefuseBits(2, MSG_FASTOPEN);
      case ArgumentCheck::kPlainOption:
        return CheckPlainOption();
      case ArgumentCheck::kBoundPair: {
        return writer_.Load(ArgumentOffset(0), writer_.Branch(BPF_JEQ, AF_UNIX, CheckUnixStream(),
                                                              Refuse(EAFNOSUPPORT)));
      }
      case ArgumentCheck::kOwnProcess:
        return writer_.Load(ArgumentOffset(0), writer_.Branch(BPF_JEQ, 0, allow_, refused_));
      case ArgumentCheck::kOwnPriority:
        return CheckPriority(PRIO_USER);
      case ArgumentCheck::kOwnIoPriority:
        return CheckPriority(kIoPriorityOfUser);
      case ArgumentCheck::kFileIoctl:
        return CheckFileIoctl();
      case ArgumentCheck::kPersonality: {
        constexpr std::uint32_t kQuery = 0xffffffff;
        return writer_.Load(
            ArgumentOffset(0),
            writer_.Branch(BPF_JEQ, kQuery, allow_,
                           writer_.Branch(BPF_JSET, ~kHarmlessPersonality, refused_, allow_)));
      }
    }
    return refused_;
  }

  Label RefuseBits(int argument, std::uint32_t bits) {
    return writer_.Load(ArgumentOffset(argument), writer_.Branch(BPF_JSET, bits, refused_, allow_));
  }

  Label CheckOneOf(int argument, std::span<const std::uint32_t> values, Label yes, Label no) {
    for (const std::uint32_t value : values) no = writer_.Branch(BPF_JEQ, value, yes, no);
    return writer_.Load(ArgumentOffset(argument), no);
  }

  // Of the caller itself or its process group, not of all processes of its user.
  Label CheckPriority(std::uint32_t user) {
    const Label who = writer_.Load(ArgumentOffset(1), writer_.Branch(BPF_JEQ, 0, allow_, refused_));
    return writer_.Load(ArgumentOffset(0), writer_.Branch(BPF_JEQ, user, refused_, who));
  }

  // Whole types of calls are refused but for those that are known to change nothing, or only what
  // the descriptor is open for writing on.
  Label CheckFileIoctl() {
    const Label unsupported = Refuse(ENOTTY);
    Label type = allow_;
    for (const std::uint32_t refused : kFileIoctlTypes) {
      type = writer_.Branch(BPF_JEQ, refused << 8U, unsupported, type);
    }
    for (const std::uint32_t refused : kNetworkIoctlTypes) {
      if (!use_.network) type = writer_.Branch(BPF_JEQ, refused << 8U, unsupported, type);
    }
    type = writer_.And(0xff00, type);
    return CheckOneOf(
        1, kTypingIoctls, refused_,
        CheckOneOf(1, kHarmlessFileIoctls, allow_, writer_.Load(ArgumentOffset(1), type)));
  }

  Label CheckSocket(Label local) {
    const Label bad_protocol = Refuse(EPROTONOSUPPORT);
    constexpr std::uint32_t kProtocols[] = {0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP,
                                            IPPROTO_ICMPV6};
    const Label protocol = CheckOneOf(2, kProtocols, allow_, bad_protocol);
    Label type = writer_.Branch(BPF_JEQ, SOCK_DGRAM, protocol, refused_);
    type = writer_.Branch(BPF_JEQ, SOCK_STREAM, protocol, type);
    type = writer_.And(kSocketTypeMask, type);
    type = writer_.Load(ArgumentOffset(1), type);
    constexpr std::uint32_t kRoute[] = {NETLINK_ROUTE};
    const Label netlink = CheckOneOf(2, kRoute, allow_, bad_protocol);
    Label family = Refuse(EAFNOSUPPORT);
    family = writer_.Branch(BPF_JEQ, AF_NETLINK, netlink, family);
    family = writer_.Branch(BPF_JEQ, AF_INET6, type, family);
    family = writer_.Branch(BPF_JEQ, AF_INET, type, family);
    family = writer_.Branch(BPF_JEQ, AF_UNIX, local, family);
    return writer_.Load(ArgumentOffset(0), family);
  }

  // No datagrams, which SOCK_RAW makes, too: each one may have another address.
  Label CheckUnixStream() {
    Label type = writer_.Branch(BPF_JEQ, SOCK_SEQPACKET, allow_, Refuse(EACCES));
    type = writer_.Branch(BPF_JEQ, SOCK_STREAM, allow_, type);
    return writer_.Load(ArgumentOffset(1), writer_.And(kSocketTypeMask, type));
  }

  Label CheckTcpSocket() {
    const Label closed = Refuse(EACCES);
    constexpr std::uint32_t kProtocols[] = {0, IPPROTO_TCP};
    Label type = writer_.Branch(BPF_JEQ, SOCK_STREAM,
                                CheckOneOf(2, kProtocols, allow_, Refuse(EPROTONOSUPPORT)), closed);
    type = writer_.Load(ArgumentOffset(1), writer_.And(kSocketTypeMask, type));
    const Label local = use_.unix_sockets ? CheckUnixStream() : closed;
    Label family = writer_.Branch(BPF_JEQ, AF_UNIX, local, closed);
    family = writer_.Branch(BPF_JEQ, AF_INET, type, family);
    family = writer_.Branch(BPF_JEQ, AF_INET6, type, family);
    return writer_.Load(ArgumentOffset(0), family);
  }

  // Of IP what says nothing about the way of a packet: a source route (IP_OPTIONS) or a device
  // takes it past the address that the socket was connected to.
  Label CheckPlainOption() {
    constexpr std::uint32_t kDevice[] = {SO_BINDTODEVICE, SO_BINDTOIFINDEX};
    constexpr std::uint32_t kOtherKind[] = {TCP_ULP};
    constexpr std::uint32_t kOfIp[] = {IP_TOS, IP_TTL, IP_MTU_DISCOVER, IP_RECVERR,
                                       IP_BIND_ADDRESS_NO_PORT};
    constexpr std::uint32_t kOfIpv6[] = {IPV6_V6ONLY, IPV6_UNICAST_HOPS, IPV6_TCLASS,
                                         IPV6_MTU_DISCOVER, IPV6_RECVERR};
    Label level =
        writer_.Branch(BPF_JEQ, SOL_SOCKET, CheckOneOf(2, kDevice, refused_, allow_), refused_);
    level =
        writer_.Branch(BPF_JEQ, IPPROTO_TCP, CheckOneOf(2, kOtherKind, refused_, allow_), level);
    level = writer_.Branch(BPF_JEQ, IPPROTO_IP, CheckOneOf(2, kOfIp, allow_, refused_), level);
    level = writer_.Branch(BPF_JEQ, IPPROTO_IPV6, CheckOneOf(2, kOfIpv6, allow_, refused_), level);
    return writer_.Load(ArgumentOffset(1), level);
  }

  // Neighbouring numbers with one verdict are one range; what lies between is unknown.
  [[nodiscard]] std::vector<Range> Ranges() const {
    std::vector<Range> ranges = {{0, unknown_}};
    const auto add = [&ranges](std::uint32_t first, Label verdict) {
      if (ranges.back().first == first) ranges.pop_back();
      if (ranges.empty() || ranges.back().verdict != verdict) ranges.push_back({first, verdict});
    };
    std::uint32_t number = 0;
    for (const std::optional<Label>& verdict : verdicts_) add(number++, verdict.value_or(unknown_));
    add(number, unknown_);
    return ranges;
  }

  Label WriteSearch(std::span<const Range> ranges) {
    if (ranges.size() == 1) return ranges.front().verdict;
    const std::size_t middle = ranges.size() / 2;
    const Label upper = WriteSearch(ranges.subspan(middle));
    const Label lower = WriteSearch(ranges.first(middle));
    return writer_.Branch(BPF_JGE, ranges[middle].first, upper, lower);
  }

  void WriteStart(Label search) {
    if (architecture_ == SCMP_ARCH_X86_64) {
      // -1 is what a tracer sets to skip a call, not one of x32.
      const Label x32 = writer_.Branch(BPF_JEQ, 0xffffffff, unknown_, kill_);
      search = writer_.Branch(BPF_JGE, kX32Bit, x32, search);
    }
    const Label number = writer_.Load(kNumberOffset, search);
    writer_.Load(kArchitectureOffset, writer_.Branch(BPF_JEQ, architecture_, number, kill_));
  }

  const std::uint32_t architecture_;
  const FilterUse use_;
  BpfWriter writer_;
  Label kill_ = 0;
  Label unknown_ = 0;
  Label refused_ = 0;
  Label allow_ = 0;
  // By number.
  std::vector<std::optional<Label>> verdicts_ = std::vector<std::optional<Label>>(512);
  std::vector<std::optional<Label>> decided_;  // By `SetForHost` or `SetOpened`.
  std::string conflict_;
};

}  // namespace

std::uint32_t NativeArchitecture() { return seccomp_arch_native(); }

absl::StatusOr<std::string> BuildSeccompProgram(std::uint32_t architecture, const FilterUse& use) {
  if (architecture != SCMP_ARCH_X86_64 && architecture != SCMP_ARCH_AARCH64) {
    return MakeError(ErrorCode::kUnavailable,
                     "there is no system call filter for this architecture");
  }
  return FilterWriter(architecture, use).Build();
}

absl::StatusOr<std::string> CompileSeccompProgram(const FilterUse& use) {
  return BuildSeccompProgram(NativeArchitecture(), use);
}

}  // namespace cordon::internal
