#include "cordon/sdk/network_target.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"

namespace cordon {
namespace {

constexpr std::size_t kMaxTextBytes = 512;
constexpr std::size_t kMaxNameBytes = 253;  // RFC 1035 section 2.3.4, without the trailing dot.
constexpr std::size_t kMaxLabelBytes = 63;

absl::Status Malformed(std::string_view text, std::string_view what) {
  return MakeError(ErrorCode::kInvalidTarget,
                   absl::StrFormat("malformed network target \"%s\": %s",
                                   EscapeForDisplay(text.substr(0, 80)), what));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Nothing unless it is `*` or 1 to 65535 in its only spelling.
std::optional<std::uint16_t> ParsePort(std::string_view text) {
  if (text == "*") return 0;
  if (text.empty() || text.size() > 5 || text[0] == '0') return std::nullopt;
  std::uint32_t port = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    port = port * 10 + static_cast<std::uint32_t>(c - '0');
  }
  if (port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

// A host whose last label is a number is read as an IPv4 address by resolvers and browsers, in
// spellings that inet_aton(3) knows (WHATWG URL, "ends in a number").
bool EndsInNumber(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  if (last.empty()) return false;
  return last.starts_with("0x") || std::all_of(last.begin(), last.end(), IsDigit);
}

// Why `name`, lower case without a trailing dot, is no host name; empty when it is one.
std::string_view NameProblem(std::string_view name) {
  if (name.empty()) return "the host is empty";
  if (name.size() > kMaxNameBytes) return "the host name is longer than 253 bytes";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const std::string_view label = name.substr(at, end - at);
    if (label.empty()) return "the host name has an empty label";
    if (label.size() > kMaxLabelBytes) return "a label is longer than 63 bytes";
    if (label.front() == '-' || label.back() == '-') return "a label starts or ends with a hyphen";
    for (const char c : label) {
      if ((static_cast<unsigned char>(c) & 0x80U) != 0) return "write the host name in punycode";
      if (!IsLower(c) && !IsDigit(c) && c != '-' && c != '_') {
        return "the host has a character that no host name has";
      }
    }
    at = end + 1;
  }
  return "";
}

// An address with the number of its leading bits that count: all of them for a single address.
struct Prefix {
  std::array<std::uint8_t, 16> bytes{};
  int family = AF_UNSPEC;
  std::size_t bits = 0;
};

std::size_t WholeLength(int family) { return family == AF_INET6 ? 128 : 32; }

// Drops what is behind the first `bits`.
void Cut(std::array<std::uint8_t, 16>& bytes, std::size_t bits) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t kept = bits > 8 * i ? std::min<std::size_t>(bits - 8 * i, 8) : 0;
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & (0xff00U >> kept));
  }
}

// `text` is a host as `NetworkTarget` holds it.
std::optional<Prefix> ReadPrefix(std::string_view text) {
  Prefix prefix;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string address(text.substr(0, slash));
  prefix.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (inet_pton(prefix.family, address.c_str(), prefix.bytes.data()) != 1) return std::nullopt;
  prefix.bits = WholeLength(prefix.family);
  if (slash == text.size()) return prefix;
  const std::string_view length = text.substr(slash + 1);
  if (length.empty() || length.size() > 3 || (length.size() > 1 && length[0] == '0') ||
      !std::all_of(length.begin(), length.end(), IsDigit)) {
    return std::nullopt;
  }
  prefix.bits = 0;
  for (const char c : length) prefix.bits = prefix.bits * 10 + static_cast<std::size_t>(c - '0');
  if (prefix.bits > WholeLength(prefix.family)) return std::nullopt;
  return prefix;
}

std::string AddressText(const Prefix& prefix) {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(prefix.family, prefix.bytes.data(), text, sizeof(text));
  return text;
}

// `host` has a slash; `family` is what its address must be of.
absl::StatusOr<NetworkTarget> ParsePrefix(std::string_view whole, std::string_view host,
                                          int family) {
  std::optional<Prefix> prefix = ReadPrefix(host);
  if (!prefix.has_value() || prefix->family != family) {
    return Malformed(whole, "a range of addresses is ADDRESS/LENGTH, as in 10.0.0.0/8");
  }
  const std::string given = AddressText(*prefix);
  if (prefix->bits == WholeLength(family)) {
    return Malformed(whole, "a range of one address is written as the address, " + given);
  }
  Cut(prefix->bytes, prefix->bits);
  const std::string host_text = absl::StrCat(AddressText(*prefix), "/", prefix->bits);
  if (AddressText(*prefix) != given) {
    return Malformed(whole, "its address has bits behind the prefix; write " + host_text);
  }
  const auto* bytes = reinterpret_cast<const in6_addr*>(prefix->bytes.data());
  if (family == AF_INET6 && prefix->bits >= 96 && IN6_IS_ADDR_V4MAPPED(bytes)) {
    return Malformed(whole, "write a range of IPv4-mapped addresses as the IPv4 range");
  }
  return NetworkTarget{.host = host_text, .port = 0, .is_address = true};
}

absl::StatusOr<NetworkTarget> ParseIpv6(std::string_view whole, std::string_view host) {
  in6_addr address{};
  if (host.find('%') != std::string_view::npos)
    return Malformed(whole, "zone ids are not accepted");
  if (host.find('/') != std::string_view::npos) return ParsePrefix(whole, host, AF_INET6);
  if (inet_pton(AF_INET6, std::string(host).c_str(), &address) != 1) {
    return Malformed(whole, "what is in brackets is no IPv6 address");
  }
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return Malformed(whole, "write an IPv4-mapped address as the IPv4 address");
  }
  char text[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, &address, text, sizeof(text));
  return NetworkTarget{.host = text, .port = 0, .is_address = true};
}

absl::StatusOr<NetworkTarget> ParseNameOrIpv4(std::string_view whole, std::string_view text) {
  std::string host(text);
  std::transform(host.begin(), host.end(), host.begin(), Lower);
  if (host == "*") return NetworkTarget{.host = host, .port = 0, .is_address = false};
  if (host.find('/') != std::string::npos) return ParsePrefix(whole, host, AF_INET);
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) {
    return NetworkTarget{.host = host, .port = 0, .is_address = true};
  }
  if (host.size() > 1 && host.back() == '.') host.pop_back();
  std::string_view name = host;
  if (name.starts_with("*.")) name.remove_prefix(2);
  if (EndsInNumber(name)) return Malformed(whole, "write an IPv4 address as four decimal numbers");
  if (const std::string_view problem = NameProblem(name); !problem.empty()) {
    return Malformed(whole, problem);
  }
  return NetworkTarget{.host = host, .port = 0, .is_address = false};
}

bool CoversRange(const NetworkTarget& outer, const NetworkTarget& inner) {
  const std::optional<Prefix> range = ReadPrefix(outer.host);
  std::optional<Prefix> part = ReadPrefix(inner.host);
  if (!range.has_value() || !part.has_value() || range->family != part->family) return false;
  if (part->bits < range->bits) return false;
  Cut(part->bytes, range->bits);
  return part->bytes == range->bytes;
}

bool CoversHost(const NetworkTarget& outer, const NetworkTarget& inner) {
  if (outer.host == "*" || outer.host == inner.host) return true;
  if (outer.host.find('/') != std::string::npos)
    return inner.is_address && CoversRange(outer, inner);
  if (!outer.host.starts_with("*.") || inner.is_address) return false;
  return inner.host.ends_with(std::string_view(outer.host).substr(1));
}

}  // namespace

absl::StatusOr<NetworkTarget> ParseNetworkTarget(std::string_view text) {
  if (text.size() > kMaxTextBytes) return Malformed(text, "it is too long");
  if (text.find('\0') != std::string_view::npos) return Malformed("", "it has a NUL byte");
  std::string_view rest = text;
  if (rest.starts_with("tcp:")) rest.remove_prefix(4);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return Malformed(text, "a port is missing, as in HOST:443");
  const std::string_view host = rest.substr(0, colon);
  const std::optional<std::uint16_t> port = ParsePort(rest.substr(colon + 1));
  if (!port.has_value()) return Malformed(text, "the port must be 1 to 65535, or *");
  const bool in_brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (!in_brackets && host.find(':') != std::string_view::npos) {
    return Malformed(text, "an IPv6 address needs brackets, as in [::1]:443");
  }
  absl::StatusOr<NetworkTarget> target =
      in_brackets ? ParseIpv6(text, host.substr(1, host.size() - 2)) : ParseNameOrIpv4(text, host);
  // Its text would be read as a target without a port.
  if (target.ok() && target->host == "tcp") {
    return Malformed(text, "no host can be named tcp, which is how a target may begin");
  }
  if (target.ok()) target->port = *port;
  return target;
}

std::string NetworkTargetText(const NetworkTarget& target) {
  const bool brackets = target.host.find(':') != std::string::npos;
  const std::string port = target.port == 0 ? "*" : absl::StrCat(target.port);
  return brackets ? absl::StrCat("[", target.host, "]:", port)
                  : absl::StrCat(target.host, ":", port);
}

bool IsPattern(const NetworkTarget& target) {
  return target.port == 0 || target.host.starts_with('*') ||
         target.host.find('/') != std::string::npos;
}

bool Covers(const NetworkTarget& outer, const NetworkTarget& inner) {
  return (outer.port == 0 || outer.port == inner.port) && CoversHost(outer, inner);
}

}  // namespace cordon
