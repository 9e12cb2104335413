// Which grants of one authority are outstanding, spent or burned. Safe from any thread.
//
//     Register        Consume                     an entry leaves when the clock has passed its
//   ----------> outstanding -----> spent          expiry; a nonce that is not here has expired, for
//                    | faults                     only registered nonces are ever signed
//                    +----------> burned
//
// Every transition happens under one lock, for a whole batch at once. Time never runs backwards
// here: the latest moment that was ever seen counts, so a clock that is set back revives nothing.

#ifndef CORDON_GATE_SRC_LEDGER_H_
#define CORDON_GATE_SRC_LEDGER_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "grant_codec.h"

namespace cordon::internal {

class Ledger {
 public:
  using Time = std::chrono::milliseconds;  // Since the clock's own origin.

  Ledger(std::size_t capacity, int max_faults) : capacity_(capacity), max_faults_(max_faults) {}

  // The moment that counts: `now`, or a later one that was seen before.
  [[nodiscard]] Time Advance(Time now);

  // Makes a grant outstanding until `expires`, inclusive. Returns kClosed, kBusy when full of
  // grants that have not expired, kInternal for a nonce that is known already.
  [[nodiscard]] absl::Status Register(const Nonce& nonce, Time expires, Time now);

  // Whether `nonce` could be spent: OK, kClosed, kGrantExpired, kGrantReplayed or kGrantRevoked.
  [[nodiscard]] absl::Status Check(const Nonce& nonce, Time now);

  // Counts a wrong use of an outstanding grant; burns it at `max_faults`.
  void CountFault(const Nonce& nonce);

  // Spends all of `nonces` or none. Errors as of `Check`; kGrantReplayed for one that is repeated.
  [[nodiscard]] absl::Status Consume(absl::Span<const Nonce> nonces, Time now);

  // Every later call but this returns kClosed. Idempotent.
  void Close();

  [[nodiscard]] std::size_t size() const;

 private:
  enum class State { kOutstanding, kSpent, kBurned };
  struct Entry {
    State state = State::kOutstanding;
    Time expires{0};
    int faults = 0;
  };

  // These are called with `mutex_` held.
  void AdvanceAndPrune(Time now);
  [[nodiscard]] absl::Status CheckEntry(const Nonce& nonce) const;

  const std::size_t capacity_;
  const int max_faults_;
  mutable std::mutex mutex_;
  std::map<Nonce, Entry> entries_;
  std::set<std::pair<Time, Nonce>> by_expiry_;
  Time latest_ = Time::min();
  bool closed_ = false;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_LEDGER_H_
