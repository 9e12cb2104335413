#include "http_forward.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/status.h"

namespace cordon::internal::egress {
namespace {

absl::Status Malformed(std::string_view what) { return MakeError(ErrorCode::kInvalidTarget, what); }

absl::StatusOr<NetworkTarget> AuthorityTarget(std::string_view authority,
                                              std::uint16_t default_port) {
  std::string host;
  std::uint16_t port = 0;
  if (!SplitHttpAuthority(authority, host, port)) {
    return Malformed("the host of the request is malformed");
  }
  if (port == 0) port = default_port;
  if (port == 0) return Malformed("the port of the request is missing");
  const bool is_v6 = host.find(':') != std::string::npos;
  return ParseNetworkTarget(is_v6 ? absl::StrCat("[", host, "]:", port)
                                  : absl::StrCat(host, ":", port));
}

bool IsForProxy(std::string_view name) {
  return EqualsIgnoringCase(name, "proxy-authorization") ||
         EqualsIgnoringCase(name, "proxy-connection");
}

std::string OriginForm(const HttpHead& head, std::string_view authority) {
  const auto end = static_cast<std::size_t>(authority.end() - head.target.begin());
  const std::string_view path = head.target.substr(end);
  if (path.empty()) return head.method == "OPTIONS" ? "*" : "/";
  return path.front() == '?' ? absl::StrCat("/", std::string(path)) : std::string(path);
}

}  // namespace

absl::StatusOr<NetworkTarget> ForwardTarget(const HttpHead& head) {
  std::string_view authority;
  bool malformed = false;
  if (!HttpTargetAuthority(head.target, authority, malformed)) {
    return Malformed("this is a proxy: it takes requests for http://HOST/... and CONNECT");
  }
  if (malformed) return Malformed("the target of the request has a malformed host");
  const std::string_view scheme = head.target.substr(0, head.target.find("://"));
  if (!EqualsIgnoringCase(scheme, "http") && !EqualsIgnoringCase(scheme, "ws")) {
    return Malformed("only http:// is forwarded; for anything else use CONNECT");
  }
  const std::string_view path = head.target.substr(scheme.size() + 3 + authority.size());
  if (path.starts_with('\\') || path.find('#') != std::string_view::npos) {
    return Malformed("the target of the request is malformed");
  }
  absl::StatusOr<NetworkTarget> target = AuthorityTarget(authority, 80);
  if (!target.ok() || !head.has_host) return target;
  const absl::StatusOr<NetworkTarget> host = AuthorityTarget(head.host, 80);
  if (!host.ok() || *host != *target) return Malformed("the Host is not that of the target");
  return target;
}

absl::StatusOr<NetworkTarget> ConnectTarget(const HttpHead& head) {
  if (head.body != HttpHead::Body::kNone) return Malformed("a CONNECT has no body");
  return AuthorityTarget(head.target, 0);
}

void AppendOriginHead(const HttpHead& head, std::string& out) {
  std::string_view authority;
  bool malformed = false;
  if (!HttpTargetAuthority(head.target, authority, malformed)) return;
  absl::StrAppend(&out, std::string(head.method), " ", OriginForm(head, authority), " HTTP/1.",
                  head.minor_version, "\r\n");
  if (!head.has_host) absl::StrAppend(&out, "Host: ", std::string(authority), "\r\n");
  const bool cleartext_http2 = ListHasToken(head.upgrade, "h2c");
  for (const HttpField& field : head.fields) {
    if (IsForProxy(field.name)) continue;
    if (cleartext_http2 && EqualsIgnoringCase(field.name, "upgrade")) continue;
    out.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  out += "\r\n";
}

std::string_view ProxyAuthorization(const HttpHead& head) {
  std::string_view value;
  for (const HttpField& field : head.fields) {
    if (!EqualsIgnoringCase(field.name, "proxy-authorization")) continue;
    if (!value.empty()) return {};
    value = field.value;
  }
  return value;
}

}  // namespace cordon::internal::egress
