#include "user_key.h"

#include <linux/keyctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace cordon::internal {
namespace {

constexpr char kType[] = "user";
constexpr char kName[] = "cordon-workspace-index-1";
constexpr std::size_t kKeyBytes = 32;

}  // namespace

std::optional<UserKey> UserKey::Find() {
  // The keyring of a session need not lead to the user's: a link of this thread's own lets it be
  // read.
  const long serial = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, kType, kName,
                              KEY_SPEC_THREAD_KEYRING);
  if (serial <= 0) return std::nullopt;
  std::array<char, kKeyBytes> key;
  const long size = syscall(SYS_keyctl, KEYCTL_READ, serial, key.data(), key.size());
  if (size != static_cast<long>(key.size())) return std::nullopt;
  return UserKey(std::string(key.data(), key.size()));
}

std::optional<UserKey> UserKey::FindOrMake() {
  if (std::optional<UserKey> found = Find()) return found;
  std::array<char, kKeyBytes> key;
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) return std::nullopt;
  if (syscall(SYS_add_key, kType, kName, key.data(), key.size(), KEY_SPEC_USER_KEYRING) <= 0) {
    return std::nullopt;
  }
  return Find();  // Another program's, if that made one meanwhile.
}

Digest UserKey::Sign(std::string_view bytes) const { return HmacSha256(key_, bytes); }

}  // namespace cordon::internal
