#include "cordon/gate/grants.h"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "grant_codec.h"
#include "support/catch.h"

namespace cordon {
namespace {

using std::chrono::milliseconds;

// An authority on a clock and a random source that the test moves.
class GrantBench {
 public:
  GrantBench() : authority_(Make("executor-1")) {}

  [[nodiscard]] std::shared_ptr<GrantAuthority> Make(std::string id, std::size_t capacity = 64) {
    GrantAuthorityOptions options;
    options.clock = [now = now_] { return milliseconds(now->load()); };
    options.random = [counter = counter_](absl::Span<std::uint8_t> out) {
      for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(counter->fetch_add(1));
      // A nonce must be new each time: the first bytes count calls.
      const int call = counter->fetch_add(1);
      for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<std::uint8_t>(call >> (8 * i));
      return true;
    };
    options.capacity = capacity;
    return NewHmacGrantAuthority(std::move(id), options).value();
  }

  GrantAuthority& authority() { return *authority_; }
  void SetTime(int milliseconds_now) { *now_ = milliseconds_now; }

  [[nodiscard]] static GrantBinding Binding() {
    GrantBinding binding;
    binding.executor_id = "executor-1";
    binding.execution_id = "execution-1";
    binding.command_digest.fill(1);
    binding.working_directory = "/code";
    binding.profile_fingerprint.fill(2);
    binding.route_fingerprint = "direct";
    binding.guarantees = 0x3f;
    return binding;
  }
  [[nodiscard]] Grant IssueCommand() {
    return authority_->Issue(Binding(), GrantSubject{}, milliseconds(100)).value();
  }
  [[nodiscard]] absl::Status Verify(const Grant& grant, const GrantBinding& expected = Binding()) {
    return authority_->Verify(absl::MakeConstSpan(&grant, 1), expected).status();
  }
  [[nodiscard]] absl::Status Spend(const Grant& grant) {
    auto redemption = authority_->Verify(absl::MakeConstSpan(&grant, 1), Binding());
    return redemption.ok() ? (*redemption)->Consume() : redemption.status();
  }

 private:
  std::shared_ptr<std::atomic<int>> now_ = std::make_shared<std::atomic<int>>(1000);
  std::shared_ptr<std::atomic<int>> counter_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<GrantAuthority> authority_;
};

TEST_CASE("a grant is good for one use") {
  GrantBench bench;
  const Grant grant = bench.IssueCommand();
  CHECK(bench.Spend(grant).ok());
  CHECK(Is(bench.Spend(grant), ErrorCode::kGrantReplayed));
}

TEST_CASE("verifying alone spends nothing") {
  GrantBench bench;
  const Grant grant = bench.IssueCommand();
  for (int i = 0; i < 10; ++i) CHECK(bench.Verify(grant).ok());
  CHECK(bench.Spend(grant).ok());
}

TEST_CASE("a redemption shows what was granted") {
  GrantBench bench;
  const GrantSubject network{GrantClass::kNetworkTarget, "tcp:example.com:443", std::nullopt};
  const std::vector<Grant> grants = {
      bench.IssueCommand(),
      bench.authority().Issue(GrantBench::Binding(), network, milliseconds(100)).value()};
  const auto redemption = bench.authority().Verify(grants, GrantBench::Binding()).value();
  CHECK(redemption->subjects() == std::vector<GrantSubject>{GrantSubject{}, network});
}

TEST_CASE("each field of the binding has an error of its own") {
  struct Mismatch {
    ErrorCode code;
    std::function<void(GrantBinding&)> change;
  };
  const Mismatch mismatches[] = {
      {ErrorCode::kGrantWrongExecutor, [](GrantBinding& b) { b.executor_id = "executor-2"; }},
      {ErrorCode::kGrantWrongExecution, [](GrantBinding& b) { b.execution_id = "execution-2"; }},
      {ErrorCode::kGrantWrongCommand, [](GrantBinding& b) { b.command_digest[31] ^= 1; }},
      {ErrorCode::kGrantWrongDirectory, [](GrantBinding& b) { b.working_directory = "/work2"; }},
      {ErrorCode::kGrantWrongProfile, [](GrantBinding& b) { b.profile_fingerprint[0] ^= 1; }},
      {ErrorCode::kGrantWrongRoute, [](GrantBinding& b) { b.route_fingerprint = "proxy"; }},
      {ErrorCode::kGrantWrongGuarantees, [](GrantBinding& b) { b.guarantees ^= 1; }},
  };
  for (const Mismatch& mismatch : mismatches) {
    GrantBench bench;
    const Grant grant = bench.IssueCommand();
    GrantBinding expected = GrantBench::Binding();
    mismatch.change(expected);
    CAPTURE(ErrorCodeName(mismatch.code));
    CHECK(Is(bench.Verify(grant, expected), mismatch.code));
    CHECK(bench.Spend(grant).ok());
  }
}

TEST_CASE("a grant that is presented for wrong operations is burned") {
  GrantBench bench;
  const Grant grant = bench.IssueCommand();
  GrantBinding other = GrantBench::Binding();
  other.working_directory = "/elsewhere";
  for (int i = 0; i < kMaxGrantFaults; ++i) {
    CHECK(Is(bench.Verify(grant, other), ErrorCode::kGrantWrongDirectory));
  }
  CHECK(Is(bench.Verify(grant), ErrorCode::kGrantRevoked));
  CHECK(Is(bench.Spend(grant), ErrorCode::kGrantRevoked));
}

TEST_CASE("garbage is malformed, a changed signature is forged") {
  GrantBench bench;
  const Grant grant = bench.IssueCommand();
  CHECK(Is(bench.Verify(Grant("")), ErrorCode::kGrantMalformed));
  CHECK(Is(bench.Verify(Grant("v1.\xff\xfe.x")), ErrorCode::kGrantMalformed));
  CHECK(Is(bench.Verify(Grant(grant.token() + "=")), ErrorCode::kGrantMalformed));
  std::string forged = grant.token();
  char& in_signature = forged[forged.size() - 10];
  in_signature = in_signature == 'A' ? 'B' : 'A';
  CHECK(Is(bench.Verify(Grant(forged)), ErrorCode::kGrantForged));
  CHECK(bench.Spend(grant).ok());
}

TEST_CASE("claims that were changed without the key are forged") {
  GrantBench bench;
  const Grant grant = bench.IssueCommand();
  const internal::TokenParts parts = internal::ParseToken(grant.token()).value();
  internal::GrantClaims claims = internal::DecodeClaims(parts.claims).value();
  claims.expires += std::chrono::hours(1);
  const Grant longer(internal::TokenText(internal::SignedText(claims), parts.mac));
  CHECK(Is(bench.Verify(longer), ErrorCode::kGrantForged));
}

TEST_CASE("no re-spelling of a token is accepted") {
  GrantBench bench;
  const Grant grant = bench.IssueCommand();
  const std::string& token = grant.token();
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    if (bench.Verify(Grant(changed)).ok()) FAIL("accepted with another character at " << i);
  }
  CHECK(bench.Spend(grant).ok());
}

TEST_CASE("a grant of another executor is refused as such and costs nothing here") {
  GrantBench bench;
  const auto other = bench.Make("executor-2");
  GrantBinding binding = GrantBench::Binding();
  binding.executor_id = "executor-2";
  const Grant grant = other->Issue(binding, GrantSubject{}, milliseconds(100)).value();
  CHECK(Is(bench.Verify(grant), ErrorCode::kGrantWrongExecutor));

  // The same id with another key: the name does not help.
  const auto namesake = bench.Make("executor-1");
  const Grant same_name =
      namesake->Issue(GrantBench::Binding(), GrantSubject{}, milliseconds(100)).value();
  CHECK(Is(bench.Verify(same_name), ErrorCode::kGrantForged));
}

TEST_CASE("a grant holds until its expiry, inclusive") {
  GrantBench bench;
  const Grant first = bench.IssueCommand();
  const Grant second = bench.IssueCommand();
  bench.SetTime(1100);
  CHECK(bench.Spend(first).ok());
  CHECK(Is(bench.Spend(first), ErrorCode::kGrantReplayed));
  bench.SetTime(1101);
  CHECK(Is(bench.Spend(first), ErrorCode::kGrantExpired));
  CHECK(Is(bench.Spend(second), ErrorCode::kGrantExpired));
  bench.SetTime(1000);
  CHECK(Is(bench.Spend(second), ErrorCode::kGrantExpired));
}

TEST_CASE("a grant can expire between verification and use") {
  GrantBench bench;
  const Grant grant = bench.IssueCommand();
  const auto redemption =
      bench.authority().Verify(absl::MakeConstSpan(&grant, 1), GrantBench::Binding()).value();
  bench.SetTime(1101);
  CHECK(Is(redemption->Consume(), ErrorCode::kGrantExpired));
}

TEST_CASE("a life time must be positive and at most 15 minutes") {
  GrantBench bench;
  const auto issue = [&bench](milliseconds ttl) {
    return bench.authority().Issue(GrantBench::Binding(), GrantSubject{}, ttl).status();
  };
  CHECK(Is(issue(milliseconds(0)), ErrorCode::kGrantTtl));
  CHECK(Is(issue(milliseconds(-1)), ErrorCode::kGrantTtl));
  CHECK(Is(issue(GrantAuthority::kMaxTtl + milliseconds(1)), ErrorCode::kGrantTtl));
  CHECK(issue(GrantAuthority::kMaxTtl).ok());
}

TEST_CASE("a binding of another executor is not signed") {
  GrantBench bench;
  GrantBinding binding = GrantBench::Binding();
  binding.executor_id = "executor-2";
  const auto grant = bench.authority().Issue(binding, GrantSubject{}, milliseconds(100));
  CHECK(Is(grant.status(), ErrorCode::kGrantWrongExecutor));
}

TEST_CASE("text that is not UTF-8 is not signed") {
  GrantBench bench;
  GrantBinding binding = GrantBench::Binding();
  binding.working_directory = "/work\xff";
  const auto grant = bench.authority().Issue(binding, GrantSubject{}, milliseconds(100));
  CHECK(Is(grant.status(), ErrorCode::kInvalidTarget));
}

TEST_CASE("outstanding grants are bounded and expiry makes room") {
  GrantBench bench;
  const auto authority = bench.Make("executor-1", 2);
  const auto issue = [&authority] {
    return authority->Issue(GrantBench::Binding(), GrantSubject{}, milliseconds(100)).status();
  };
  CHECK(issue().ok());
  CHECK(issue().ok());
  CHECK(Is(issue(), ErrorCode::kBusy));
  bench.SetTime(1101);
  CHECK(issue().ok());
}

TEST_CASE("after Close issuing, verifying and consuming are refused") {
  GrantBench bench;
  const Grant grant = bench.IssueCommand();
  const auto redemption =
      bench.authority().Verify(absl::MakeConstSpan(&grant, 1), GrantBench::Binding()).value();
  bench.authority().Close();
  bench.authority().Close();
  CHECK(Is(redemption->Consume(), ErrorCode::kClosed));
  CHECK(Is(bench.Verify(grant), ErrorCode::kClosed));
  const auto late = bench.authority().Issue(GrantBench::Binding(), GrantSubject{}, milliseconds(1));
  CHECK(Is(late.status(), ErrorCode::kClosed));
}

TEST_CASE("a redemption outlives its authority without spending") {
  GrantBench bench;
  auto authority = bench.Make("executor-1");
  const Grant grant =
      authority->Issue(GrantBench::Binding(), GrantSubject{}, milliseconds(100)).value();
  const auto redemption =
      authority->Verify(absl::MakeConstSpan(&grant, 1), GrantBench::Binding()).value();
  authority.reset();
  CHECK(Is(redemption->Consume(), ErrorCode::kClosed));
}

TEST_CASE("a failed batch leaves its valid grants usable") {
  GrantBench bench;
  const Grant good = bench.IssueCommand();
  const Grant spent = bench.IssueCommand();
  REQUIRE(bench.Spend(spent).ok());
  const std::vector<Grant> with_spent = {good, spent};
  CHECK(Is(bench.authority().Verify(with_spent, GrantBench::Binding()).status(),
           ErrorCode::kGrantReplayed));
  const std::vector<Grant> repeated = {good, good};
  CHECK(Is(bench.authority().Verify(repeated, GrantBench::Binding()).status(),
           ErrorCode::kGrantReplayed));
  CHECK(bench.Spend(good).ok());
}

TEST_CASE("of two verified batches that share a grant only the first is consumed") {
  GrantBench bench;
  const std::vector<Grant> first = {bench.IssueCommand(), bench.IssueCommand()};
  const std::vector<Grant> second = {first[1], bench.IssueCommand()};
  const auto a = bench.authority().Verify(first, GrantBench::Binding()).value();
  const auto b = bench.authority().Verify(second, GrantBench::Binding()).value();
  CHECK(a->Consume().ok());
  CHECK(Is(b->Consume(), ErrorCode::kGrantReplayed));
  CHECK(bench.Spend(second[1]).ok());
}

TEST_CASE("concurrent use of one grant gives one success") {
  GrantBench bench;
  for (int round = 0; round < 25; ++round) {
    const Grant grant = bench.IssueCommand();
    std::atomic<int> successes{0};
    std::atomic<int> replays{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const absl::Status status = bench.Spend(grant);
        if (status.ok()) ++successes;
        if (Is(status, ErrorCode::kGrantReplayed)) ++replays;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(successes == 1);
    CHECK(replays == 3);
  }
}

TEST_CASE("an authority needs an id, room and random bytes") {
  GrantAuthorityOptions no_room;
  no_room.capacity = 0;
  GrantAuthorityOptions no_random;
  no_random.random = [](absl::Span<std::uint8_t>) { return false; };
  CHECK(Is(NewHmacGrantAuthority("").status(), ErrorCode::kInvalidOption));
  CHECK(Is(NewHmacGrantAuthority("x", no_room).status(), ErrorCode::kInvalidOption));
  CHECK(Is(NewHmacGrantAuthority("x", no_random).status(), ErrorCode::kInternal));
}

TEST_CASE("the factory makes authorities with keys of their own") {
  const auto factory = HmacGrantAuthorityFactory();
  const auto a = factory("executor-1").value();
  const auto b = factory("executor-1").value();
  const Grant grant = a->Issue(GrantBench::Binding(), GrantSubject{}, milliseconds(1000)).value();
  CHECK(Is(b->Verify(absl::MakeConstSpan(&grant, 1), GrantBench::Binding()).status(),
           ErrorCode::kGrantForged));
  CHECK(a->Verify(absl::MakeConstSpan(&grant, 1), GrantBench::Binding()).ok());
}

}  // namespace
}  // namespace cordon
