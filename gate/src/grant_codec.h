// The text of a grant token. Pure; safe from any thread.
//
// Claims are a version byte and then fields in a fixed order: numbers as 8 bytes, most significant
// first; strings as 4 bytes of length and the bytes. There is one spelling for every value, and
// decoding refuses every other.

#ifndef CORDON_GATE_SRC_GRANT_CODEC_H_
#define CORDON_GATE_SRC_GRANT_CODEC_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/sdk/grant.h"
#include "hmac.h"

namespace cordon::internal {

using Nonce = std::array<std::uint8_t, 16>;

struct GrantClaims {
  GrantBinding binding;
  GrantSubject subject;
  std::chrono::milliseconds issued{0};
  std::chrono::milliseconds expires{0};
  Nonce nonce{};

  friend bool operator==(const GrantClaims&, const GrantClaims&) = default;
};

[[nodiscard]] std::string EncodeClaims(const GrantClaims& claims);

// Returns kGrantMalformed for anything that `EncodeClaims` does not produce, and for strings that
// are not UTF-8.
[[nodiscard]] absl::StatusOr<GrantClaims> DecodeClaims(std::string_view bytes);

// base64url without padding (RFC 4648, section 5).
[[nodiscard]] std::string Base64UrlEncode(std::string_view bytes);
// Nothing for padding, another alphabet, an impossible length or set bits beyond the last byte.
[[nodiscard]] std::optional<std::string> Base64UrlDecode(std::string_view text);

struct TokenParts {
  std::string signed_text;  // `v1.` and the claims: what the MAC is over.
  std::string claims;       // Decoded bytes, not authenticated yet.
  Mac mac{};
};

// The text that is signed for `claims`, and the whole token.
[[nodiscard]] std::string SignedText(const GrantClaims& claims);
[[nodiscard]] std::string TokenText(std::string_view signed_text, const Mac& mac);

// Returns kGrantMalformed. Messages never contain the token.
[[nodiscard]] absl::StatusOr<TokenParts> ParseToken(std::string_view token);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_GRANT_CODEC_H_
