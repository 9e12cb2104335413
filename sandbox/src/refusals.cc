#include "refusals.h"

namespace cordon::internal {

void Refusals::Add(const std::string& kind, const std::string& target,
                   const std::function<void(Denial&)>& describe) {
  const std::lock_guard lock(mutex_);
  const auto known = places_.find({kind, target});
  if (known != places_.end()) {
    ++denials_[known->second].count;
    return;
  }
  if (denials_.size() >= kMaxTargets) {
    ++left_out_;
    return;
  }
  Denial denial;
  denial.kind = kind;
  denial.target = target;
  denial.count = 1;
  describe(denial);
  places_.emplace(std::pair(kind, target), denials_.size());
  denials_.push_back(std::move(denial));
}

std::vector<Denial> Refusals::All() const {
  const std::lock_guard lock(mutex_);
  return denials_;
}

std::uint64_t Refusals::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace cordon::internal
