#include "ledger.h"

#include <algorithm>

#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

absl::Status ClosedError() {
  return MakeError(ErrorCode::kClosed, "the grants of this executor are revoked: it was closed");
}

}  // namespace

Ledger::Time Ledger::Advance(Time now) {
  const std::lock_guard lock(mutex_);
  AdvanceAndPrune(now);
  return latest_;
}

absl::Status Ledger::Register(const Nonce& nonce, Time expires, Time now) {
  const std::lock_guard lock(mutex_);
  if (closed_) return ClosedError();
  AdvanceAndPrune(now);
  if (entries_.size() >= capacity_) {
    return MakeError(ErrorCode::kBusy,
                     "cannot issue a grant: too many are outstanding; let some be used or expire");
  }
  const bool inserted = entries_.try_emplace(nonce, Entry{State::kOutstanding, expires, 0}).second;
  if (!inserted) return MakeError(ErrorCode::kInternal, "the random source repeated a nonce");
  by_expiry_.emplace(expires, nonce);
  return absl::OkStatus();
}

absl::Status Ledger::Check(const Nonce& nonce, Time now) {
  const std::lock_guard lock(mutex_);
  if (closed_) return ClosedError();
  AdvanceAndPrune(now);
  return CheckEntry(nonce);
}

void Ledger::CountFault(const Nonce& nonce) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(nonce);
  if (it == entries_.end() || it->second.state != State::kOutstanding) return;
  if (++it->second.faults >= max_faults_) it->second.state = State::kBurned;
}

absl::Status Ledger::Consume(absl::Span<const Nonce> nonces, Time now) {
  const std::lock_guard lock(mutex_);
  if (closed_) return ClosedError();
  AdvanceAndPrune(now);
  std::set<Nonce> seen;
  for (const Nonce& nonce : nonces) {
    if (!seen.insert(nonce).second) {
      return MakeError(ErrorCode::kGrantReplayed, "a grant was presented twice at once");
    }
    if (absl::Status status = CheckEntry(nonce); !status.ok()) return status;
  }
  for (const Nonce& nonce : nonces) entries_.at(nonce).state = State::kSpent;
  return absl::OkStatus();
}

void Ledger::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  entries_.clear();
  by_expiry_.clear();
}

std::size_t Ledger::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void Ledger::AdvanceAndPrune(Time now) {
  latest_ = std::max(latest_, now);
  while (!by_expiry_.empty() && by_expiry_.begin()->first < latest_) {
    entries_.erase(by_expiry_.begin()->second);
    by_expiry_.erase(by_expiry_.begin());
  }
}

absl::Status Ledger::CheckEntry(const Nonce& nonce) const {
  const auto it = entries_.find(nonce);
  if (it == entries_.end()) {
    return MakeError(ErrorCode::kGrantExpired, "the grant has expired; ask for a new one");
  }
  switch (it->second.state) {
    case State::kOutstanding:
      return absl::OkStatus();
    case State::kSpent:
      return MakeError(ErrorCode::kGrantReplayed,
                       "the grant was used already; each starts one command");
    case State::kBurned:
      return MakeError(ErrorCode::kGrantRevoked,
                       "the grant was revoked after it was presented for the wrong operation");
  }
  return MakeError(ErrorCode::kInternal, "unknown state of a grant");
}

}  // namespace cordon::internal
