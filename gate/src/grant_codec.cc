#include "grant_codec.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "cordon/sdk/status.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

constexpr char kClaimsVersion = 1;
constexpr std::string_view kPrefix = "v1.";
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// Three paths of PATH_MAX bytes and the fixed fields, in base64.
constexpr std::size_t kMaxTokenBytes = 32 * 1024;

absl::Status Malformed(std::string_view what) {
  return MakeError(ErrorCode::kGrantMalformed, "a grant token is malformed: " + std::string(what));
}

class ClaimsWriter {
 public:
  void Byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void Number(std::uint64_t value) {
    for (int shift = 56; shift >= 0; shift -= 8) Byte(static_cast<std::uint8_t>(value >> shift));
  }
  void Bytes(std::string_view bytes) { out_ += bytes; }
  template <std::size_t N>
  void Bytes(const std::array<std::uint8_t, N>& bytes) {
    out_.append(reinterpret_cast<const char*>(bytes.data()), N);
  }
  void Text(std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    for (int shift = 24; shift >= 0; shift -= 8) Byte(static_cast<std::uint8_t>(length >> shift));
    Bytes(text);
  }
  [[nodiscard]] std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads what the writer wrote. After a fault every further read yields zero values and `ok` is
// false.
class ClaimsReader {
 public:
  explicit ClaimsReader(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t Byte() {
    const std::string_view byte = Raw(1);
    return byte.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(byte[0]);
  }
  std::uint64_t Number() { return BigEndian(8); }
  template <std::size_t N>
  std::array<std::uint8_t, N> Bytes() {
    std::array<std::uint8_t, N> out{};
    const std::string_view raw = Raw(N);
    std::copy(raw.begin(), raw.end(), out.begin());
    return out;
  }
  std::string Text() {
    const std::string_view text = Raw(static_cast<std::size_t>(BigEndian(4)));
    if (!IsValidUtf8(text)) ok_ = false;
    return std::string(text);
  }
  // A time is a signed count, so that it round-trips through `std::chrono`.
  std::chrono::milliseconds Time() {
    const std::uint64_t count = Number();
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) ok_ = false;
    return std::chrono::milliseconds(ok_ ? static_cast<std::int64_t>(count) : 0);
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  std::string_view Raw(std::size_t count) {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint64_t BigEndian(std::size_t count) {
    std::uint64_t value = 0;
    for (const char byte : Raw(count)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
};

std::optional<std::uint32_t> Base64Value(char c) {
  const std::size_t at = kAlphabet.find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(at);
}

}  // namespace

std::string EncodeClaims(const GrantClaims& claims) {
  ClaimsWriter out;
  out.Byte(kClaimsVersion);
  out.Bytes(claims.nonce);
  out.Number(static_cast<std::uint64_t>(claims.issued.count()));
  out.Number(static_cast<std::uint64_t>(claims.expires.count()));
  out.Text(claims.binding.executor_id);
  out.Text(claims.binding.execution_id);
  out.Bytes(claims.binding.command_digest);
  out.Text(claims.binding.working_directory);
  out.Bytes(claims.binding.profile_fingerprint);
  out.Text(claims.binding.route_fingerprint);
  out.Byte(claims.binding.guarantees);
  out.Text(GrantClassName(claims.subject.grant_class));
  out.Text(claims.subject.target);
  out.Byte(claims.subject.identity.has_value() ? 1 : 0);
  if (claims.subject.identity.has_value()) {
    out.Number(claims.subject.identity->device);
    out.Number(claims.subject.identity->inode);
    out.Number(claims.subject.identity->type);
    out.Number(static_cast<std::uint64_t>(claims.subject.identity->birth_ns));
    out.Text(claims.subject.identity->missing_suffix);
  }
  return out.Take();
}

absl::StatusOr<GrantClaims> DecodeClaims(std::string_view bytes) {
  ClaimsReader in(bytes);
  if (in.Byte() != kClaimsVersion) return Malformed("unknown version of claims");
  GrantClaims claims;
  claims.nonce = in.Bytes<16>();
  claims.issued = in.Time();
  claims.expires = in.Time();
  claims.binding.executor_id = in.Text();
  claims.binding.execution_id = in.Text();
  claims.binding.command_digest = in.Bytes<32>();
  claims.binding.working_directory = in.Text();
  claims.binding.profile_fingerprint = in.Bytes<32>();
  claims.binding.route_fingerprint = in.Text();
  claims.binding.guarantees = in.Byte();
  const std::optional<GrantClass> grant_class = ParseGrantClass(in.Text());
  if (!grant_class.has_value()) return Malformed("unknown class");
  claims.subject.grant_class = *grant_class;
  claims.subject.target = in.Text();
  if (in.Byte() != 0) {
    PathIdentity identity;
    identity.device = in.Number();
    identity.inode = in.Number();
    identity.type = static_cast<std::uint32_t>(in.Number());
    identity.birth_ns = static_cast<std::int64_t>(in.Number());
    identity.missing_suffix = in.Text();
    claims.subject.identity = std::move(identity);
  }
  if (!in.AtEnd()) return Malformed("its claims do not decode");
  // Catches what the reader maps together, such as a flag of 2 or a type beyond 32 bits.
  if (EncodeClaims(claims) != bytes) return Malformed("its claims are not canonical");
  return claims;
}

std::string Base64UrlEncode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char byte : bytes) {
    buffer = (buffer << 8 | static_cast<unsigned char>(byte)) & 0xFFFF;
    bits += 8;
    for (; bits >= 6; bits -= 6) out.push_back(kAlphabet[buffer >> (bits - 6) & 63]);
  }
  if (bits > 0) out.push_back(kAlphabet[buffer << (6 - bits) & 63]);
  return out;
}

std::optional<std::string> Base64UrlDecode(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const std::optional<std::uint32_t> value = Base64Value(c);
    if (!value.has_value()) return std::nullopt;
    buffer = (buffer << 6 | *value) & 0xFFFF;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>(buffer >> bits & 0xFF));
    }
  }
  const std::uint32_t left_over = buffer & ((1U << bits) - 1);
  if (left_over != 0) return std::nullopt;
  return out;
}

std::string SignedText(const GrantClaims& claims) {
  return std::string(kPrefix) + Base64UrlEncode(EncodeClaims(claims));
}

std::string TokenText(std::string_view signed_text, const Mac& mac) {
  const std::string_view mac_bytes(reinterpret_cast<const char*>(mac.data()), mac.size());
  return std::string(signed_text) + "." + Base64UrlEncode(mac_bytes);
}

absl::StatusOr<TokenParts> ParseToken(std::string_view token) {
  if (token.size() > kMaxTokenBytes) return Malformed("too long");
  if (token.substr(0, kPrefix.size()) != kPrefix) return Malformed("unknown version");
  const std::size_t dot = token.find('.', kPrefix.size());
  if (dot == std::string_view::npos) return Malformed("it has no signature");
  std::optional<std::string> claims =
      Base64UrlDecode(token.substr(kPrefix.size(), dot - kPrefix.size()));
  const std::optional<std::string> mac = Base64UrlDecode(token.substr(dot + 1));
  if (!claims.has_value() || !mac.has_value()) return Malformed("not canonical base64url");
  TokenParts parts;
  if (mac->size() != parts.mac.size()) return Malformed("its signature has another length");
  std::copy(mac->begin(), mac->end(), parts.mac.begin());
  parts.signed_text = std::string(token.substr(0, dot));
  parts.claims = std::move(*claims);
  return parts;
}

}  // namespace cordon::internal
