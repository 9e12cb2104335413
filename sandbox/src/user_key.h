// A key of this user's, kept by the kernel (keyrings(7)) until the next boot: what is signed with
// it was written by a program of this user outside of every sandbox. No command can get at it,
// whatever files its profile opens: system calls for keys are refused to all of them
// (syscall_policy.cc).

#ifndef CORDON_SANDBOX_SRC_USER_KEY_H_
#define CORDON_SANDBOX_SRC_USER_KEY_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cordon/sdk/digest.h"

namespace cordon::internal {

// Immutable; safe from any thread.
class UserKey {
 public:
  // The one that was made before; none where there is none or the host keeps none.
  [[nodiscard]] static std::optional<UserKey> Find();
  [[nodiscard]] static std::optional<UserKey> FindOrMake();

  // HMAC-SHA-256 (RFC 2104) of `bytes`.
  [[nodiscard]] Digest Sign(std::string_view bytes) const;

 private:
  explicit UserKey(std::string key) : key_(std::move(key)) {}

  std::string key_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_USER_KEY_H_
