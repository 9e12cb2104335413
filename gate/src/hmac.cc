#include "hmac.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <cerrno>

#include "cordon/sdk/status.h"

namespace cordon::internal {
absl::StatusOr<std::unique_ptr<HmacKey>> HmacKey::Generate(
    const std::function<bool(absl::Span<std::uint8_t>)>& random) {
  std::unique_ptr<HmacKey> key(new HmacKey);
  if (!random(absl::MakeSpan(key->bytes_))) {
    return MakeError(ErrorCode::kInternal, "cannot make a grant key: no random bytes");
  }
  return key;
}

HmacKey::~HmacKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Mac HmacKey::Sign(std::string_view text) const {
  return HmacSha256({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}, text);
}

bool EqualMacs(const Mac& a, const Mac& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool FillRandom(absl::Span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno != EINTR) return false;
    if (got > 0) out.remove_prefix(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace cordon::internal
