// What one execution was refused and what it used, for its report. Safe from any thread.

#ifndef CORDON_NET_PROXY_SRC_SESSION_RECORD_H_
#define CORDON_NET_PROXY_SRC_SESSION_RECORD_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cordon/sdk/denial.h"
#include "cordon/sdk/network_target.h"

namespace cordon::internal::egress {

class SessionRecord {
 public:
  // Counts a refusal of `target` (`tcp:host:port` or `name:HOST`). True when it is the first of its
  // target. A command can make up targets without end: beyond kMaxTargets they are counted
  // together.
  bool Deny(const std::string& target, const std::string& reason, const std::string& allow_with);
  // The same, but a refusal that is only the other half of a counted one does not count again.
  bool Note(const std::string& target, const std::string& reason, const std::string& allow_with);

  void Use(const NetworkTarget& target);
  void Approve(const NetworkTarget& target);
  // A connection to it named no host by itself.
  void UseByAddress(const NetworkTarget& target);

  [[nodiscard]] std::vector<Denial> Denials() const;
  [[nodiscard]] std::vector<NetworkTarget> Used() const;
  [[nodiscard]] std::vector<NetworkTarget> Approved() const;
  [[nodiscard]] std::vector<NetworkTarget> UsedByAddress() const;

  static constexpr std::size_t kMaxTargets = 1024;

 private:
  bool Add(const std::string& target, const std::string& reason, const std::string& allow_with,
           std::uint64_t count);

  mutable std::mutex mutex_;
  std::map<std::string, Denial> denials_;
  std::uint64_t others_ = 0;
  std::set<NetworkTarget> used_;
  std::set<NetworkTarget> approved_;
  std::set<NetworkTarget> used_by_address_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_SESSION_RECORD_H_
