// A request to a proxy, turned into the one that the server gets (RFC 9112 section 3.2). Pure.

#ifndef CORDON_NET_PROXY_SRC_HTTP_FORWARD_H_
#define CORDON_NET_PROXY_SRC_HTTP_FORWARD_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/sdk/network_target.h"
#include "http_head.h"

namespace cordon::internal::egress {

// Where a request in absolute form goes, port 80 by default. kInvalidTarget with words for the
// client: another scheme, another form, a Host that is another one than the target's.
[[nodiscard]] absl::StatusOr<NetworkTarget> ForwardTarget(const HttpHead& head);

// Where a CONNECT goes.
[[nodiscard]] absl::StatusOr<NetworkTarget> ConnectTarget(const HttpHead& head);

// Appends the head for the server of a request that `ForwardTarget` took: the target in origin
// form, without what was meant for a proxy, and without an offer of HTTP/2 in clear text.
void AppendOriginHead(const HttpHead& head, std::string& out);

// The value of Proxy-Authorization; empty when there is none or more than one.
[[nodiscard]] std::string_view ProxyAuthorization(const HttpHead& head);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_HTTP_FORWARD_H_
