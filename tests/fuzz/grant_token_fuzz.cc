// The token decoder: what it accepts has exactly one spelling.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "grant_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::internal;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<TokenParts> parts = ParseToken(text);
  if (parts.ok()) {
    if (TokenText(parts->signed_text, parts->mac) != text) std::abort();
    const absl::StatusOr<GrantClaims> claims = DecodeClaims(parts->claims);
    if (claims.ok() && SignedText(*claims) != parts->signed_text) std::abort();
  }
  // The claims on their own, which a fuzzer reaches sooner.
  const absl::StatusOr<GrantClaims> claims = DecodeClaims(text);
  if (claims.ok() && EncodeClaims(*claims) != text) std::abort();
  return 0;
}
