#include "session_record.h"

#include <algorithm>

namespace cordon::internal::egress {

bool SessionRecord::Deny(const std::string& target, const std::string& reason,
                         const std::string& allow_with) {
  return Add(target, reason, allow_with, 1);
}

bool SessionRecord::Note(const std::string& target, const std::string& reason,
                         const std::string& allow_with) {
  return Add(target, reason, allow_with, 0);
}

bool SessionRecord::Add(const std::string& target, const std::string& reason,
                        const std::string& allow_with, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  if (const auto found = denials_.find(target); found != denials_.end()) {
    found->second.count += count;
    return false;
  }
  if (denials_.size() >= kMaxTargets) {
    others_ += count;
    return false;
  }
  denials_.emplace(target, Denial{"network", target, count, reason, allow_with});
  return true;
}

void SessionRecord::Use(const NetworkTarget& target) {
  const std::lock_guard lock(mutex_);
  used_.insert(target);
}

void SessionRecord::Approve(const NetworkTarget& target) {
  const std::lock_guard lock(mutex_);
  if (approved_.size() < kMaxTargets) approved_.insert(target);
}

void SessionRecord::UseByAddress(const NetworkTarget& target) {
  const std::lock_guard lock(mutex_);
  used_by_address_.insert(target);
}

std::vector<Denial> SessionRecord::Denials() const {
  const std::lock_guard lock(mutex_);
  std::vector<Denial> list;
  for (const auto& [target, denial] : denials_) {
    list.push_back(denial);
    list.back().count = std::max<std::uint64_t>(denial.count, 1);
  }
  if (others_ > 0) {
    list.push_back({"network", "other targets", others_, "more targets than are listed", "--net"});
  }
  return list;
}

std::vector<NetworkTarget> SessionRecord::Used() const {
  const std::lock_guard lock(mutex_);
  return {used_.begin(), used_.end()};
}

std::vector<NetworkTarget> SessionRecord::Approved() const {
  const std::lock_guard lock(mutex_);
  return {approved_.begin(), approved_.end()};
}

std::vector<NetworkTarget> SessionRecord::UsedByAddress() const {
  const std::lock_guard lock(mutex_);
  return {used_by_address_.begin(), used_by_address_.end()};
}

}  // namespace cordon::internal::egress
