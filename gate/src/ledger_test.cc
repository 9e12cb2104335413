#include "ledger.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using std::chrono::milliseconds;

Nonce NonceOf(int number) {
  Nonce nonce{};
  nonce[0] = static_cast<std::uint8_t>(number >> 8);
  nonce[1] = static_cast<std::uint8_t>(number);
  return nonce;
}

absl::Status ConsumeOne(Ledger& ledger, const Nonce& nonce, int now) {
  return ledger.Consume(absl::MakeConstSpan(&nonce, 1), milliseconds(now));
}

TEST_CASE("a registered nonce is spent once") {
  Ledger ledger(8, 3);
  REQUIRE(ledger.Register(NonceOf(1), milliseconds(100), milliseconds(0)).ok());
  CHECK(ledger.Check(NonceOf(1), milliseconds(50)).ok());
  CHECK(ConsumeOne(ledger, NonceOf(1), 50).ok());
  CHECK(Is(ConsumeOne(ledger, NonceOf(1), 50), ErrorCode::kGrantReplayed));
  CHECK(Is(ledger.Check(NonceOf(1), milliseconds(50)), ErrorCode::kGrantReplayed));
}

TEST_CASE("a replay is detected at exact expiry and reported as expired one millisecond later") {
  Ledger ledger(8, 3);
  REQUIRE(ledger.Register(NonceOf(1), milliseconds(100), milliseconds(0)).ok());
  REQUIRE(ConsumeOne(ledger, NonceOf(1), 100).ok());
  CHECK(Is(ConsumeOne(ledger, NonceOf(1), 100), ErrorCode::kGrantReplayed));
  CHECK(ledger.size() == 1);
  CHECK(Is(ConsumeOne(ledger, NonceOf(1), 101), ErrorCode::kGrantExpired));
  CHECK(ledger.size() == 0);
}

TEST_CASE("a clock that steps back revives nothing") {
  Ledger ledger(8, 3);
  REQUIRE(ledger.Register(NonceOf(1), milliseconds(100), milliseconds(0)).ok());
  REQUIRE(ledger.Register(NonceOf(2), milliseconds(100), milliseconds(0)).ok());
  REQUIRE(ConsumeOne(ledger, NonceOf(1), 10).ok());
  CHECK(Is(ConsumeOne(ledger, NonceOf(2), 101), ErrorCode::kGrantExpired));
  CHECK(Is(ConsumeOne(ledger, NonceOf(1), 50), ErrorCode::kGrantExpired));
  CHECK(Is(ConsumeOne(ledger, NonceOf(2), 50), ErrorCode::kGrantExpired));
  CHECK(ledger.Advance(milliseconds(0)) == milliseconds(101));
}

TEST_CASE("256 spent grants prune to the one that is new") {
  Ledger ledger(256, 3);
  for (int i = 0; i < 256; ++i) {
    REQUIRE(ledger.Register(NonceOf(i), milliseconds(100), milliseconds(0)).ok());
    REQUIRE(ConsumeOne(ledger, NonceOf(i), 1).ok());
  }
  CHECK(Is(ledger.Register(NonceOf(300), milliseconds(200), milliseconds(100)), ErrorCode::kBusy));
  CHECK(ledger.Register(NonceOf(300), milliseconds(200), milliseconds(101)).ok());
  CHECK(ledger.size() == 1);
}

TEST_CASE("a batch is spent whole or not at all") {
  Ledger ledger(8, 3);
  for (int i = 1; i <= 3; ++i) {
    REQUIRE(ledger.Register(NonceOf(i), milliseconds(100), milliseconds(0)).ok());
  }
  REQUIRE(ConsumeOne(ledger, NonceOf(3), 0).ok());
  const std::vector<Nonce> with_spent = {NonceOf(1), NonceOf(2), NonceOf(3)};
  CHECK(Is(ledger.Consume(with_spent, milliseconds(0)), ErrorCode::kGrantReplayed));
  const std::vector<Nonce> repeated = {NonceOf(1), NonceOf(1)};
  CHECK(Is(ledger.Consume(repeated, milliseconds(0)), ErrorCode::kGrantReplayed));
  const std::vector<Nonce> good = {NonceOf(1), NonceOf(2)};
  CHECK(ledger.Consume(good, milliseconds(0)).ok());
}

TEST_CASE("faults burn an outstanding grant and never a spent one") {
  Ledger ledger(8, 2);
  REQUIRE(ledger.Register(NonceOf(1), milliseconds(100), milliseconds(0)).ok());
  ledger.CountFault(NonceOf(1));
  CHECK(ledger.Check(NonceOf(1), milliseconds(0)).ok());
  ledger.CountFault(NonceOf(1));
  CHECK(Is(ConsumeOne(ledger, NonceOf(1), 0), ErrorCode::kGrantRevoked));

  REQUIRE(ledger.Register(NonceOf(2), milliseconds(100), milliseconds(0)).ok());
  REQUIRE(ConsumeOne(ledger, NonceOf(2), 0).ok());
  ledger.CountFault(NonceOf(2));
  ledger.CountFault(NonceOf(2));
  CHECK(Is(ConsumeOne(ledger, NonceOf(2), 0), ErrorCode::kGrantReplayed));
}

TEST_CASE("a nonce that was never registered counts as expired") {
  Ledger ledger(8, 3);
  CHECK(Is(ConsumeOne(ledger, NonceOf(1), 0), ErrorCode::kGrantExpired));
}

TEST_CASE("a repeated nonce is refused at registration") {
  Ledger ledger(8, 3);
  REQUIRE(ledger.Register(NonceOf(1), milliseconds(100), milliseconds(0)).ok());
  CHECK(Is(ledger.Register(NonceOf(1), milliseconds(200), milliseconds(0)), ErrorCode::kInternal));
}

TEST_CASE("after Close everything is closed") {
  Ledger ledger(8, 3);
  REQUIRE(ledger.Register(NonceOf(1), milliseconds(100), milliseconds(0)).ok());
  ledger.Close();
  ledger.Close();
  CHECK(Is(ledger.Check(NonceOf(1), milliseconds(0)), ErrorCode::kClosed));
  CHECK(Is(ConsumeOne(ledger, NonceOf(1), 0), ErrorCode::kClosed));
  CHECK(Is(ledger.Register(NonceOf(2), milliseconds(100), milliseconds(0)), ErrorCode::kClosed));
}

// Every sequence of up to five steps, against the rule that a nonce is spent at most once and only
// before its expiry, whatever the clock does.
TEST_CASE("no sequence of steps spends a grant twice or after its expiry") {
  enum Step { kConsume, kFault, kForward, kBack, kClose, kSteps };
  constexpr int kLength = 5;
  int sequences = 1;
  for (int i = 0; i < kLength; ++i) sequences *= kSteps;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    Ledger ledger(4, 2);
    int now = 50;
    int latest = now;
    int faults = 0;
    int spent = 0;
    bool closed = false;
    REQUIRE(ledger.Register(NonceOf(1), milliseconds(100), milliseconds(now)).ok());
    int rest = sequence;
    for (int i = 0; i < kLength; ++i, rest /= kSteps) {
      switch (static_cast<Step>(rest % kSteps)) {
        case kConsume: {
          const bool may = spent == 0 && faults < 2 && !closed && latest <= 100;
          if (ConsumeOne(ledger, NonceOf(1), now).ok() != may) FAIL("sequence " << sequence);
          if (may) ++spent;
          break;
        }
        case kFault:
          if (spent == 0) ++faults;
          ledger.CountFault(NonceOf(1));
          break;
        case kForward:
          now += 51;
          latest = std::max(latest, now);
          (void)ledger.Advance(milliseconds(now));
          break;
        case kBack:
          now -= 60;
          break;
        case kClose:
          closed = true;
          ledger.Close();
          break;
        case kSteps:
          break;
      }
    }
    REQUIRE(spent <= 1);
  }
}

TEST_CASE("of many threads that spend the same batch exactly one succeeds") {
  for (int round = 0; round < 50; ++round) {
    Ledger ledger(8, 3);
    const std::vector<Nonce> nonces = {NonceOf(1), NonceOf(2)};
    for (const Nonce& nonce : nonces) {
      REQUIRE(ledger.Register(nonce, milliseconds(100), milliseconds(0)).ok());
    }
    std::atomic<int> successes{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&ledger, &nonces, &successes] {
        if (ledger.Consume(nonces, milliseconds(1)).ok()) ++successes;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(successes == 1);
  }
}

}  // namespace
}  // namespace cordon::internal
