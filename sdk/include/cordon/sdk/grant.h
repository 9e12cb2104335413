// Grants: single-use, seconds-long permissions for one exact operation. The Gate issues them, an
// executor redeems them, an authority (cordon/gate/grants.h) signs and verifies. A saved rule never
// replaces a grant; it only means that nobody is asked.

#ifndef CORDON_SDK_GRANT_H_
#define CORDON_SDK_GRANT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/path_identity.h"

namespace cordon {

enum class GrantClass : std::uint8_t {
  kCommandStart,         // command.start.v1
  kFilesystemPathRead,   // filesystem.path.read.v1
  kFilesystemPathWrite,  // filesystem.path.write.v1
  kFilesystemTreeRead,   // filesystem.tree.read.v1
  kFilesystemTreeWrite,  // filesystem.tree.write.v1
  kFilesystemHostRead,   // filesystem.host.read.v1
  kFilesystemHostWrite,  // filesystem.host.write.v1
  kNetworkTarget,        // network.proxy-target.v1, target tcp:host:port
  kNetworkBroad,         // network.broad.v1, target tcp:*:port
};

// The pinned text form; part of the signed claims.
[[nodiscard]] std::string_view GrantClassName(GrantClass grant_class);
[[nodiscard]] std::optional<GrantClass> ParseGrantClass(std::string_view name);

// What a grant is for.
struct GrantSubject {
  GrantClass grant_class = GrantClass::kCommandStart;
  // kCommandStart: empty. Paths and trees: the absolute path. Host: "/". Network: `tcp:host:port`.
  std::string target;
  // Paths and trees only: the object at issue; redemption compares it.
  std::optional<PathIdentity> identity;

  friend bool operator==(const GrantSubject&, const GrantSubject&) = default;
};

// Returns kInvalidTarget when class and target do not fit each other.
[[nodiscard]] absl::Status ValidateGrantSubject(const GrantSubject& subject);

// What a grant is bound to: one operation of one executor under one policy. Redemption compares
// every field, each with an error of its own.
struct GrantBinding {
  std::string executor_id;
  std::string execution_id;
  Digest command_digest{};
  std::string working_directory;
  Digest profile_fingerprint{};
  std::string route_fingerprint;  // "direct" while no proxy route is configured.
  std::uint8_t guarantees = 0;    // Bits of what the executor enforces.

  friend bool operator==(const GrantBinding&, const GrantBinding&) = default;
};

// An opaque token. Holding it is holding the authority: it is never logged.
class [[nodiscard]] Grant {
 public:
  explicit Grant(std::string token) : token_(std::move(token)) {}
  [[nodiscard]] const std::string& token() const { return token_; }

 private:
  std::string token_;
};

// The second half of redeeming: between verification and `Consume` the executor compiles the policy
// and re-acquires the targets, so that no grant is spent on a spawn that cannot happen. Destroying
// it without `Consume` leaves the grants usable. Used by one thread.
class Redemption {
 public:
  virtual ~Redemption() = default;
  [[nodiscard]] virtual const std::vector<GrantSubject>& subjects() const = 0;
  // Spends every grant in one step, or none. Returns kGrantReplayed when one was spent meanwhile,
  // kGrantExpired or kClosed.
  [[nodiscard]] virtual absl::Status Consume() = 0;
};

// Issues and verifies the grants of one executor. Implementations are safe from any thread.
class GrantAuthority {
 public:
  static constexpr std::chrono::milliseconds kDefaultTtl = std::chrono::seconds(10);
  static constexpr std::chrono::milliseconds kMaxTtl = std::chrono::minutes(15);

  virtual ~GrantAuthority() = default;

  [[nodiscard]] virtual const std::string& executor_id() const = 0;

  // Returns kGrantTtl beyond `kMaxTtl` or for a ttl that is not positive, kGrantWrongExecutor for
  // another executor's binding, kInvalidTarget, kClosed, or kBusy when too many are outstanding.
  [[nodiscard]] virtual absl::StatusOr<Grant> Issue(const GrantBinding& binding,
                                                    const GrantSubject& subject,
                                                    std::chrono::milliseconds ttl) = 0;

  // Verifies a whole batch against `expected`; nothing is spent yet. The first fault decides:
  // kGrantMalformed, kGrantForged, kGrantExpired, kGrantReplayed, kGrantRevoked, kGrantWrong*.
  // A token that fails for a fault of its own is burned after a small number of tries.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Redemption>> Verify(
      absl::Span<const Grant> grants, const GrantBinding& expected) = 0;

  // Forgets the key; every later call returns kClosed. Idempotent.
  virtual void Close() = 0;
};

}  // namespace cordon

#endif  // CORDON_SDK_GRANT_H_
