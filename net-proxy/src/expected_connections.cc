#include "expected_connections.h"

namespace cordon::internal::egress {
namespace {

constexpr std::uint32_t kLoopback = 0x7f000001;  // The other 127.x.y.z have ports of their own.

}  // namespace

bool ExpectedConnections::Add(std::uint16_t source_port, const Endpoint& to, SteadyTime now) {
  if (expected_.size() >= kMost && !expected_.contains(source_port)) {
    std::erase_if(expected_,
                  [now](const auto& entry) { return now - entry.second.since > kPatience; });
    if (expected_.size() >= kMost) return false;
  }
  expected_.insert_or_assign(source_port, Expected{to, now});
  return true;
}

std::optional<Endpoint> ExpectedConnections::Take(const Endpoint& peer, SteadyTime now) {
  if (peer.ip != IpAddress::V4(kLoopback)) return std::nullopt;
  const auto node = expected_.extract(peer.port);
  if (node.empty() || now - node.mapped().since > kPatience) return std::nullopt;
  return node.mapped().to;
}

}  // namespace cordon::internal::egress
