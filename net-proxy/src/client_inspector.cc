#include "client_inspector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "http_forward.h"
#include "http_refusal.h"
#include "tls_hello.h"

namespace cordon::internal::egress {
namespace {

constexpr std::uint8_t kRecordChangeCipherSpec = 20;
constexpr std::uint8_t kRecordHandshake = 22;
constexpr std::size_t kRecordHeaderBytes = 5;

// A request begins with its method; none comes near this.
constexpr std::size_t kLongestMethod = 256;

std::uint8_t ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

bool IsText(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return (byte >= 0x20 && byte != 0x7f) || byte == '\t' || byte == '\r';
}

// Whether a first line is one of an HTTP request: it names the protocol, in any case of letters, or
// it is HTTP/0.9 with a usual method.
bool LooksLikeHttp(std::string_view line) {
  std::string upper(line);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (upper.find(" HTTP/") != std::string::npos || upper.find("\tHTTP/") != std::string::npos) {
    return true;
  }
  for (const std::string_view method :
       {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT"}) {
    const std::string_view target = line.substr(std::min(line.size(), method.size() + 1));
    if (line.starts_with(method) && line.substr(method.size(), 1) == " " &&
        (target.starts_with('/') || target.find("://") != std::string_view::npos)) {
      return true;
    }
  }
  return false;
}

// The hello of SSL 2, which has no server name: a length below 4096 with the high bit, type 1,
// version 2 or 3.
bool IsOldHello(std::string_view bytes) {
  return bytes.size() >= 5 && (ByteAt(bytes, 0) & 0xf0U) == 0x80 && ByteAt(bytes, 2) == 1 &&
         (ByteAt(bytes, 3) == 3 || (ByteAt(bytes, 3) == 0 && ByteAt(bytes, 4) == 2));
}

bool MayBeOldHello(std::string_view bytes) {
  return bytes.size() < 5 && (ByteAt(bytes, 0) & 0xf0U) == 0x80 &&
         (bytes.size() < 3 || ByteAt(bytes, 2) == 1) &&
         (bytes.size() < 4 || ByteAt(bytes, 3) == 3 || ByteAt(bytes, 3) == 0);
}

}  // namespace

ClientInspector::ClientInspector(InspectorRules rules)
    : rules_(std::move(rules)), http_(rules_.max_head_bytes) {
  if (rules_.is_forward) kind_ = Kind::kHttp;
}

std::string_view ClientInspector::protocol() const {
  switch (kind_) {
    case Kind::kUndecided:
      return "";
    case Kind::kTls:
      return "tls";
    case Kind::kHttp:
      return "http";
    case Kind::kOther:
      return "other";
  }
  return "";
}

ClientInspector::Verdict ClientInspector::Feed(std::string_view bytes, std::string& out) {
  held_ += bytes;
  if (kind_ == Kind::kUndecided) {
    if (IsOldHello(held_))
      return RefuseTls("the client's hello is of SSL 2, without a server name", "");
    Decide();
  }
  switch (kind_) {
    case Kind::kUndecided:
      return Verdict::kGoOn;
    case Kind::kTls:
      return RunTls(out);
    case Kind::kHttp:
      return RunHttp(out);
    case Kind::kOther:
      ForwardAll(out);
      return Verdict::kRaw;
  }
  return Verdict::kRefuse;
}

void ClientInspector::Decide() {
  // No more than a head may have, so that it does not matter how the bytes come.
  const std::string_view bytes = std::string_view(held_).substr(0, rules_.max_head_bytes);
  if (ByteAt(bytes, 0) == kRecordHandshake) {
    if (bytes.size() >= 2) kind_ = ByteAt(bytes, 1) == 3 ? Kind::kTls : Kind::kOther;
    return;
  }
  if (MayBeOldHello(bytes)) return;
  // Servers skip empty lines before a request.
  const std::size_t start = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
  const std::string_view text = bytes.substr(start);
  if (!text.empty() && ByteAt(text, 0) >= 0x80) {  // No method begins so.
    kind_ = Kind::kOther;
    return;
  }
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  // Judged by the word before the first space alone, so that it does not matter how the bytes come:
  // what stands behind a method is the strict parser's to refuse.
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  if (word.size() > kLongestMethod || !std::all_of(word.begin(), word.end(), IsText)) {
    kind_ = Kind::kOther;
  } else if (end != std::string_view::npos) {
    kind_ = LooksLikeHttp(line) ? Kind::kHttp : Kind::kOther;
  } else if (bytes.size() >= rules_.max_head_bytes) {
    kind_ = Kind::kHttp;  // And refused as too long.
  }
}

void ClientInspector::ForwardAll(std::string& out) {
  out.append(held_, released_);
  held_.clear();
  held_.shrink_to_fit();
  released_ = 0;
}

void ClientInspector::Release(std::string& out) {
  if (kind_ != Kind::kUndecided || ByteAt(held_, 0) == kRecordHandshake) return;
  out.append(held_, released_);
  released_ = held_.size();
}

void ClientInspector::Finish(std::string& out) {
  if (held_.empty() || kind_ != Kind::kUndecided) return;
  // A part of a line and nothing after it asks for nothing.
  kind_ = Kind::kOther;
  ForwardAll(out);
}

ClientInspector::Verdict ClientInspector::RunTls(std::string& out) {
  while (true) {
    if (!had_hello_) {
      const Verdict verdict = CheckHello(out);
      if (verdict != Verdict::kGoOn || !had_hello_) return verdict;
    }
    // After a HelloRetryRequest there is a second one, perhaps behind a ChangeCipherSpec.
    if (held_.empty()) return Verdict::kGoOn;
    const std::uint8_t type = ByteAt(held_, 0);
    if (type == kRecordChangeCipherSpec) {
      if (held_.size() < kRecordHeaderBytes + 1) return Verdict::kGoOn;
      out.append(held_, 0, kRecordHeaderBytes + 1);
      held_.erase(0, kRecordHeaderBytes + 1);
      continue;
    }
    if (type != kRecordHandshake) break;
    if (held_.size() < kRecordHeaderBytes + 1) return Verdict::kGoOn;
    if (ByteAt(held_, kRecordHeaderBytes) != 1) break;
    had_hello_ = false;
  }
  ForwardAll(out);
  return Verdict::kRaw;
}

ClientInspector::Verdict ClientInspector::CheckHello(std::string& out) {
  const ClientHello hello = ParseClientHello(held_, rules_.max_head_bytes);
  if (hello.state == ClientHello::State::kNeedMore) return Verdict::kGoOn;
  if (hello.state == ClientHello::State::kMalformed) return RefuseTls(hello.problem, "");
  if (hello.is_encrypted && !rules_.allow_encrypted_hello) {
    return RefuseTls("an encrypted ClientHello hides its server name", "");
  }
  if (hello.server_name.empty()) return RefuseTls("the ClientHello has no server name", "");
  if (hello.server_name != rules_.host) {
    return RefuseTls(absl::StrFormat("the TLS server name %s is not that of the connection",
                                     EscapeForDisplay(hello.server_name)),
                     hello.server_name);
  }
  out.append(held_, 0, hello.size);
  held_.erase(0, hello.size);
  had_hello_ = true;
  return Verdict::kGoOn;
}

ClientInspector::Verdict ClientInspector::RunHttp(std::string& out) {
  std::string_view rest = held_;
  Verdict verdict = Verdict::kGoOn;
  while (verdict == Verdict::kGoOn) {
    HttpRequests::Step step = http_.Next(rest);
    if (step.event == HttpRequests::Event::kNeedMore) break;
    if (step.event == HttpRequests::Event::kMalformed) return RefuseHttp(400, step.problem, "");
    if (step.event == HttpRequests::Event::kHead) {
      verdict = TakeHead(step.head, rest.substr(0, step.size), out);
      if (verdict == Verdict::kRefuse) return verdict;
      if (verdict == Verdict::kElsewhere) break;
    } else {
      out += rest.substr(0, step.size);
    }
    rest.remove_prefix(step.size);
  }
  held_.erase(0, held_.size() - rest.size());
  return verdict;
}

ClientInspector::Verdict ClientInspector::TakeHead(const HttpHead& head, std::string_view bytes,
                                                   std::string& out) {
  if (rules_.is_forward) return TakeForwardHead(head, out);
  std::string other_host;
  if (std::string problem = HeadProblem(head, other_host); !problem.empty()) {
    return RefuseHttp(403, std::move(problem), std::move(other_host));
  }
  out += bytes.substr(std::exchange(released_, 0));
  const bool cleartext_http2 = ListHasToken(head.upgrade, "h2c");
  if (cleartext_http2) {
    // Its requests could not be read; offered no protocol that it knows, the server goes on in
    // HTTP/1.1.
    const auto behind = static_cast<std::size_t>(bytes.end() - head.upgrade.begin());
    std::fill_n(out.end() - static_cast<std::ptrdiff_t>(behind), head.upgrade.size(), '-');
  }
  // Only an answer to the first request is found for sure.
  awaits_switch_ = requests_ == 0 && head.wants_upgrade && !cleartext_http2;
  ++requests_;
  return Verdict::kGoOn;
}

ClientInspector::Verdict ClientInspector::TakeForwardHead(const HttpHead& head, std::string& out) {
  if (head.method == "CONNECT") return Verdict::kElsewhere;
  const absl::StatusOr<NetworkTarget> target = ForwardTarget(head);
  if (!target.ok()) return RefuseHttp(400, std::string(target.status().message()), "");
  if (target->host != rules_.host || target->port != rules_.port) return Verdict::kElsewhere;
  AppendOriginHead(head, out);
  awaits_switch_ = requests_ == 0 && head.wants_upgrade && !ListHasToken(head.upgrade, "h2c");
  ++requests_;
  return Verdict::kGoOn;
}

std::string ClientInspector::HeadProblem(const HttpHead& head, std::string& other_host) const {
  if (head.method == "CONNECT") return "a CONNECT asks for a connection to somewhere else";
  if (!head.has_host) return "the request has no Host";
  std::string_view authority;
  bool malformed = false;
  const bool is_absolute = HttpTargetAuthority(head.target, authority, malformed);
  if (malformed) return "the target of the request has a malformed host";
  if (!is_absolute && !head.target.starts_with('/') && head.target != "*") {
    return "the target of the request is malformed";
  }
  if (std::string problem = AuthorityProblem(head.host, other_host); !problem.empty()) {
    return problem;
  }
  return is_absolute ? AuthorityProblem(authority, other_host) : "";
}

std::string ClientInspector::AuthorityProblem(std::string_view authority,
                                              std::string& other_host) const {
  std::string host;
  std::uint16_t port = 0;
  if (!SplitHttpAuthority(authority, host, port)) return "the host of the request is malformed";
  if (host != rules_.host) {
    other_host = host;
    return absl::StrFormat("the request is for %s, which is not the host of the connection",
                           EscapeForDisplay(host));
  }
  if (port != 0 && port != rules_.port) {
    return absl::StrFormat("the request is for port %d, which is not that of the connection", port);
  }
  return "";
}

ClientInspector::Verdict ClientInspector::FeedServer(std::string_view bytes, std::string& out) {
  switch (switch_.Feed(bytes)) {
    case HttpSwitch::Answer::kNeedMore:
      return Verdict::kGoOn;
    case HttpSwitch::Answer::kNo:
      awaits_switch_ = false;
      return Verdict::kGoOn;
    case HttpSwitch::Answer::kYes:
      awaits_switch_ = false;
      ForwardAll(out);
      return Verdict::kRaw;
  }
  return Verdict::kRefuse;
}

ClientInspector::Verdict ClientInspector::RefuseTls(std::string reason, std::string other_host) {
  refusal_ = {std::move(reason), std::move(other_host), std::string(kTlsAccessDenied)};
  return Verdict::kRefuse;
}

ClientInspector::Verdict ClientInspector::RefuseHttp(int status, std::string reason,
                                                     std::string other_host) {
  std::string text = absl::StrFormat(
      "refused by cordon: %s.\nThe connection is to %s:%d, and only "
      "requests for that may use it.\n",
      reason, rules_.host, rules_.port);
  if (!other_host.empty()) {
    absl::StrAppendFormat(&text, "To allow the other: --net %s:%d\n", EscapeForDisplay(other_host),
                          rules_.port);
  }
  refusal_ = {std::move(reason), std::move(other_host), HttpRefusalAnswer(status, text)};
  return Verdict::kRefuse;
}

}  // namespace cordon::internal::egress
