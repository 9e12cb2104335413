// The secret by which an execution is known to an explicit front. Compared in a time that does not
// tell where a guess is wrong.

#ifndef CORDON_NET_PROXY_SRC_CREDENTIAL_H_
#define CORDON_NET_PROXY_SRC_CREDENTIAL_H_

#include <string>
#include <string_view>

namespace cordon::internal::egress {

class Credential {
 public:
  // `USER:PASSWORD`; empty: none is asked for.
  explicit Credential(std::string_view user_and_password);

  [[nodiscard]] bool needed() const { return !plain_.empty(); }
  // The value of a Proxy-Authorization field, scheme Basic (RFC 7617).
  [[nodiscard]] bool MatchesBasic(std::string_view field) const;
  [[nodiscard]] bool MatchesPassword(std::string_view user, std::string_view password) const;

 private:
  std::string plain_;
  std::string base64_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_CREDENTIAL_H_
