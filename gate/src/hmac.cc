#include "hmac.h"

// See digest.cc of the sdk: EVP_MAC starts the whole of libcrypto.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <cerrno>

#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

// Of SHA-256 (RFC 2104, section 2).
constexpr std::size_t kBlockBytes = 64;
constexpr std::uint8_t kInner = 0x36;
constexpr std::uint8_t kOuter = 0x5c;

// The hash of `key`, padded to a block and combined with `pad`, and of `text` after it.
bool HashWithKey(const std::array<std::uint8_t, HmacKey::kBytes>& key, std::uint8_t pad,
                 std::string_view text, Mac& out) {
  static_assert(HmacKey::kBytes <= kBlockBytes);
  std::array<std::uint8_t, kBlockBytes> block;
  block.fill(pad);
  for (std::size_t i = 0; i < key.size(); ++i) block[i] ^= key[i];
  SHA256_CTX context;
  const bool done = SHA256_Init(&context) == 1 &&
                    SHA256_Update(&context, block.data(), block.size()) == 1 &&
                    SHA256_Update(&context, text.data(), text.size()) == 1 &&
                    SHA256_Final(out.data(), &context) == 1;
  OPENSSL_cleanse(block.data(), block.size());
  OPENSSL_cleanse(&context, sizeof(context));
  return done;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HmacKey>> HmacKey::Generate(
    const std::function<bool(absl::Span<std::uint8_t>)>& random) {
  std::unique_ptr<HmacKey> key(new HmacKey);
  if (!random(absl::MakeSpan(key->bytes_))) {
    return MakeError(ErrorCode::kInternal, "cannot make a grant key: no random bytes");
  }
  return key;
}

HmacKey::~HmacKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

absl::StatusOr<Mac> HmacKey::Sign(std::string_view text) const {
  Mac inner{};
  Mac out{};
  if (!HashWithKey(bytes_, kInner, text, inner) ||
      !HashWithKey(bytes_, kOuter, {reinterpret_cast<const char*>(inner.data()), inner.size()},
                   out)) {
    return MakeError(ErrorCode::kInternal, "cannot compute an HMAC-SHA-256");
  }
  return out;
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
