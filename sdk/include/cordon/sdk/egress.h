// The way out of a sandbox: the question that every connection asks, and the two halves that meet
// there. An executor has a sandbox's network (`SandboxNetwork`), an egress proxy serves it
// (`EgressProxy`), and neither knows the other. Design section 8; cordon/net-proxy/proxy.h makes
// the proxy, the sandbox makes the network, an application wires them.

#ifndef CORDON_SDK_EGRESS_H_
#define CORDON_SDK_EGRESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/denial.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon {

enum class EgressVerdict : std::uint8_t { kDeny = 0, kAsk = 1, kAllow = 2 };

struct EgressDecision {
  EgressVerdict verdict = EgressVerdict::kDeny;
  std::string rule;  // Which rule decided, for the report.
};

// Who decides about what a profile and its grants do not already allow. Implementations are safe
// from any thread.
class EgressAuthorizer {
 public:
  virtual ~EgressAuthorizer() = default;

  // May `execution_id` open a TCP connection to `target` (a concrete host and port)? Answers at
  // once and never waits for a person.
  [[nodiscard]] virtual absl::StatusOr<EgressDecision> Decide(const std::string& execution_id,
                                                              const NetworkTarget& target) = 0;

  // Which denial stands against `target` whatever a plan or an earlier answer says; empty when none
  // does. Asked about every target before a connection to it, about every address that it leads to,
  // and again while connections are open: one that is denied meanwhile is cut. Answers at once; an
  // error denies.
  [[nodiscard]] virtual absl::StatusOr<std::string> DenialOf(const std::string& execution_id,
                                                             const NetworkTarget& target) {
    (void)execution_id, (void)target;
    return std::string();
  }

  // After a `kAsk`: asks whoever decides and calls `answer` exactly once, from any thread, also
  // before returning; never with kAsk. A proxy asks once per execution and target however many
  // connections wait.
  virtual void Ask(const std::string& execution_id, const NetworkTarget& target,
                   std::function<void(EgressDecision)> answer) {
    (void)execution_id, (void)target;
    answer({EgressVerdict::kDeny, "nobody can be asked"});
  }
};

// The addresses that a sandbox with a gateway has. Outside the synthetic prefix, so that the local
// table never hides it; 192.0.0.0/29 is RFC 7335's, 198.18.0.0/15 RFC 2544's.
inline constexpr const char* kSandboxAddress = "192.0.0.1";
inline constexpr const char* kGatewayAddress = "192.0.0.2";  // The resolver, port 53.
inline constexpr const char* kSyntheticPrefix = "198.18.0.0";
inline constexpr int kSyntheticPrefixLength = 15;

// The network namespaces of one sandbox, seen from outside. A socket belongs to the namespace that
// it was created in, so that whoever holds it may bind, listen, accept and connect there without
// ever entering it. Safe from any thread.
class SandboxNetwork {
 public:
  enum class Side : std::uint8_t {
    kSandbox,  // Where the command runs.
    kGateway,  // The other end of its only route; all synthetic addresses are local there.
  };

  virtual ~SandboxNetwork() = default;

  // A new socket, O_CLOEXEC and non-blocking. `family` and `type` as in socket(2).
  [[nodiscard]] virtual absl::StatusOr<UniqueFd> MakeSocket(Side side, int family, int type) = 0;

  // A socket of the gateway's that accepts TCP connections to every port of every address that
  // arrives there, but of the resolver's; its getsockname(2) is where each was made to. While it is
  // open, what else listens in the gateway hears nothing. O_CLOEXEC and non-blocking. Returns
  // kUnavailable where the kernel has no such rules.
  [[nodiscard]] virtual absl::StatusOr<UniqueFd> ListenAtEveryPort() = 0;

  // From now on packets to `address`, a canonical literal or a prefix `literal/length`, arrive in
  // the gateway like those to a synthetic one. For targets granted as addresses. Repeating it is no
  // error. Returns kInvalidTarget for what belongs to the sandbox itself (loopback, the addresses
  // above) or to no single host (multicast).
  [[nodiscard]] virtual absl::Status RouteAddress(const std::string& address) = 0;
};

// What one execution may reach, fixed before it starts.
struct EgressPlan {
  std::string execution_id;
  std::vector<NetworkTarget> targets;        // Of the profile, and of the grants consumed for it.
  std::vector<NetworkTarget> denied;         // Wins over everything, also for what a name leads to.
  std::vector<std::uint16_t> host_ports;     // The host's 127.0.0.1:PORT at the same port inside.
  std::vector<std::uint16_t> publish_ports;  // Inner listeners at the host's 127.0.0.1:PORT.
  // True: what `targets` does not cover is put to the proxy's authorizer. False: it is refused.
  bool gated = false;
};

// One execution's way out while it is open. Destroying it ends every connection of the execution
// and frees its ports. Safe from any thread.
class EgressSession {
 public:
  virtual ~EgressSession() = default;

  // From now on nothing that `target` covers is reached, whatever grants it: new connections are
  // refused, open ones are cut before this returns. absl kUnimplemented where a session cannot.
  [[nodiscard]] virtual absl::Status Revoke(const NetworkTarget& target) {
    (void)target;
    return absl::UnimplementedError("this way out cannot revoke a target");
  }

  // What was refused so far, one entry per target, with counts; cut connections are among them.
  [[nodiscard]] virtual std::vector<Denial> Denials() const = 0;

  // The targets of the plan to which a connection was made so far, for the report.
  [[nodiscard]] virtual std::vector<NetworkTarget> Used() const = 0;

  // Beyond the plan: what the authorizer allowed, and a connection was made to.
  [[nodiscard]] virtual std::vector<NetworkTarget> Approved() const { return {}; }

  // Those of `Used` and `Approved` that had a connection whose first bytes named no host (neither
  // TLS nor HTTP), so that only its address bound it. The report says so.
  [[nodiscard]] virtual std::vector<NetworkTarget> UsedByAddress() const { return {}; }
};

// A proxy that programs are told about, for those without a network that has a gateway.
struct EgressFrontOptions {
  std::string address = "127.0.0.1";  // A literal of this host, IPv6 without brackets.
  std::uint16_t port = 0;             // 0: one that is free.
  // `USER:PASSWORD` that each client must show; empty: none. On an address that others on this host
  // reach too, it is what tells executions apart.
  std::string credential;
};

class EgressFront : public EgressSession {
 public:
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

// For commands that share the host's network and may connect nothing themselves: whoever connects
// their sockets says for each where it was to go, and connects it here, whatever that was. What
// comes from a place that was not said is closed without a byte.
class EgressDoor : public EgressSession {
 public:
  // Of the host's 127.0.0.1.
  [[nodiscard]] virtual std::uint16_t port() const = 0;

  // To be called before a connection from 127.0.0.1:`source_port` that was to go to the literal
  // `address` (IPv6 without brackets) at `port`. Returns 0, or the errno with which it fails, which
  // is noted as a denial then. Port 53 is the resolver of every address that is no target of the
  // plan, itself and not by a range. Takes microseconds and never waits for a person. The last call
  // for a source port counts, once and for half a minute; each session remembers a bounded number.
  [[nodiscard]] virtual int Expect(std::uint16_t source_port, const std::string& address,
                                   std::uint16_t port) = 0;
  // It is not made after all.
  virtual void Forget(std::uint16_t source_port) = 0;
};

// Serves the networks of sandboxes. While connections are open, what allowed them is looked at
// again, at least once a second: a rule that was removed, expired or denied ends them. Safe from
// any thread.
class EgressProxy {
 public:
  virtual ~EgressProxy() = default;

  // Whether a gated plan can come to more than its targets, since there is somebody to decide.
  // Where this is false and a plan has no targets, the network has no gateway: both sides are the
  // same namespace, in which `kGatewayAddress` is local and the synthetic prefix is unreachable.
  [[nodiscard]] virtual bool HasAuthorizer() const { return true; }

  // Names the way from this host to the targets, for grants: equal for equal routes, without their
  // secrets.
  [[nodiscard]] virtual std::string RouteFingerprint() const { return "direct"; }

  // Binds resolver and listeners; all of them accept when this returns. Returns kUnavailable with
  // the address and errno when one cannot be bound (a published port in use, for example).
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<EgressSession>> Serve(
      EgressPlan plan, std::shared_ptr<SandboxNetwork> network) = 0;

  // The same decisions for programs that use a proxy. Returns kInvalidTarget for a malformed
  // address, kUnavailable when it cannot be bound or there is no such proxy, and kInvalidOption for
  // a plan with ports of the host or published ones.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<EgressFront>> ServeFront(
      EgressPlan plan, EgressFrontOptions options) {
    (void)plan, (void)options;
    return MakeError(ErrorCode::kUnavailable, "this egress proxy has no explicit front");
  }

  // The same decisions, and the same answers about names as in `Serve`, for commands without a
  // network. Returns kUnavailable when the host's loopback cannot be listened at or there is no
  // such way, and kInvalidOption for a plan with ports of the host or published ones.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<EgressDoor>> ServeDoor(EgressPlan plan) {
    (void)plan;
    return MakeError(ErrorCode::kUnavailable,
                     "this egress proxy serves no commands without a network");
  }
};

}  // namespace cordon

#endif  // CORDON_SDK_EGRESS_H_
