#include "front_connection.h"

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "http_forward.h"
#include "http_refusal.h"
#include "session.h"
#include "socket_calls.h"
#include "socks5.h"

namespace cordon::internal::egress {
namespace {

constexpr std::size_t kReadBytes = std::size_t{16} * 1024;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

std::string HttpAnswer(ConnectionFailure failure, const std::string& text) {
  return HttpRefusalAnswer(failure == ConnectionFailure::kDenied     ? 403
                           : failure == ConnectionFailure::kTimedOut ? 504
                                                                     : 502,
                           text);
}

std::string SocksAnswer(ConnectionFailure failure, const std::string& /*text*/) {
  switch (failure) {
    case ConnectionFailure::kDenied:
      return SocksReplyBytes(SocksReply::kNotAllowed);
    case ConnectionFailure::kUnreachable:
      return SocksReplyBytes(SocksReply::kHostUnreachable);
    case ConnectionFailure::kRefused:
      return SocksReplyBytes(SocksReply::kRefused);
    case ConnectionFailure::kTimedOut:
      return SocksReplyBytes(SocksReply::kTimedOut);
  }
  return SocksReplyBytes(SocksReply::kFailed);
}

}  // namespace

FrontConnection::FrontConnection(Session& session, UniqueFd client, std::string input,
                                 bool is_known)
    : session_(session),
      loop_(session.loop()),
      client_(std::move(client)),
      input_(std::move(input)),
      is_known_(is_known) {}

FrontConnection::~FrontConnection() {
  loop_.Cancel(deadline_);
  if (client_.valid()) loop_.Unwatch(client_.get(), this);
}

void FrontConnection::Start() {
  SetNoDelay(client_.get());
  deadline_ = loop_.After(session_.options().limits.first_byte_timeout, [this] {
    deadline_ = EventLoop::kNoTimer;
    Leave();
  });
  if (!loop_.Watch(client_.get(), EPOLLIN, this)) return Leave();
  Advance();
}

void FrontConnection::OnIo(std::uint32_t /*events*/) {
  char bytes[kReadBytes];
  const ssize_t count = Receive(client_.get(), bytes, sizeof bytes);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) return Leave();
  input_.append(bytes, static_cast<std::size_t>(count));
  Advance();
}

void FrontConnection::Advance() {
  while (!input_.empty() && !is_over_ && Step()) {
  }
}

bool FrontConnection::Step() {
  switch (stage_) {
    case Stage::kFirst:
      stage_ = input_[0] == 5 ? Stage::kSocksGreeting : Stage::kHttp;
      return true;
    case Stage::kHttp:
      return TakeHttp();
    case Stage::kSocksGreeting:
      return TakeSocksGreeting();
    case Stage::kSocksPassword:
      return TakeSocksPassword();
    case Stage::kSocksRequest:
      return TakeSocksRequest();
  }
  return false;
}

bool FrontConnection::TakeHttp() {
  const HttpHeadResult result =
      ParseHttpHead(input_, session_.options().limits.max_head_bytes, scanned_);
  if (result.state == HttpHeadResult::State::kNeedMore) return false;
  if (result.state == HttpHeadResult::State::kMalformed) {
    return RefuseHttp(400, absl::StrCat("refused by cordon: ", result.problem, "\n"));
  }
  is_known_ = is_known_ || session_.credential().MatchesBasic(ProxyAuthorization(result.head));
  if (!is_known_) {
    return RefuseHttp(407, "refused by cordon: the proxy's user name and password are needed\n",
                      "Proxy-Authenticate: Basic realm=\"cordon\"\r\n");
  }
  return TakeHttpTarget(result.head, result.size);
}

bool FrontConnection::TakeHttpTarget(const HttpHead& head, std::size_t size) {
  const bool is_connect = head.method == "CONNECT";
  absl::StatusOr<NetworkTarget> target = is_connect ? ConnectTarget(head) : ForwardTarget(head);
  if (!target.ok()) {
    return RefuseHttp(400, absl::StrCat("refused by cordon: ", MessageOf(target.status()), "\n"));
  }
  if (IsPattern(*target)) {
    return RefuseHttp(400, "refused by cordon: a pattern is no host\n");
  }
  ConnectionTerms terms;
  terms.answer = HttpAnswer;
  if (is_connect) {
    input_.erase(0, size);
    terms.greeting = "HTTP/1.1 200 Connection established\r\n\r\n";
  } else {
    terms.is_forward = true;
  }
  return GoTo(*std::move(target), std::move(terms));
}

bool FrontConnection::TakeSocksGreeting() {
  const SocksGreeting greeting = ParseSocksGreeting(input_);
  if (greeting.state == SocksState::kNeedMore) return false;
  if (greeting.state == SocksState::kMalformed) return Refuse("");
  const bool needs_password = session_.credential().needed() && !is_known_;
  if (needs_password ? !greeting.offers_password : !greeting.offers_none) {
    return Refuse("\x05\xff");
  }
  input_.erase(0, greeting.size);
  stage_ = needs_password ? Stage::kSocksPassword : Stage::kSocksRequest;
  return Say({needs_password ? "\5\2" : "\5\0", 2});
}

bool FrontConnection::TakeSocksPassword() {
  const SocksPassword given = ParseSocksPassword(input_);
  if (given.state == SocksState::kNeedMore) return false;
  if (given.state == SocksState::kMalformed ||
      !session_.credential().MatchesPassword(given.user, given.password)) {
    return Refuse("\1\1");
  }
  input_.erase(0, given.size);
  stage_ = Stage::kSocksRequest;
  return Say({"\1\0", 2});
}

bool FrontConnection::TakeSocksRequest() {
  const SocksRequest request = ParseSocksRequest(input_);
  if (request.state == SocksState::kNeedMore) return false;
  if (request.state == SocksState::kMalformed) return Refuse(SocksReplyBytes(SocksReply::kFailed));
  if (request.command != kSocksConnect) {
    return Refuse(SocksReplyBytes(SocksReply::kCommandNotSupported));
  }
  if (!request.known_address) return Refuse(SocksReplyBytes(SocksReply::kAddressNotSupported));
  absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(request.target);
  if (!target.ok() || IsPattern(*target)) {
    return Refuse(SocksReplyBytes(SocksReply::kFailed));
  }
  input_.erase(0, request.size);
  ConnectionTerms terms;
  terms.answer = SocksAnswer;
  terms.greeting = SocksReplyBytes(SocksReply::kSucceeded);
  return GoTo(*std::move(target), std::move(terms));
}

bool FrontConnection::Say(std::string_view bytes) {
  // Two bytes into an empty buffer.
  if (Send(client_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
    return true;
  }
  Leave();
  return false;
}

bool FrontConnection::RefuseHttp(int status, std::string_view text, std::string_view fields) {
  return Refuse(HttpRefusalAnswer(status, text, fields));
}

bool FrontConnection::Refuse(const std::string& words) {
  loop_.Unwatch(client_.get(), this);
  session_.SayFarewell(std::move(client_), words);
  Leave();
  return false;
}

bool FrontConnection::GoTo(NetworkTarget target, ConnectionTerms terms) {
  loop_.Unwatch(client_.get(), this);
  terms.early = std::move(input_);
  input_.clear();
  session_.Connect(std::move(target), std::move(client_), std::move(terms));
  Leave();
  return false;
}

void FrontConnection::Leave() {
  is_over_ = true;
  loop_.Cancel(deadline_);
  session_.RemoveFront(this);
}

}  // namespace cordon::internal::egress
