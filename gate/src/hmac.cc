#include "hmac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

struct MacFree {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

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
  const std::unique_ptr<EVP_MAC, MacFree> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  const std::unique_ptr<EVP_MAC_CTX, MacFree> context(EVP_MAC_CTX_new(mac.get()));
  char digest_name[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest_name, 0),
      OSSL_PARAM_construct_end()};
  Mac out{};
  std::size_t length = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (context == nullptr ||
      EVP_MAC_init(context.get(), bytes_.data(), bytes_.size(), params) != 1 ||
      EVP_MAC_update(context.get(), data, text.size()) != 1 ||
      EVP_MAC_final(context.get(), out.data(), &length, out.size()) != 1 || length != out.size()) {
    return MakeError(ErrorCode::kInternal, "cannot compute an HMAC-SHA-256");
  }
  return out;
}

bool EqualMacs(const Mac& a, const Mac& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool FillRandom(absl::Span<std::uint8_t> out) {
  return RAND_bytes(out.data(), static_cast<int>(out.size())) == 1;
}

}  // namespace cordon::internal
