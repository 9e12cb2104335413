// One execution's way out, in the loop: its resolver, its listeners and its connections.

#ifndef CORDON_NET_PROXY_SRC_SESSION_H_
#define CORDON_NET_PROXY_SRC_SESSION_H_

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "connection.h"
#include "cordon/sdk/egress.h"
#include "core.h"
#include "credential.h"
#include "decision.h"
#include "dns_message.h"
#include "dns_server.h"
#include "event_loop.h"
#include "expected_connections.h"
#include "farewell.h"
#include "front_connection.h"
#include "listener.h"
#include "name_table.h"
#include "session_record.h"
#include "syn_watch.h"

namespace cordon::internal::egress {

// Made and bound by any one thread; from `Open` on it belongs to the loop's.
class Session {
 public:
  Session(Core& core, EgressPlan plan, std::shared_ptr<SandboxNetwork> network,
          std::shared_ptr<SessionRecord> record);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Makes all sockets. kUnavailable names the address that cannot be bound.
  [[nodiscard]] absl::Status Bind();
  // Instead of `Bind`, where there is no network: an explicit front at `local`.
  [[nodiscard]] absl::StatusOr<std::uint16_t> BindFront(const Endpoint& local,
                                                        std::string_view credential);
  // Instead of `Bind`: a door (`EgressDoor`) at the host's loopback.
  [[nodiscard]] absl::StatusOr<std::uint16_t> BindDoor();
  // For a door: see `EgressDoor`.
  [[nodiscard]] int Expect(std::uint16_t source_port, const Endpoint& to);
  void Forget(std::uint16_t source_port) { expected_.Remove(source_port); }
  // Starts to accept.
  [[nodiscard]] absl::Status Open();

  // Takes note of what the command did before this call and nobody looked at yet.
  void CatchUp();
  // Of the connections that are open: those that ended did it by themselves.
  void NoteProtocols();
  // Ends the connections of what is not allowed any more.
  void Review();
  void Revoke(const NetworkTarget& target);

  // For the connections.
  [[nodiscard]] EventLoop& loop() { return *core_.loop; }
  [[nodiscard]] Lookups& lookups() { return core_.lookups; }
  [[nodiscard]] UpstreamTlsSet& tls() { return core_.tls; }
  [[nodiscard]] Relay::Shared& relays() { return core_.relays; }
  [[nodiscard]] const EgressProxyOptions& options() const { return core_.options; }
  [[nodiscard]] const DecisionTable& decisions() const { return decisions_; }
  [[nodiscard]] const std::shared_ptr<SandboxNetwork>& network() const { return network_; }
  void Ask(Connection& connection);
  void Deny(const NetworkTarget& target, const std::string& reason, const std::string& allow_with);
  void MarkUsed(const NetworkTarget& target);
  void MarkUsedByAddress(const NetworkTarget& target);
  void Log(std::vector<std::pair<std::string, std::string>> fields);
  // Destroys it at the end of the round.
  void Remove(Connection* connection);
  void RemoveFront(FrontConnection* front);
  [[nodiscard]] const Credential& credential() const { return credential_; }
  void AcceptAtFront(UniqueFd client, std::string input, bool is_known);
  void Connect(NetworkTarget target, UniqueFd client, ConnectionTerms terms);
  void SayFarewell(UniqueFd client, std::string_view words);

 private:
  static constexpr std::uint16_t kDnsPort = 53;

  struct Question {
    std::vector<Connection*> waiting;
    EventLoop::TimerId deadline = EventLoop::kNoTimer;
  };

  absl::Status BindResolver();
  void BindWatch();
  void OnConnect(const Endpoint& target);
  absl::Status BindPorts();
  absl::Status BindEveryPort();
  absl::Status BindGatewayPort(std::uint16_t port);
  absl::Status BindHostPort(std::uint16_t port);
  absl::Status BindPublishedPort(std::uint16_t port);
  absl::StatusOr<UniqueFd> NetworkSocket(SandboxNetwork::Side side, int family, int type,
                                         const char* address, std::uint16_t port,
                                         std::string_view what);
  void AddListener(UniqueFd fd, Listener::Accepted accepted);
  void Accept(Connection::Kind kind, NetworkTarget target, UniqueFd client,
              ConnectionTerms terms = {});
  void ResumeListeners(bool was_full);
  void AcceptInGateway(UniqueFd client);
  void AcceptAtDoor(UniqueFd client);
  [[nodiscard]] bool IsResolver(const Endpoint& to) const;
  [[nodiscard]] NetworkTarget TargetAt(const Endpoint& local) const;
  [[nodiscard]] bool IsFull() const;
  [[nodiscard]] std::string AnswerDns(std::string_view message);
  [[nodiscard]] std::string AnswerName(const DnsQuestion& question);
  void DenyName(const DnsQuestion& question);
  [[nodiscard]] bool MayAskAbout(const std::string& name) const;
  void ReviewLater();
  void OnAnswer(const NetworkTarget& target, const EgressDecision& decision);

  Core& core_;
  EgressPlan plan_;
  std::shared_ptr<SandboxNetwork> network_;
  std::shared_ptr<SessionRecord> record_;
  DecisionTable decisions_;
  NameTable names_;
  std::unique_ptr<DnsServer> dns_;
  std::unique_ptr<SynWatch> watch_;
  std::set<std::uint16_t> gateway_ports_;  // Where a listener decides about each connection.
  bool every_port_ = false;                // One does, about all.
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  std::unordered_map<FrontConnection*, std::unique_ptr<FrontConnection>> fronts_;
  std::unordered_map<Farewell*, std::unique_ptr<Farewell>> farewells_;
  Credential credential_{""};
  ExpectedConnections expected_;  // Of a door.
  std::map<NetworkTarget, Question> questions_;
  EventLoop::TimerId review_ = EventLoop::kNoTimer;
  std::shared_ptr<Session*> self_;  // So that a late answer finds out that nobody is here.
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_SESSION_H_
