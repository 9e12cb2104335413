#include "dial.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

// RFC 8305 section 5: the next address is tried beside one that does not answer.
constexpr std::chrono::milliseconds kStagger{250};
constexpr std::size_t kMaxAddresses = 16;

}  // namespace

Dial::Dial(EventLoop& loop, Lookups& lookups, UpstreamTlsSet& tls, const DecisionTable& decisions,
           NetworkTarget target, std::chrono::milliseconds timeout, Done done)
    : loop_(loop),
      lookups_(&lookups),
      decisions_(&decisions),
      target_(std::move(target)),
      tls_(&tls),
      make_socket_([](int family) { return MakeHostSocket(family, SOCK_STREAM); }),
      done_(std::move(done)) {
  SetDeadline(timeout);
  if (const std::optional<Endpoint> fixed = decisions_->Override(target_); fixed.has_value()) {
    endpoints_.push_back(*fixed);
    TryNext();
    return;
  }
  proxy_ = decisions_->ProxyFor(target_);
  const std::string& host = proxy_ != nullptr ? proxy_->proxy_host : target_.host;
  if (const std::optional<IpAddress> ip = IpAddress::Parse(host); ip.has_value()) {
    endpoints_.push_back({*ip, proxy_ != nullptr ? proxy_->proxy_port : target_.port});
    TryNext();
    return;
  }
  ticket_ = lookups_->Start(host, [this](const Lookups::Result& result) { TakeAddresses(result); });
}

Dial::Dial(EventLoop& loop, std::vector<Endpoint> endpoints, MakeSocket make_socket,
           std::chrono::milliseconds timeout, Done done)
    : loop_(loop),
      make_socket_(std::move(make_socket)),
      done_(std::move(done)),
      endpoints_(std::move(endpoints)) {
  SetDeadline(timeout);
  TryNext();
}

void Dial::SetDeadline(std::chrono::milliseconds timeout) {
  deadline_ = loop_.After(timeout, [this] {
    deadline_ = EventLoop::kNoTimer;
    last_.error_number = ETIMEDOUT;
    Fail("no answer in time", false);
  });
}

Dial::~Dial() {
  loop_.Cancel(deadline_);
  loop_.Cancel(stagger_);
  if (ticket_ != 0) lookups_->Cancel(ticket_);
  if (handshake_ != nullptr) handshake_->Abandon();
  for (const std::unique_ptr<Attempt>& attempt : attempts_) {
    if (attempt->fd.valid()) loop_.Unwatch(attempt->fd.get(), attempt.get());
  }
}

void Dial::TakeAddresses(const Lookups::Result& result) {
  ticket_ = 0;
  if (!result.ok()) return Fail(std::string(result.status().message()), false);
  std::string refused;
  for (const std::string& text : *result) {
    const std::optional<IpAddress> ip = IpAddress::Parse(text);
    if (!ip.has_value() || endpoints_.size() == kMaxAddresses) continue;
    const Endpoint endpoint{*ip, proxy_ != nullptr ? proxy_->proxy_port : target_.port};
    // The proxy itself was configured, wherever it is.
    std::string problem = proxy_ != nullptr ? "" : decisions_->AddressProblem(endpoint);
    if (!problem.empty()) {
      last_.endpoint = endpoint;
      refused = std::move(problem);
    } else {
      endpoints_.push_back(endpoint);
    }
  }
  was_judged_ = proxy_ == nullptr;
  if (endpoints_.empty() && !refused.empty()) return Fail(std::move(refused), true);
  if (endpoints_.empty()) return Fail("the name has no address", false);
  TryNext();
}

void Dial::TryNext() {
  loop_.Cancel(stagger_);
  while (next_ < endpoints_.size()) {
    auto attempt = std::make_unique<Attempt>();
    attempt->dial = this;
    attempt->endpoint = endpoints_[next_++];
    last_.endpoint = attempt->endpoint;
    absl::StatusOr<UniqueFd> fd = make_socket_(attempt->endpoint.ip.is_v6 ? AF_INET6 : AF_INET);
    const std::optional<Error> error = ErrorOf(fd.status());
    last_.error_number = error.has_value() ? error->error_number : 0;
    if (!fd.ok()) continue;
    attempt->fd = *std::move(fd);
    SetNoDelay(attempt->fd.get());
    const int started = StartConnect(attempt->fd.get(), attempt->endpoint);
    last_.error_number = started;
    if (started != 0 && started != EINPROGRESS) continue;
    // Also when it is connected already: the event tells.
    if (!loop_.Watch(attempt->fd.get(), EPOLLOUT | EPOLLONESHOT, attempt.get())) continue;
    ++open_attempts_;
    attempts_.push_back(std::move(attempt));
    if (next_ < endpoints_.size()) {
      stagger_ = loop_.After(kStagger, [this] {
        stagger_ = EventLoop::kNoTimer;
        TryNext();
      });
    }
    return;
  }
  if (open_attempts_ > 0) return;
  // Not from here: the caller may be the constructor.
  loop_.Cancel(deadline_);
  deadline_ = loop_.After(std::chrono::milliseconds(0), [this] {
    deadline_ = EventLoop::kNoTimer;
    Fail("", false);
  });
}

void Dial::Attempt::OnIo(std::uint32_t /*events*/) { dial->OnAttempt(*this); }

void Dial::OnAttempt(Attempt& attempt) {
  const int error = PendingError(attempt.fd.get());
  loop_.Unwatch(attempt.fd.get(), &attempt);
  --open_attempts_;
  if (error == 0) return OnConnected(attempt);
  attempt.fd.Reset();
  last_.error_number = error;
  if (is_asking_) return;
  last_.endpoint = attempt.endpoint;
  TryNext();
}

void Dial::OnConnected(Attempt& attempt) {
  Result result;
  result.fd = std::move(attempt.fd);
  result.endpoint = attempt.endpoint;
  result.was_judged = was_judged_;
  if (proxy_ == nullptr) return Finish(std::move(result));
  loop_.Cancel(stagger_);
  if (std::exchange(is_asking_, true)) return;  // Another attempt was first.
  last_.endpoint = result.endpoint;
  if (!proxy_->tls) return AskProxy(std::move(result.fd));
  handshake_ = tls_->Add(std::move(result.fd), [this](UniqueFd plain, std::string problem) {
    was_cut_ = std::exchange(handshake_, nullptr)->was_cut();
    if (!problem.empty()) return Fail(std::move(problem), false);
    AskProxy(std::move(plain));
  });
}

void Dial::AskProxy(UniqueFd fd) {
  upstream_ = std::make_unique<UpstreamConnect>(loop_, std::move(fd),
                                                ConnectRequest(target_, proxy_->credential),
                                                [this](UniqueFd tunnel, std::string problem) {
                                                  if (!problem.empty()) {
                                                    return Fail(std::move(problem), false);
                                                  }
                                                  Result result;
                                                  result.fd = std::move(tunnel);
                                                  result.endpoint = last_.endpoint;
                                                  result.was_cut = was_cut_;
                                                  Finish(std::move(result));
                                                });
  if (!upstream_->Start()) Fail("the upstream proxy cannot be asked", false);
}

void Dial::Fail(std::string problem, bool denied) {
  last_.denied = denied;
  last_.problem = std::move(problem);
  if (last_.problem.empty()) {
    const absl::Status cause = MakeErrnoError(
        last_.error_number, absl::StrFormat("cannot connect to %s", last_.endpoint.Text()));
    last_.problem = std::string(cause.message());
  }
  Finish(std::move(last_));
}

void Dial::Finish(Result result) {
  const std::function<void(Result)> done = std::move(done_);
  done(std::move(result));  // This may be gone now.
}

}  // namespace cordon::internal::egress
