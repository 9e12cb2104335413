#include "syn_watch.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "cordon/sdk/status.h"

namespace cordon::internal::egress {
namespace {

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kFlagSyn = 0x02;
constexpr std::uint8_t kFlagsSynAck = 0x12;
constexpr std::size_t kV4HeaderBytes = 20;
constexpr std::size_t kV6HeaderBytes = 40;
constexpr std::size_t kTcpHeaderBytes = 20;
constexpr int kMaxPerTurn = 64;

// Lets only IPv4 and IPv6 packets through that begin a TCP connection. Offsets are those of the
// network header.
constexpr sock_filter kFirstSegments[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x60, 7, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x40, 0, 11),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kTcp, 0, 9),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 7, 0),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
    BPF_JUMP(BPF_JMP | BPF_JA, 2, 0, 0),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kTcp, 4, 3),
    BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kFlagsSynAck),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kFlagSyn, 4, 0),
    BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kV6HeaderBytes + 13),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kFlagsSynAck),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kFlagSyn, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, 128),
    BPF_STMT(BPF_RET | BPF_K, 0),
};

std::uint8_t ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

std::uint32_t Number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | ByteAt(bytes, at + i);
  return value;
}

}  // namespace

std::optional<Syn> ParseSyn(std::string_view packet) {
  if (packet.empty()) return std::nullopt;
  const unsigned version = ByteAt(packet, 0) >> 4U;
  std::size_t header = kV6HeaderBytes;
  if (version == 4) header = static_cast<std::size_t>(ByteAt(packet, 0) & 0xfU) * 4;
  if ((version != 4 && version != 6) || header < kV4HeaderBytes ||
      packet.size() < header + kTcpHeaderBytes) {
    return std::nullopt;
  }
  Syn syn;
  if (version == 4) {
    if (ByteAt(packet, 9) != kTcp || (Number(packet, 6, 2) & 0x1fffU) != 0) return std::nullopt;
    syn.target.ip = IpAddress::V4(Number(packet, 16, 4));
  } else {
    if (ByteAt(packet, 6) != kTcp) return std::nullopt;
    syn.target.ip.is_v6 = true;
    std::memcpy(syn.target.ip.bytes.data(), packet.data() + 24, 16);
  }
  if ((ByteAt(packet, header + 13) & kFlagsSynAck) != kFlagSyn) return std::nullopt;
  syn.source_port = static_cast<std::uint16_t>(Number(packet, header, 2));
  syn.target.port = static_cast<std::uint16_t>(Number(packet, header + 2, 2));
  syn.sequence = Number(packet, header + 4, 4);
  return syn;
}

absl::Status BindSynWatch(int fd) {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(std::size(kFirstSegments));
  program.filter = const_cast<sock_filter*>(kFirstSegments);  // The kernel copies it.
  // Made without a protocol, it receives nothing before it is bound: no packet escapes the filter.
  sockaddr_ll every{};
  every.sll_family = AF_PACKET;
  every.sll_protocol = htons(ETH_P_ALL);
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&every), sizeof every) != 0) {
    return MakeErrnoError(errno, "cannot watch the connections of a sandbox");
  }
  return absl::OkStatus();
}

SynWatch::SynWatch(EventLoop& loop, UniqueFd fd, std::function<void(const Endpoint&)> seen)
    : loop_(loop), fd_(std::move(fd)), seen_(std::move(seen)) {}

SynWatch::~SynWatch() { loop_.Unwatch(fd_.get(), this); }

bool SynWatch::Start() { return loop_.Watch(fd_.get(), EPOLLIN, this); }

void SynWatch::OnIo(std::uint32_t /*events*/) {
  char packet[128];
  for (int i = 0; i < kMaxPerTurn; ++i) {
    sockaddr_ll from{};
    socklen_t size = sizeof from;
    const ssize_t count = recvfrom(fd_.get(), packet, sizeof packet, MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    if (from.sll_pkttype == PACKET_OUTGOING) continue;
    const std::optional<Syn> syn = ParseSyn({packet, static_cast<std::size_t>(count)});
    if (syn.has_value() && !IsAgain(*syn)) seen_(syn->target);
  }
}

bool SynWatch::IsAgain(const Syn& syn) {
  if (std::find(recent_.begin(), recent_.end(), syn) != recent_.end()) return true;
  recent_[next_recent_++ % recent_.size()] = syn;
  return false;
}

}  // namespace cordon::internal::egress
