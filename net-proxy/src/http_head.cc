#include "http_head.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cordon::internal::egress {
namespace {

constexpr std::size_t kMaxFields = 256;
constexpr std::size_t kMaxEmptyLines = 4;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<bool, 256> TokenCharacters() {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < 256; ++c) {
    table[c] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<std::uint8_t>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> kToken = TokenCharacters();

std::string_view TrimSpace(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Some servers treat `_` and `-` in names alike (CGI does), so such a spelling is not harmless.
bool IsDisguised(std::string_view name, std::string_view framing) {
  if (name.size() != framing.size() || EqualsIgnoringCase(name, framing)) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (Lower(name[i]) != framing[i] && !(name[i] == '_' && framing[i] == '-')) return false;
  }
  return true;
}

struct Problem {
  std::string text;
  [[nodiscard]] bool any() const { return !text.empty(); }
};

Problem ParseRequestLine(std::string_view line, HttpHead& head) {
  const std::size_t first = line.find(' ');
  if (first == std::string_view::npos) return {"the request line has no target"};
  const std::size_t second = line.find(' ', first + 1);
  if (second == std::string_view::npos) return {"HTTP/0.9 has no Host"};
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (!IsHttpToken(head.method)) return {"the method is malformed"};
  if (head.method == "PRI" && version == "HTTP/2.0") {
    return {"HTTP/2 without TLS is not looked into"};
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return {"the version is not HTTP/1.0 or 1.1"};
  head.minor_version = version.back() - '0';
  const bool visible = std::all_of(head.target.begin(), head.target.end(),
                                   [](char c) { return c > 0x20 && c < 0x7f; });
  if (head.target.empty() || !visible) return {"the target has a character that no URL has"};
  return {};
}

Problem ParseContentLength(std::string_view value, HttpHead& head) {
  if (head.body != HttpHead::Body::kNone) return {"the length of the body is given twice"};
  if (value.empty() || value.size() > 18 || !std::all_of(value.begin(), value.end(), IsDigit)) {
    return {"Content-Length is malformed"};
  }
  head.content_length = 0;
  for (const char c : value) {
    head.content_length = head.content_length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  head.body = HttpHead::Body::kLength;
  return {};
}

Problem ParseTransferEncoding(std::string_view value, HttpHead& head) {
  if (head.body != HttpHead::Body::kNone) return {"the length of the body is given twice"};
  if (head.minor_version == 0) return {"HTTP/1.0 has no Transfer-Encoding"};
  if (!EqualsIgnoringCase(value, "chunked")) return {"a Transfer-Encoding other than chunked"};
  head.body = HttpHead::Body::kChunked;
  return {};
}

Problem ParseHost(std::string_view value, HttpHead& head) {
  if (head.has_host) return {"there are two Host fields"};
  head.has_host = true;
  head.host = value;
  return {};
}

Problem ApplyField(const HttpField& field, HttpHead& head) {
  if (EqualsIgnoringCase(field.name, "host")) return ParseHost(field.value, head);
  if (EqualsIgnoringCase(field.name, "content-length"))
    return ParseContentLength(field.value, head);
  if (EqualsIgnoringCase(field.name, "transfer-encoding")) {
    return ParseTransferEncoding(field.value, head);
  }
  if (IsDisguised(field.name, "content-length") || IsDisguised(field.name, "transfer-encoding")) {
    return {absl::StrCat("a field is named like one that frames the body")};
  }
  return {};
}

Problem ParseField(std::string_view line, HttpHead& head) {
  if (line.front() == ' ' || line.front() == '\t') return {"a field is folded over two lines"};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {"a field has no colon"};
  const HttpField field{line.substr(0, colon), TrimSpace(line.substr(colon + 1))};
  if (!IsHttpToken(field.name)) return {"the name of a field is malformed"};
  for (const char c : field.value) {
    const auto byte = static_cast<std::uint8_t>(c);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return {"a field has a control character"};
  }
  if (head.fields.size() == kMaxFields) return {"there are more than 256 fields"};
  head.fields.push_back(field);
  return ApplyField(field, head);
}

void ReadConnectionFields(HttpHead& head) {
  bool names_upgrade = false;
  bool keep_alive = false;
  for (const HttpField& field : head.fields) {
    if (EqualsIgnoringCase(field.name, "connection")) {
      names_upgrade = names_upgrade || ListHasToken(field.value, "upgrade");
      keep_alive = keep_alive || ListHasToken(field.value, "keep-alive");
      head.wants_close = head.wants_close || ListHasToken(field.value, "close");
    } else if (EqualsIgnoringCase(field.name, "upgrade")) {
      head.upgrade = field.value;
    } else if (EqualsIgnoringCase(field.name, "expect")) {
      head.expects_continue = EqualsIgnoringCase(field.value, "100-continue");
    }
  }
  head.wants_upgrade = names_upgrade && !head.upgrade.empty();
  if (head.minor_version == 0 && !keep_alive) head.wants_close = true;
}

// Where the head ends; 0 when it does not yet. `problem` for a line that ends in LF alone or has a
// CR or NUL inside.
std::size_t FindEnd(std::string_view bytes, std::size_t start, std::size_t& scanned,
                    Problem& problem) {
  for (std::size_t i = std::max(scanned, start); i < bytes.size(); ++i) {
    if (bytes[i] == '\0') problem = {"there is a NUL byte"};
    if (i > start && bytes[i - 1] == '\r' && bytes[i] != '\n') problem = {"there is a lone CR"};
    if (bytes[i] == '\n' && (i == start || bytes[i - 1] != '\r')) problem = {"there is a lone LF"};
    if (problem.any()) return 0;
    if (bytes[i] == '\n' && i >= start + 3 && bytes[i - 2] == '\n') {
      scanned = i + 1;
      return i + 1;
    }
  }
  scanned = bytes.size();
  return 0;
}

std::size_t SkipEmptyLines(std::string_view bytes) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < kMaxEmptyLines && bytes.substr(at, 2) == "\r\n"; ++i) at += 2;
  return at;
}

Problem ParseLines(std::string_view text, HttpHead& head) {
  std::size_t end = text.find("\r\n");
  if (Problem problem = ParseRequestLine(text.substr(0, end), head); problem.any()) return problem;
  text.remove_prefix(end + 2);
  while (text != "\r\n") {
    end = text.find("\r\n");
    if (Problem problem = ParseField(text.substr(0, end), head); problem.any()) return problem;
    text.remove_prefix(end + 2);
  }
  ReadConnectionFields(head);
  return {};
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return Lower(x) == Lower(y); });
}

bool IsHttpToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return kToken[static_cast<std::uint8_t>(c)]; });
}

bool ListHasToken(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (EqualsIgnoringCase(TrimSpace(list.substr(0, comma)), token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

HttpHeadResult ParseHttpHead(std::string_view bytes, std::size_t max_bytes, std::size_t& scanned) {
  HttpHeadResult result;
  const std::size_t start = SkipEmptyLines(bytes);
  Problem problem;
  // What stands behind the limit is not looked at, so it does not matter how the bytes come.
  const std::size_t end = FindEnd(bytes.substr(0, max_bytes), start, scanned, problem);
  if (!problem.any() && end == 0) {
    result.state = bytes.size() < max_bytes ? HttpHeadResult::State::kNeedMore
                                            : HttpHeadResult::State::kMalformed;
    result.problem = "the head is too long";
    return result;
  }
  if (!problem.any()) problem = ParseLines(bytes.substr(start, end - start), result.head);
  if (problem.any()) {
    result.problem = std::move(problem.text);
    return result;
  }
  result.state = HttpHeadResult::State::kComplete;
  result.size = end;
  return result;
}

bool SplitHttpAuthority(std::string_view authority, std::string& host, std::uint16_t& port) {
  port = 0;
  std::string_view name = authority;
  std::string_view digits;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return false;
    name = authority.substr(1, close - 1);
    digits = authority.substr(close + 1);
    if (!digits.empty() && digits.front() != ':') return false;
    has_port = !digits.empty();
    if (has_port) digits.remove_prefix(1);
  } else if (const std::size_t colon = authority.find(':'); colon != std::string_view::npos) {
    name = authority.substr(0, colon);
    digits = authority.substr(colon + 1);
    has_port = true;
  }
  if (has_port) {
    if (digits.empty() || digits.size() > 5 || digits.front() == '0') return false;
    std::uint32_t value = 0;
    for (const char c : digits) {
      if (!IsDigit(c)) return false;
      value = value * 10 + static_cast<std::uint32_t>(c - '0');
    }
    if (value > 65535) return false;
    port = static_cast<std::uint16_t>(value);
  }
  if (name.size() > 1 && name.back() == '.') name.remove_suffix(1);
  host.assign(name);
  std::transform(host.begin(), host.end(), host.begin(), Lower);
  return !host.empty();
}

bool HttpTargetAuthority(std::string_view target, std::string_view& authority, bool& malformed) {
  malformed = false;
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return false;
  const std::string_view rest = target.substr(scheme + 3);
  authority = rest.substr(0, std::min(rest.find_first_of("/?#\\"), rest.size()));
  malformed = authority.empty() || authority.find('@') != std::string_view::npos;
  return true;
}

}  // namespace cordon::internal::egress
