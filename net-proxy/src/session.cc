#include "session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/address_class.h"
#include "cordon/sdk/status.h"
#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

constexpr std::uint32_t kTtlSeconds = 60;
// A command that tries many targets must not bury a person in questions.
constexpr std::size_t kMaxQuestions = 32;
constexpr std::chrono::milliseconds kReviewEvery{500};

}  // namespace

Session::Session(Core& core, EgressPlan plan, std::shared_ptr<SandboxNetwork> network,
                 std::shared_ptr<SessionRecord> record)
    : core_(core),
      plan_(std::move(plan)),
      network_(std::move(network)),
      record_(std::move(record)),
      decisions_(plan_.execution_id, plan_.targets, plan_.gated, core.options.authorizer,
                 &core.options.overrides, &core.routes),
      names_(core.options.limits.max_names),
      self_(std::make_shared<Session*>(this)) {
  for (const NetworkTarget& target : plan_.denied) {
    decisions_.Withdraw(target, absl::StrCat("denied: ", NetworkTargetText(target)));
  }
}

Session::~Session() {
  for (auto& [target, question] : questions_) loop().Cancel(question.deadline);
  loop().Cancel(review_);
  connections_.clear();
  fronts_.clear();
  farewells_.clear();
}

void Session::OnConnect(const Endpoint& endpoint) {
  const NetworkTarget target = TargetAt(endpoint);
  const bool is_ours = endpoint.ip.Text() == kGatewayAddress && endpoint.port == kDnsPort;
  const bool is_local = names_.IsSynthetic(endpoint.ip) || decisions_.CoveringTarget(target) ||
                        endpoint.ip.Text() == kGatewayAddress;
  // Loopback is the sandbox's own, seen only where both sides are one namespace.
  const bool is_loopback = ClassifyAddress(endpoint.ip) == AddressClass::kLoopback;
  if (is_ours || is_loopback) return;
  // Its listener decides.
  if (is_local && (every_port_ || gateway_ports_.contains(endpoint.port))) return;
  Deny(target, "not granted", AllowWith(target));
}

void Session::AddListener(UniqueFd fd, Listener::Accepted accepted) {
  listeners_.push_back(std::make_unique<Listener>(
      loop(), std::move(fd), [this] { return !IsFull(); }, std::move(accepted)));
}

absl::Status Session::Open() {
  bool watched = (dns_ == nullptr || dns_->Start()) && (watch_ == nullptr || watch_->Start());
  for (const std::unique_ptr<Listener>& listener : listeners_) {
    watched = watched && listener->Start();
  }
  return watched ? absl::OkStatus()
                 : MakeError(ErrorCode::kUnavailable,
                             "the kernel watches no more sockets for the egress proxy");
}

void Session::CatchUp() {
  if (watch_ != nullptr) watch_->OnIo(0);
  for (const std::unique_ptr<Listener>& listener : listeners_) listener->OnIo(0);
}

bool Session::IsFull() const {
  const std::size_t open = connections_.size() + fronts_.size() + farewells_.size();
  return open >= core_.options.limits.max_connections;
}

void Session::Accept(Connection::Kind kind, NetworkTarget target, UniqueFd client,
                     ConnectionTerms terms) {
  auto connection = std::make_unique<Connection>(*this, kind, std::move(target), std::move(client),
                                                 std::move(terms));
  Connection* const raw = connection.get();
  connections_.emplace(raw, std::move(connection));
  ReviewLater();
  raw->Start();
}

// Rules change and end while connections are open, and nobody says so.
void Session::ReviewLater() {
  if (review_ != EventLoop::kNoTimer || core_.options.authorizer == nullptr) return;
  if (connections_.empty()) return;
  review_ = loop().After(kReviewEvery, [this] {
    review_ = EventLoop::kNoTimer;
    Review();
    ReviewLater();
  });
}

void Session::Review() {
  std::map<NetworkTarget, EgressDecision> decided;  // Many connections, few targets.
  std::vector<std::pair<Connection*, std::string>> ended;
  for (const auto& [raw, connection] : connections_) {
    if (!raw->is_allowed()) continue;
    auto [decision, is_new] = decided.try_emplace(raw->target());
    if (is_new) decision->second = decisions_.Decide(raw->target());
    std::string problem = raw->ProblemSince(decision->second);
    if (!problem.empty()) ended.emplace_back(raw, std::move(problem));
  }
  for (const auto& [connection, problem] : ended) connection->Cut(problem);
}

void Session::Revoke(const NetworkTarget& target) {
  decisions_.Withdraw(target, absl::StrCat("revoked: ", NetworkTargetText(target)));
  Review();
}

void Session::AcceptAtFront(UniqueFd client, std::string input, bool is_known) {
  auto front =
      std::make_unique<FrontConnection>(*this, std::move(client), std::move(input), is_known);
  FrontConnection* const raw = front.get();
  fronts_.emplace(raw, std::move(front));
  raw->Start();
}

void Session::Connect(NetworkTarget target, UniqueFd client, ConnectionTerms terms) {
  Accept(Connection::Kind::kTarget, std::move(target), std::move(client), std::move(terms));
}

void Session::SayFarewell(UniqueFd client, std::string_view words) {
  auto farewell = std::make_unique<Farewell>(loop(), std::move(client), [this](Farewell* over) {
    const bool was_full = IsFull();
    loop().Retire(std::move(farewells_.extract(over).mapped()));
    ResumeListeners(was_full);
  });
  Farewell* const raw = farewell.get();
  farewells_.emplace(raw, std::move(farewell));
  raw->Start(words);
}

void Session::RemoveFront(FrontConnection* front) {
  const bool was_full = IsFull();
  auto node = fronts_.extract(front);
  if (node.empty()) return;
  loop().Retire(std::move(node.mapped()));
  ResumeListeners(was_full);
}

void Session::ResumeListeners(bool was_full) {
  if (!was_full || IsFull()) return;
  for (const std::unique_ptr<Listener>& listener : listeners_) listener->Resume();
}

void Session::AcceptInGateway(UniqueFd client) {
  NetworkTarget target = TargetAt(LocalEndpoint(client.get()));
  Accept(Connection::Kind::kTarget, std::move(target), std::move(client));
}

NetworkTarget Session::TargetAt(const Endpoint& local) const {
  if (const std::string* name = names_.NameAt(local.ip); name != nullptr) {
    return {.host = *name, .port = local.port, .is_address = false};
  }
  return {.host = local.ip.Text(), .port = local.port, .is_address = true};
}

void Session::Remove(Connection* connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  if (const auto question = questions_.find(connection->target()); question != questions_.end()) {
    std::erase(question->second.waiting, connection);
  }
  const bool was_full = IsFull();
  loop().Retire(std::move(found->second));
  connections_.erase(found);
  ResumeListeners(was_full);
}

void Session::Ask(Connection& connection) {
  const NetworkTarget target = connection.target();
  if (questions_.size() >= kMaxQuestions && !questions_.contains(target)) {
    return connection.OnDecision({EgressVerdict::kDeny, "too many questions wait for an answer"});
  }
  const auto [question, is_new] = questions_.try_emplace(target);
  question->second.waiting.push_back(&connection);
  if (!is_new) return;
  question->second.deadline = loop().After(core_.options.limits.ask_timeout, [this, target] {
    questions_.at(target).deadline = EventLoop::kNoTimer;
    OnAnswer(target, {EgressVerdict::kDeny, "nobody answered in time"});
  });
  core_.askers.Submit([authorizer = core_.options.authorizer, id = plan_.execution_id, target,
                       tasks = loop().tasks(), self = std::weak_ptr<Session*>(self_)] {
    authorizer->Ask(id, target, [target, tasks, self](EgressDecision decision) {
      tasks->Post([target, decision = std::move(decision), self] {
        if (const auto session = self.lock()) (*session)->OnAnswer(target, decision);
      });
    });
  });
}

void Session::OnAnswer(const NetworkTarget& target, const EgressDecision& answer) {
  EgressDecision decision = answer;
  if (decision.verdict == EgressVerdict::kAsk) decision.verdict = EgressVerdict::kDeny;
  decisions_.Remember(target, decision);
  auto question = questions_.extract(target);
  if (question.empty()) return;  // Too late for those who waited, not for the next.
  loop().Cancel(question.mapped().deadline);
  for (Connection* connection : question.mapped().waiting) connection->OnDecision(decision);
}

std::string Session::AnswerDns(std::string_view message) {
  const std::optional<DnsQuestion> question = ParseDnsQuestion(message);
  if (!question.has_value()) return "";
  if (question->problem != DnsCode::kNoError) return DnsNegative(*question, question->problem);
  return AnswerName(*question);
}

bool Session::MayAskAbout(const std::string& name) const {
  // A single label is this host's own name far more often than a target.
  return decisions_.asks() && name.find('.') != std::string::npos && !name.ends_with(".arpa") &&
         ParseNetworkTarget(name + ":443").ok();
}

std::string Session::AnswerName(const DnsQuestion& question) {
  const bool wants_v4 = question.type == kDnsTypeA;
  if (question.name == "localhost") {  // RFC 6761 section 6.3
    if (wants_v4) return DnsAddress(question, IpAddress::V4(0x7f000001), kTtlSeconds);
    if (question.type == kDnsTypeAaaa) {
      return DnsAddress(question, *IpAddress::Parse("::1"), kTtlSeconds);
    }
    return DnsNegative(question, DnsCode::kNoError);
  }
  if (!decisions_.NameIsGranted(question.name) && !MayAskAbout(question.name)) {
    DenyName(question);
    return DnsNegative(question, DnsCode::kNameError);
  }
  if (!wants_v4) return DnsNegative(question, DnsCode::kNoError);
  const std::optional<IpAddress> address = names_.AddressOf(question.name);
  if (!address.has_value()) {
    record_->Deny(absl::StrCat("name:", question.name), "more names than one execution may resolve",
                  AllowWith({.host = question.name, .port = 0, .is_address = false}));
    return DnsNegative(question, DnsCode::kServerFailure);
  }
  return DnsAddress(question, *address, kTtlSeconds);
}

void Session::DenyName(const DnsQuestion& question) {
  // Reverse look-ups are made by programs that mean no target.
  if (question.name.empty() || question.name.ends_with(".arpa")) return;
  // A service of a host (RFC 2782) is asked for before the host itself.
  std::string name = question.name;
  while (name.starts_with('_') && name.find('.') != std::string::npos) {
    name.erase(0, name.find('.') + 1);
  }
  const bool is_service = name != question.name;
  if (is_service && decisions_.NameIsGranted(name)) return;
  const std::string target = absl::StrCat("name:", name);
  const std::string allow_with = AllowWith({.host = name, .port = 0, .is_address = false});
  // Most programs ask for both kinds of address at once: that is one attempt.
  const bool first = question.type == kDnsTypeAaaa || is_service
                         ? record_->Note(target, "not granted", allow_with)
                         : record_->Deny(target, "not granted", allow_with);
  if (first) Log({{"target", target}, {"verdict", "denied"}, {"rule", "not granted"}});
}

void Session::Deny(const NetworkTarget& target, const std::string& reason,
                   const std::string& allow_with) {
  const std::string text = absl::StrCat("tcp:", NetworkTargetText(target));
  if (record_->Deny(text, reason, allow_with)) {
    Log({{"target", text}, {"verdict", "denied"}, {"rule", reason}});
  }
}

void Session::MarkUsed(const NetworkTarget& target) {
  if (const auto granted = decisions_.CoveringTarget(target); granted.has_value()) {
    record_->Use(*granted);
  } else {
    record_->Approve(target);
  }
}

void Session::NoteProtocols() {
  for (const auto& [raw, connection] : connections_) connection->NoteProtocol();
}

void Session::MarkUsedByAddress(const NetworkTarget& target) {
  if (const auto granted = decisions_.CoveringTarget(target); granted.has_value()) {
    record_->UseByAddress(*granted);
  } else {
    record_->UseByAddress(target);
  }
}

void Session::Log(std::vector<std::pair<std::string, std::string>> fields) {
  core_.log.Append({"egress", plan_.execution_id, std::move(fields)});
}

}  // namespace cordon::internal::egress
