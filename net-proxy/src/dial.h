// One connection being made to an allowed target: looked up once, every address judged, and then
// those addresses dialled, never the name again. Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_DIAL_H_
#define CORDON_NET_PROXY_SRC_DIAL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cordon/sdk/network_target.h"
#include "cordon/sdk/unique_fd.h"
#include "decision.h"
#include "endpoint.h"
#include "event_loop.h"
#include "lookups.h"
#include "upstream_connect.h"
#include "upstream_tls.h"

namespace cordon::internal::egress {

class Dial {
 public:
  struct Result {
    UniqueFd fd;              // Connected and not watched; not valid when that failed.
    Endpoint endpoint;        // What was reached, or tried last.
    std::string problem;      // Why not.
    bool was_judged = false;  // The address is one that the name led to, and that may be so.
    bool denied = false;      // By an address that the target must not lead to.
    int error_number = 0;     // Of the last attempt.
    std::shared_ptr<const bool> was_cut;  // See Relay::Options::server_was_cut.
  };

  // A new non-blocking stream socket of a family.
  using MakeSocket = std::function<absl::StatusOr<UniqueFd>(int family)>;
  using Done = std::function<void(Result)>;

  // To a target that was allowed. `done` is called once, later, unless the dial is destroyed
  // before; it may destroy the dial.
  Dial(EventLoop& loop, Lookups& lookups, UpstreamTlsSet& tls, const DecisionTable& decisions,
       NetworkTarget target, std::chrono::milliseconds timeout, Done done);
  // To the first of `endpoints` that answers, with sockets of `make_socket`.
  Dial(EventLoop& loop, std::vector<Endpoint> endpoints, MakeSocket make_socket,
       std::chrono::milliseconds timeout, Done done);
  ~Dial();
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

 private:
  struct Attempt final : IoHandler {
    void OnIo(std::uint32_t events) override;
    Dial* dial = nullptr;
    UniqueFd fd;
    Endpoint endpoint;
  };

  void SetDeadline(std::chrono::milliseconds timeout);
  void OnConnected(Attempt& attempt);
  void AskProxy(UniqueFd fd);
  void TakeAddresses(const Lookups::Result& result);
  void TryNext();
  void OnAttempt(Attempt& attempt);
  void Finish(Result result);
  void Fail(std::string problem, bool denied);

  EventLoop& loop_;
  Lookups* lookups_ = nullptr;
  const DecisionTable* decisions_ = nullptr;
  NetworkTarget target_;
  const EgressRoute* proxy_ = nullptr;  // Connected to first, and asked for a tunnel.
  bool is_asking_ = false;              // One attempt has reached it.
  UpstreamTlsSet* tls_ = nullptr;
  UpstreamTls* handshake_ = nullptr;  // While it is waited for.
  std::shared_ptr<const bool> was_cut_;
  std::unique_ptr<UpstreamConnect> upstream_;
  MakeSocket make_socket_;
  Done done_;
  Lookups::Ticket ticket_ = 0;
  bool was_judged_ = false;
  std::vector<Endpoint> endpoints_;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::size_t open_attempts_ = 0;
  Result last_;
  EventLoop::TimerId deadline_ = EventLoop::kNoTimer;
  EventLoop::TimerId stagger_ = EventLoop::kNoTimer;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_DIAL_H_
