#include "connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "session.h"
#include "socket_calls.h"

namespace cordon::internal::egress {

Connection::Connection(Session& session, Kind kind, NetworkTarget target, UniqueFd client,
                       ConnectionTerms terms)
    : session_(session),
      loop_(session.loop()),
      kind_(kind),
      target_(std::move(target)),
      client_(std::move(client)),
      terms_(std::move(terms)),
      started_(SteadyClock::now()) {}

Connection::~Connection() {
  if (watching_client_) loop_.Unwatch(client_.get(), this);
}

void Connection::Start() {
  SetNoDelay(client_.get());
  if (kind_ != Kind::kTarget) return StartDial();
  const EgressDecision decision = session_.decisions().Decide(target_);
  if (decision.verdict != EgressVerdict::kAsk) return OnDecision(decision);
  // Only a client that has gone away altogether is worth an event now.
  watching_client_ = loop_.Watch(client_.get(), 0, this);
  session_.Ask(*this);
}

// The client of a held or dialling connection has gone away.
void Connection::OnIo(std::uint32_t /*events*/) { Reset(); }

void Connection::OnDecision(const EgressDecision& decision) {
  rule_ = decision.rule;
  is_allowed_ = decision.verdict == EgressVerdict::kAllow;
  if (is_allowed_) return StartDial();
  session_.Deny(target_, decision.rule, AllowWith(target_));
  Fail(ConnectionFailure::kDenied,
       absl::StrCat("refused by cordon: ", NetworkTargetText(target_), ": ", decision.rule,
                    ".\nTo allow it: ", AllowWith(target_), "\n"));
}

void Connection::StartDial() {
  const auto timeout = session_.options().limits.dial_timeout;
  Dial::Done done = [this](Dial::Result result) { OnDialled(std::move(result)); };
  const Endpoint v4_loopback{IpAddress::V4(0x7f000001), target_.port};
  switch (kind_) {
    case Kind::kTarget:
      dial_ = std::make_unique<Dial>(loop_, session_.lookups(), session_.tls(),
                                     session_.decisions(), target_, timeout, std::move(done));
      return;
    case Kind::kHostPort:
      dial_ = std::make_unique<Dial>(
          loop_, std::vector<Endpoint>{v4_loopback},
          [](int family) { return MakeHostSocket(family, SOCK_STREAM); }, timeout, std::move(done));
      return;
    case Kind::kPublish: {
      const Endpoint v6_loopback{*IpAddress::Parse("::1"), target_.port};
      dial_ = std::make_unique<Dial>(
          loop_, std::vector<Endpoint>{v4_loopback, v6_loopback},
          [network = session_.network()](int family) {
            return network->MakeSocket(SandboxNetwork::Side::kSandbox, family, SOCK_STREAM);
          },
          timeout, std::move(done));
      return;
    }
  }
}

void Connection::OnDialled(Dial::Result result) {
  dial_.reset();
  address_ = result.endpoint.Text();
  if (!result.fd.valid()) return OnDialFailed(result);
  if (kind_ == Kind::kTarget) session_.MarkUsed(target_);
  if (result.was_judged) judged_ = result.endpoint;
  SetKeepAlive(result.fd.get());
  if (std::exchange(watching_client_, false)) loop_.Unwatch(client_.get(), this);
  Relay::Options options = RelayOptions();
  options.server_was_cut = std::move(result.was_cut);
  relay_ = std::make_unique<Relay>(session_.loop(), session_.relays(), std::move(client_),
                                   std::move(result.fd), std::move(options),
                                   [this](Relay::Outcome& outcome) { OnRelayEnded(outcome); });
  if (!relay_->Start()) Reset();
}

void Connection::OnDialFailed(const Dial::Result& result) {
  const std::string target = NetworkTargetText(target_);
  if (result.denied) {
    const std::string allow_with =
        absl::StrCat("--net ", result.endpoint.Text(), " beside --net ", target);
    session_.Deny(target_, result.problem, allow_with);
    return Fail(ConnectionFailure::kDenied,
                absl::StrCat("refused by cordon: ", target, ": ", result.problem,
                             ".\nTo allow it: ", allow_with, "\n"));
  }
  Log(absl::StrCat("failed: ", result.problem), {});
  Fail(result.error_number == ECONNREFUSED ? ConnectionFailure::kRefused
       : result.error_number == ETIMEDOUT  ? ConnectionFailure::kTimedOut
                                           : ConnectionFailure::kUnreachable,
       absl::StrCat("cordon cannot reach ", target, ": ", result.problem, "\n"));
}

Relay::Options Connection::RelayOptions() {
  Relay::Options options;
  const EgressLimits& limits = session_.options().limits;
  options.first_byte_timeout = limits.first_byte_timeout;
  options.greeting = std::move(terms_.greeting);
  options.early = std::move(terms_.early);
  // An address was granted as such: whatever names it has are as good as it.
  const bool any_name = kind_ != Kind::kTarget || target_.is_address;
  if (any_name && !terms_.is_forward) return options;
  InspectorRules rules;
  rules.host = target_.host;
  rules.port = target_.port;
  rules.is_forward = terms_.is_forward;
  rules.max_head_bytes = limits.max_head_bytes;
  rules.allow_encrypted_hello = session_.options().allow_encrypted_client_hello;
  options.refused = [this](const ClientInspector::Refusal& refusal) { RecordRefusal(refusal); };
  options.inspector = std::make_unique<ClientInspector>(std::move(rules));
  return options;
}

void Connection::OnRelayEnded(Relay::Outcome& outcome) {
  Log(!cut_.empty()     ? absl::StrCat("cut: ", cut_)
      : outcome.refused ? absl::StrCat("refused: ", outcome.refusal.reason)
                        : "allowed",
      outcome);
  NoteProtocol();
  if (outcome.client.valid()) {
    session_.AcceptAtFront(std::move(outcome.client), std::move(outcome.rest), true);
  }
  session_.Remove(this);
}

std::string Connection::ProblemSince(const EgressDecision& decision) const {
  switch (decision.verdict) {
    case EgressVerdict::kDeny:
      return decision.rule;
    case EgressVerdict::kAsk:
      return absl::StrCat("no longer allowed: ", rule_);
    case EgressVerdict::kAllow:
      break;
  }
  return judged_.has_value() ? session_.decisions().AddressProblem(*judged_) : "";
}

void Connection::Cut(const std::string& reason) {
  cut_ = reason;
  session_.Deny(target_, absl::StrCat("cut: ", reason), AllowWith(target_));
  if (relay_ != nullptr) return relay_->Cut();
  Log(absl::StrCat("cut: ", reason), {});
  Reset();
}

void Connection::NoteProtocol() const {
  const bool is_target = kind_ == Kind::kTarget && relay_ != nullptr;
  if (is_target && relay_->names_no_host()) session_.MarkUsedByAddress(target_);
}

void Connection::RecordRefusal(const ClientInspector::Refusal& refusal) {
  NetworkTarget refused = target_;
  if (!refusal.other_host.empty()) {
    NetworkTarget other = target_;
    other.host = refusal.other_host;
    const absl::StatusOr<NetworkTarget> parsed = ParseNetworkTarget(NetworkTargetText(other));
    if (parsed.ok()) refused = *parsed;
  }
  session_.Deny(
      refused,
      absl::StrCat("on a connection to ", NetworkTargetText(target_), ": ", refusal.reason),
      AllowWith(refused));
}

void Connection::Log(const std::string& verdict, const Relay::Outcome& outcome) {
  const auto duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - started_);
  std::vector<std::pair<std::string, std::string>> fields = {
      {"target", absl::StrCat("tcp:", NetworkTargetText(target_))},
      {"verdict", verdict},
      {"rule", kind_ == Kind::kTarget     ? rule_
               : kind_ == Kind::kHostPort ? "host port"
                                          : "published port"},
      {"address", address_},
      {"protocol", outcome.protocol},
      {"bytes_up", absl::StrCat(outcome.bytes_up)},
      {"bytes_down", absl::StrCat(outcome.bytes_down)},
      {"duration_ms", absl::StrCat(duration.count())},
  };
  session_.Log(std::move(fields));
}

void Connection::Fail(ConnectionFailure failure, const std::string& text) {
  if (terms_.answer == nullptr) return Reset();
  if (std::exchange(watching_client_, false)) loop_.Unwatch(client_.get(), this);
  session_.SayFarewell(std::move(client_), terms_.answer(failure, text));
  session_.Remove(this);
}

void Connection::Reset() {
  if (client_.valid()) SetResetOnClose(client_.get());
  session_.Remove(this);
}

}  // namespace cordon::internal::egress
