#include "grant_codec.h"

#include <limits>
#include <string>

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

GrantClaims SampleClaims() {
  GrantClaims claims;
  claims.binding.executor_id = "executor";
  claims.binding.execution_id = "execution";
  claims.binding.command_digest.fill(0x11);
  claims.binding.working_directory = "/code space/ü";
  claims.binding.profile_fingerprint.fill(0x22);
  claims.binding.route_fingerprint = "direct";
  claims.binding.guarantees = 0x7f;
  claims.subject.grant_class = GrantClass::kFilesystemTreeWrite;
  claims.subject.target = "/srv/data";
  claims.subject.identity = PathIdentity{1, 2, 0040000, -3, "a/b"};
  claims.issued = std::chrono::milliseconds(1000);
  claims.expires = std::chrono::milliseconds(11000);
  claims.nonce.fill(0x33);
  return claims;
}

std::string SampleToken() { return TokenText(SignedText(SampleClaims()), Mac{1, 2, 3}); }

TEST_CASE("claims survive encoding and decoding") {
  GrantClaims claims = SampleClaims();
  CHECK(DecodeClaims(EncodeClaims(claims)).value() == claims);
  claims.subject = GrantSubject{};
  claims.binding = GrantBinding{};
  CHECK(DecodeClaims(EncodeClaims(claims)).value() == claims);
}

TEST_CASE("a change of any field changes the encoding") {
  const std::string base = EncodeClaims(SampleClaims());
  // Moving a character between two neighbouring strings must not go unnoticed.
  GrantClaims moved = SampleClaims();
  moved.binding.executor_id = "executore";
  moved.binding.execution_id = "xecution";
  CHECK(EncodeClaims(moved) != base);
  GrantClaims without_identity = SampleClaims();
  without_identity.subject.identity.reset();
  CHECK(EncodeClaims(without_identity) != base);
}

TEST_CASE("claims that are cut, extended or not canonical are malformed") {
  const std::string bytes = EncodeClaims(SampleClaims());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK(Is(DecodeClaims(bytes.substr(0, length)).status(), ErrorCode::kGrantMalformed));
  }
  CHECK(Is(DecodeClaims(bytes + '\0').status(), ErrorCode::kGrantMalformed));
  std::string other_version = bytes;
  other_version[0] = 2;
  CHECK(Is(DecodeClaims(other_version).status(), ErrorCode::kGrantMalformed));
}

TEST_CASE("a flag other than 0 and 1 is malformed") {
  GrantClaims claims = SampleClaims();
  claims.subject.identity.reset();
  std::string bytes = EncodeClaims(claims);
  REQUIRE(bytes.back() == 0);
  REQUIRE(DecodeClaims(bytes).ok());
  bytes.back() = 2;
  CHECK(Is(DecodeClaims(bytes).status(), ErrorCode::kGrantMalformed));
}

TEST_CASE("claims with text that is not UTF-8 are malformed") {
  GrantClaims claims = SampleClaims();
  claims.subject.target = "/srv/d\xff";
  CHECK(Is(DecodeClaims(EncodeClaims(claims)).status(), ErrorCode::kGrantMalformed));
}

TEST_CASE("a token has exactly one spelling") {
  const std::string token = SampleToken();
  const TokenParts parts = ParseToken(token).value();
  CHECK(parts.mac == Mac{1, 2, 3});
  CHECK(DecodeClaims(parts.claims).value() == SampleClaims());

  const std::string others[] = {token + "=",
                                token + "A",
                                token + "\n",
                                " " + token,
                                token + ".",
                                "V1" + token.substr(2),
                                "v2" + token.substr(2),
                                token.substr(3),
                                token.substr(0, token.rfind('.')),
                                token.substr(0, token.size() - 1),
                                "",
                                "v1.",
                                "v1..",
                                "v1.A.A",
                                token + std::string(64 * 1024, 'A')};
  for (const std::string& other : others) {
    CAPTURE(other.substr(0, 20));
    CHECK(Is(ParseToken(other).status(), ErrorCode::kGrantMalformed));
  }
}

TEST_CASE("no change of one character leaves claims and signature as they were") {
  const std::string token = SampleToken();
  const TokenParts original = ParseToken(token).value();
  for (std::size_t i = 0; i < token.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      if (static_cast<char>(byte) == token[i]) continue;
      std::string changed = token;
      changed[i] = static_cast<char>(byte);
      const absl::StatusOr<TokenParts> parts = ParseToken(changed);
      if (!parts.ok()) continue;
      const bool same = parts->claims == original.claims && parts->mac == original.mac;
      if (same) FAIL("byte " << i << " can be spelled " << byte);
    }
  }
}

TEST_CASE("base64url is strict and inverts") {
  std::string bytes;
  for (int length = 0; length < 70; ++length) {
    const std::string text = Base64UrlEncode(bytes);
    CHECK(text.find_first_of("+/=") == std::string::npos);
    CHECK(Base64UrlDecode(text) == bytes);
    bytes.push_back(static_cast<char>(length * 37 + 200));
  }
  CHECK(Base64UrlEncode("\xff\xfe") == "__4");
  for (const char* text : {"A", "AB", "AAB", "AA=", "AA==", "A+/A", "A A", "AAAAA", "__5"}) {
    CAPTURE(text);
    CHECK_FALSE(Base64UrlDecode(text).has_value());
  }
}

}  // namespace
}  // namespace cordon::internal
