#include "cordon/net-proxy/route.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"

namespace cordon {
namespace {

constexpr const char* kDirect = "direct";

absl::Status Malformed() {
  return MakeError(
      ErrorCode::kInvalidTarget,
      "an upstream proxy is http[s]://[USER:PASSWORD@]HOST[:PORT], as in http://proxy:3128");
}

// RFC 3986 section 2.1. False for a `%` without two digits, and for a control character.
bool PercentDecode(std::string_view text, std::string& out) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return false;
      c = static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20) return false;
    out.push_back(c);
  }
  return true;
}

bool HasPort(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  return colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
}

// A pattern of an exception: the port is any when none is given.
absl::StatusOr<NetworkTarget> ParseException(std::string_view text) {
  // A bare IPv6 address or range has colons and no brackets.
  const bool is_bare_v6 = std::count(text.begin(), text.end(), ':') > 1 && !text.starts_with('[');
  if (is_bare_v6) return ParseNetworkTarget(absl::StrCat("[", std::string(text), "]:*"));
  if (HasPort(text)) return ParseNetworkTarget(text);
  return ParseNetworkTarget(absl::StrCat(std::string(text), ":*"));
}

std::string_view Trim(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(start);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::optional<std::string> FirstSet(
    const std::function<std::optional<std::string>(const char*)>& variable,
    std::initializer_list<const char*> names, const char** found) {
  for (const char* name : names) {
    std::optional<std::string> value = variable(name);
    if (!value.has_value() || value->empty()) continue;
    *found = name;
    return value;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<EgressRoute> ParseEgressRoute(std::string_view text) {
  EgressRoute route;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return Malformed();
  route.tls = text.substr(0, scheme) == "https";
  if (!route.tls && text.substr(0, scheme) != "http") return Malformed();
  text.remove_prefix(scheme + 3);
  if (text.ends_with('/')) text.remove_suffix(1);
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    if (!PercentDecode(text.substr(0, at), route.credential)) return Malformed();
    if (route.credential.find(':') == std::string::npos) return Malformed();
    text.remove_prefix(at + 1);
  }
  absl::StatusOr<NetworkTarget> host = ParseNetworkTarget(
      HasPort(text) ? std::string(text)
                    : absl::StrCat(std::string(text), route.tls ? ":443" : ":80"));
  if (!host.ok() || IsPattern(*host)) return Malformed();
  route.proxy_host = host->host;
  route.proxy_port = host->port;
  return route;
}

std::vector<std::string> ParseNoProxy(std::string_view text) {
  std::vector<std::string> exceptions;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view entry = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (entry.starts_with("*.")) entry.remove_prefix(1);
    if (entry.starts_with('.')) entry.remove_prefix(1);
    const absl::StatusOr<NetworkTarget> target = ParseException(entry);
    if (!target.ok()) continue;
    exceptions.emplace_back(entry);
    if (!target->is_address && target->host != "*") {
      exceptions.push_back(absl::StrCat("*.", std::string(entry)));
    }
  }
  return exceptions;
}

absl::StatusOr<EgressRoute> EgressRouteOfEnvironment(
    const std::function<std::optional<std::string>(const char* name)>& variable) {
  const char* name = "";
  const auto proxy = FirstSet(variable, {"https_proxy", "HTTPS_PROXY"}, &name);
  if (!proxy.has_value()) return EgressRoute{};
  // Without a scheme it is HTTP, as curl reads it.
  const bool has_scheme = proxy->find("://") != std::string::npos;
  absl::StatusOr<EgressRoute> route = ParseEgressRoute(has_scheme ? *proxy : "http://" + *proxy);
  if (!route.ok()) {
    return MakeError(ErrorCode::kInvalidTarget,
                     absl::StrCat("the environment's ", name,
                                  " cannot be read: ", std::string(route.status().message())));
  }
  if (const auto none = FirstSet(variable, {"no_proxy", "NO_PROXY"}, &name); none.has_value()) {
    route->exceptions = ParseNoProxy(*none);
  }
  return route;
}

absl::StatusOr<RouteResolver> RouteResolver::Create(EgressRoute route) {
  RouteResolver resolver;
  if (route.proxy_host.empty()) {
    if (route.exceptions.empty()) return resolver;
    return MakeError(ErrorCode::kInvalidTarget, "exceptions need a proxy that they are from");
  }
  const bool is_v6 = route.proxy_host.find(':') != std::string::npos;
  const absl::StatusOr<NetworkTarget> host = ParseNetworkTarget(
      absl::StrCat(is_v6 ? "[" : "", route.proxy_host, is_v6 ? "]" : "", ":", route.proxy_port));
  if (!host.ok() || IsPattern(*host) || host->host != route.proxy_host) return Malformed();
  const bool has_colon = route.credential.find(':') != std::string::npos;
  if (!route.credential.empty() && !has_colon) return Malformed();
  for (const std::string& text : route.exceptions) {
    absl::StatusOr<NetworkTarget> target = ParseException(text);
    if (!target.ok()) {
      return MakeError(
          ErrorCode::kInvalidTarget,
          absl::StrFormat("the exception \"%s\" from the upstream proxy is no host: %s",
                          EscapeForDisplay(text), std::string(target.status().message())));
    }
    resolver.exceptions_.push_back(*std::move(target));
  }
  resolver.route_ = std::move(route);
  return resolver;
}

const EgressRoute* RouteResolver::ProxyFor(const NetworkTarget& target) const {
  if (route_.proxy_host.empty()) return nullptr;
  const bool is_direct =
      std::any_of(exceptions_.begin(), exceptions_.end(),
                  [&target](const NetworkTarget& exception) { return Covers(exception, target); });
  return is_direct ? nullptr : &route_;
}

std::string RouteResolver::Fingerprint() const {
  if (route_.proxy_host.empty()) return kDirect;
  std::vector<std::string> exceptions;
  for (const NetworkTarget& target : exceptions_) exceptions.push_back(NetworkTargetText(target));
  std::sort(exceptions.begin(), exceptions.end());
  FieldHasher hasher;
  hasher.Add(route_.tls ? "https" : "http").Add(route_.proxy_host);
  hasher.Add(std::uint64_t{route_.proxy_port}).Add(route_.ca_file);
  for (const std::string& exception : exceptions) hasher.Add(exception);
  return absl::StrCat("proxy:", DigestHex(hasher.Finish()));
}

}  // namespace cordon
