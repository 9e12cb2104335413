#include "credential.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "http_head.h"

namespace cordon::internal::egress {
namespace {

// Takes as long for every guess of one length; the length is no secret.
bool SameBytes(std::string_view secret, std::string_view guess) {
  if (secret.size() != guess.size()) return false;
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (secret[i] ^ guess[i]));
  }
  return difference == 0;
}

}  // namespace

Credential::Credential(std::string_view user_and_password)
    : plain_(user_and_password), base64_(absl::Base64Escape(plain_)) {}

bool Credential::MatchesBasic(std::string_view field) const {
  if (!needed()) return true;
  constexpr std::string_view kScheme = "Basic ";
  if (!EqualsIgnoringCase(field.substr(0, kScheme.size()), kScheme)) return false;
  std::string_view token = field.substr(kScheme.size());
  while (token.starts_with(' ')) token.remove_prefix(1);
  return SameBytes(base64_, token);
}

bool Credential::MatchesPassword(std::string_view user, std::string_view password) const {
  std::string guess(user);
  guess.append(":").append(password);
  return !needed() || SameBytes(plain_, guess);
}

}  // namespace cordon::internal::egress
