#include "cordon/gate/grants.h"

#include <time.h>

#include <mutex>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "grant_codec.h"
#include "hmac.h"
#include "ledger.h"
#include "utf8.h"

namespace cordon {
namespace {

using internal::GrantClaims;
using internal::Ledger;
using internal::Mac;
using internal::Nonce;
using internal::TokenParts;
using Clock = std::function<std::chrono::milliseconds()>;
using Random = std::function<bool(absl::Span<std::uint8_t>)>;

std::chrono::milliseconds BootTime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

absl::Status WrongBinding(ErrorCode code, std::string_view what) {
  return MakeError(code, "the grant was issued for another " + std::string(what));
}

absl::Status CompareBindings(const GrantBinding& claimed, const GrantBinding& expected) {
  if (claimed.executor_id != expected.executor_id) {
    return WrongBinding(ErrorCode::kGrantWrongExecutor, "executor");
  }
  if (claimed.execution_id != expected.execution_id) {
    return WrongBinding(ErrorCode::kGrantWrongExecution, "execution");
  }
  if (claimed.command_digest != expected.command_digest) {
    return WrongBinding(ErrorCode::kGrantWrongCommand, "command");
  }
  if (claimed.working_directory != expected.working_directory) {
    return WrongBinding(ErrorCode::kGrantWrongDirectory, "working directory");
  }
  if (claimed.profile_fingerprint != expected.profile_fingerprint) {
    return WrongBinding(ErrorCode::kGrantWrongProfile, "profile");
  }
  if (claimed.route_fingerprint != expected.route_fingerprint) {
    return WrongBinding(ErrorCode::kGrantWrongRoute, "network route");
  }
  if (claimed.guarantees != expected.guarantees) {
    return WrongBinding(ErrorCode::kGrantWrongGuarantees, "set of guarantees");
  }
  return absl::OkStatus();
}

absl::Status RequireUtf8(const GrantBinding& binding, const GrantSubject& subject) {
  const bool valid =
      internal::IsValidUtf8(binding.executor_id) && internal::IsValidUtf8(binding.execution_id) &&
      internal::IsValidUtf8(binding.working_directory) &&
      internal::IsValidUtf8(binding.route_fingerprint) && internal::IsValidUtf8(subject.target) &&
      (!subject.identity.has_value() || internal::IsValidUtf8(subject.identity->missing_suffix));
  if (valid) return absl::OkStatus();
  return MakeError(ErrorCode::kInvalidTarget,
                   "cannot issue a grant: a directory or target is not valid UTF-8");
}

class HmacRedemption final : public Redemption {
 public:
  HmacRedemption(std::shared_ptr<Ledger> ledger, Clock clock, std::vector<GrantSubject> subjects,
                 std::vector<Nonce> nonces)
      : ledger_(std::move(ledger)),
        clock_(std::move(clock)),
        subjects_(std::move(subjects)),
        nonces_(std::move(nonces)) {}

  const std::vector<GrantSubject>& subjects() const override { return subjects_; }
  absl::Status Consume() override { return ledger_->Consume(nonces_, clock_()); }

 private:
  const std::shared_ptr<Ledger> ledger_;
  const Clock clock_;
  const std::vector<GrantSubject> subjects_;
  const std::vector<Nonce> nonces_;
};

class HmacGrantAuthority final : public GrantAuthority {
 public:
  HmacGrantAuthority(std::string executor_id, GrantAuthorityOptions options,
                     std::unique_ptr<internal::HmacKey> key)
      : executor_id_(std::move(executor_id)),
        clock_(std::move(options.clock)),
        random_(std::move(options.random)),
        ledger_(std::make_shared<Ledger>(options.capacity, kMaxGrantFaults)),
        key_(std::move(key)) {}
  ~HmacGrantAuthority() override { Forget(); }

  const std::string& executor_id() const override { return executor_id_; }
  absl::StatusOr<Grant> Issue(const GrantBinding& binding, const GrantSubject& subject,
                              std::chrono::milliseconds ttl) override;
  absl::StatusOr<std::unique_ptr<Redemption>> Verify(absl::Span<const Grant> grants,
                                                     const GrantBinding& expected) override;
  void Close() override { Forget(); }

 private:
  void Forget();
  absl::StatusOr<Mac> Sign(std::string_view text) const;
  // The claims of an authentic, unspent token that fits `expected`.
  absl::StatusOr<GrantClaims> VerifyOne(const Grant& grant, const GrantBinding& expected);
  absl::Status CheckSignature(const TokenParts& parts) const;

  const std::string executor_id_;
  const Clock clock_;
  const Random random_;
  const std::shared_ptr<Ledger> ledger_;
  mutable std::mutex key_mutex_;
  std::unique_ptr<internal::HmacKey> key_;  // Null once closed.
};

absl::StatusOr<Grant> HmacGrantAuthority::Issue(const GrantBinding& binding,
                                                const GrantSubject& subject,
                                                std::chrono::milliseconds ttl) {
  if (ttl.count() <= 0 || ttl > kMaxTtl) {
    return MakeError(ErrorCode::kGrantTtl,
                     "cannot issue a grant: its life time must be positive and at most 15 minutes");
  }
  if (binding.executor_id != executor_id_) {
    return MakeError(ErrorCode::kGrantWrongExecutor,
                     "cannot issue a grant: it is for another executor");
  }
  if (absl::Status status = ValidateGrantSubject(subject); !status.ok()) return status;
  if (absl::Status status = RequireUtf8(binding, subject); !status.ok()) return status;

  GrantClaims claims{binding, subject, {}, {}, {}};
  if (!random_(absl::MakeSpan(claims.nonce))) {
    return MakeError(ErrorCode::kInternal, "cannot issue a grant: no random bytes");
  }
  claims.issued = ledger_->Advance(clock_());
  claims.expires = claims.issued + ttl;
  const std::string signed_text = internal::SignedText(claims);
  const absl::StatusOr<Mac> mac = Sign(signed_text);
  if (!mac.ok()) return mac.status();
  absl::Status registered = ledger_->Register(claims.nonce, claims.expires, claims.issued);
  if (!registered.ok()) return registered;
  return Grant(internal::TokenText(signed_text, *mac));
}

absl::StatusOr<std::unique_ptr<Redemption>> HmacGrantAuthority::Verify(
    absl::Span<const Grant> grants, const GrantBinding& expected) {
  std::vector<GrantSubject> subjects;
  std::vector<Nonce> nonces;
  std::set<Nonce> seen;
  for (const Grant& grant : grants) {
    absl::StatusOr<GrantClaims> claims = VerifyOne(grant, expected);
    if (!claims.ok()) return claims.status();
    if (!seen.insert(claims->nonce).second) {
      return MakeError(ErrorCode::kGrantReplayed, "a grant was presented twice at once");
    }
    subjects.push_back(std::move(claims->subject));
    nonces.push_back(claims->nonce);
  }
  return std::make_unique<HmacRedemption>(ledger_, clock_, std::move(subjects), std::move(nonces));
}

absl::StatusOr<GrantClaims> HmacGrantAuthority::VerifyOne(const Grant& grant,
                                                          const GrantBinding& expected) {
  const absl::StatusOr<TokenParts> parts = internal::ParseToken(grant.token());
  if (!parts.ok()) return parts.status();
  if (absl::Status status = CheckSignature(*parts); !status.ok()) return status;
  absl::StatusOr<GrantClaims> claims = internal::DecodeClaims(parts->claims);
  if (!claims.ok()) return claims.status();
  if (absl::Status status = ledger_->Check(claims->nonce, clock_()); !status.ok()) return status;
  if (absl::Status status = CompareBindings(claims->binding, expected); !status.ok()) {
    ledger_->CountFault(claims->nonce);
    return status;
  }
  return claims;
}

absl::Status HmacGrantAuthority::CheckSignature(const TokenParts& parts) const {
  const absl::StatusOr<Mac> mac = Sign(parts.signed_text);
  if (!mac.ok()) return mac.status();
  if (internal::EqualMacs(*mac, parts.mac)) return absl::OkStatus();
  // Nothing of these claims is authentic; they only choose between two words for "no".
  const absl::StatusOr<GrantClaims> claims = internal::DecodeClaims(parts.claims);
  if (claims.ok() && claims->binding.executor_id != executor_id_) {
    return MakeError(ErrorCode::kGrantWrongExecutor,
                     "the grant is not signed by this executor and names another one");
  }
  return MakeError(ErrorCode::kGrantForged, "the grant is not signed by this executor");
}

absl::StatusOr<Mac> HmacGrantAuthority::Sign(std::string_view text) const {
  const std::lock_guard lock(key_mutex_);
  if (key_ == nullptr) {
    return MakeError(ErrorCode::kClosed, "the grants of this executor are revoked: it was closed");
  }
  return key_->Sign(text);
}

void HmacGrantAuthority::Forget() {
  ledger_->Close();
  const std::lock_guard lock(key_mutex_);
  key_.reset();
}

}  // namespace

absl::StatusOr<std::shared_ptr<GrantAuthority>> NewHmacGrantAuthority(
    std::string executor_id, GrantAuthorityOptions options) {
  if (executor_id.empty() || !internal::IsValidUtf8(executor_id)) {
    return MakeError(ErrorCode::kInvalidOption, "a grant authority needs the id of its executor");
  }
  if (options.capacity == 0) {
    return MakeError(ErrorCode::kInvalidOption, "a grant authority needs a capacity above zero");
  }
  if (!options.clock) options.clock = BootTime;
  if (!options.random) options.random = internal::FillRandom;
  absl::StatusOr<std::unique_ptr<internal::HmacKey>> key =
      internal::HmacKey::Generate(options.random);
  if (!key.ok()) return key.status();
  return std::make_shared<HmacGrantAuthority>(std::move(executor_id), std::move(options),
                                              *std::move(key));
}

std::function<absl::StatusOr<std::shared_ptr<GrantAuthority>>(std::string)>
HmacGrantAuthorityFactory(GrantAuthorityOptions options) {
  return [options = std::move(options)](std::string executor_id) {
    return NewHmacGrantAuthority(std::move(executor_id), options);
  };
}

}  // namespace cordon
