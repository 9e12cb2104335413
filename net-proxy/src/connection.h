// One accepted connection on its way to where it goes: held while somebody is asked, dialled,
// relayed, logged. Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_CONNECTION_H_
#define CORDON_NET_PROXY_SRC_CONNECTION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cordon/sdk/egress.h"
#include "cordon/sdk/unique_fd.h"
#include "dial.h"
#include "event_loop.h"
#include "relay.h"

namespace cordon::internal::egress {

class Session;

enum class ConnectionFailure : std::uint8_t { kDenied = 0, kUnreachable, kRefused, kTimedOut };

// What a client of an explicit front gets and has said beside the bytes that are relayed.
struct ConnectionTerms {
  std::string greeting;     // When the target is reached.
  std::string early;        // Of the client, read already.
  bool is_forward = false;  // HTTP requests in absolute form.
  // What a client is told that does not get there. Null: its connection is reset.
  std::function<std::string(ConnectionFailure, const std::string& text)> answer;
};

class Connection final : public IoHandler {
 public:
  enum class Kind : std::uint8_t {
    kTarget,    // To `target`, if that is allowed.
    kHostPort,  // To the host's own 127.0.0.1 at the target's port.
    kPublish,   // To what listens in the sandbox at the target's port.
  };

  Connection(Session& session, Kind kind, NetworkTarget target, UniqueFd client,
             ConnectionTerms terms);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // May end the connection at once.
  void Start();
  // The answer to a question that it waits for.
  void OnDecision(const EgressDecision& decision);

  [[nodiscard]] const NetworkTarget& target() const { return target_; }

  // Whether it was decided, and by name and port at all.
  [[nodiscard]] bool is_allowed() const { return is_allowed_; }
  // Why it would not be allowed now, when `decision` is what holds for its target now; empty when
  // it would.
  [[nodiscard]] std::string ProblemSince(const EgressDecision& decision) const;
  // Resets both sides. The report and the log say `reason`.
  void Cut(const std::string& reason);

  // Tells the session when what was said so far names no host.
  void NoteProtocol() const;

 private:
  void OnIo(std::uint32_t events) override;
  void StartDial();
  void OnDialled(Dial::Result result);
  void OnDialFailed(const Dial::Result& result);
  [[nodiscard]] Relay::Options RelayOptions();
  void OnRelayEnded(Relay::Outcome& outcome);
  void RecordRefusal(const ClientInspector::Refusal& refusal);
  void Log(const std::string& verdict, const Relay::Outcome& outcome);
  void Fail(ConnectionFailure failure, const std::string& text);
  void Reset();

  Session& session_;
  EventLoop& loop_;  // Outlives the session, which is gone when this is retired with it.
  Kind kind_;
  NetworkTarget target_;
  UniqueFd client_;
  ConnectionTerms terms_;
  bool watching_client_ = false;
  bool is_allowed_ = false;
  std::optional<Endpoint> judged_;  // The address that its name led to.
  std::string cut_;                 // Why it was.
  std::string rule_;
  std::string address_;
  SteadyTime started_;
  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_CONNECTION_H_
