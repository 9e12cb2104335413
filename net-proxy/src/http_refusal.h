// The answers that a proxy gives in a server's place. Pure.

#ifndef CORDON_NET_PROXY_SRC_HTTP_REFUSAL_H_
#define CORDON_NET_PROXY_SRC_HTTP_REFUSAL_H_

#include <string>
#include <string_view>

namespace cordon::internal::egress {

// A complete HTTP/1.1 response with `text` as its body, after which the connection ends. `fields`
// are further header lines, each with its CRLF.
[[nodiscard]] std::string HttpRefusalAnswer(int status, std::string_view text,
                                            std::string_view fields = "");

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_HTTP_REFUSAL_H_
