#include "launcher/network.h"

#include <linux/fcntl.h>
#include <linux/nsfs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "launcher/loopback.h"
#include "launcher/message.h"
#include "launcher/outcome.h"
#include "launcher/port_rules.h"
#include "launcher/process_state.h"
#include "launcher/route_socket.h"
#include "launcher/text.h"
#include "network_protocol.h"

namespace cordon::launcher {
namespace {

using internal::NetworkReply;
using internal::NetworkRequest;

constexpr int kFamilyInet = 2;
constexpr int kFamilyInet6 = 10;
constexpr int kFamilyPacket = 17;
constexpr int kSocketStream = 1;
constexpr int kSocketDatagram = 2;
constexpr int kSocketCloseOnExec = 02000000;
constexpr int kSocketNonBlocking = 04000;

// Where the keeper has what it was given, so that everything else can be closed.
constexpr int kSocket = 0;
constexpr int kLauncher = 1;

// cordon/sdk/egress.h names these to the rest.
constexpr IpPrefix kSandboxAddress = Ipv4(192, 0, 0, 1, 32);
constexpr IpPrefix kGatewayAddress = Ipv4(192, 0, 0, 2, 32);
constexpr IpPrefix kSynthetic = Ipv4(198, 18, 0, 0, 15);
// fd00:c0:d1::1 and ::2, for granted IPv6 addresses only.
constexpr IpPrefix kSandboxAddress6 = {
    kFamilyInet6, 128, {0xfd, 0, 0, 0xc0, 0, 0xd1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr IpPrefix kGatewayAddress6 = {
    kFamilyInet6, 128, {0xfd, 0, 0, 0xc0, 0, 0xd1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};

// Numbers of its own: where tunnels are built in, a new namespace has some of the low ones.
constexpr VethEnd kSandboxEnd = {"eth0", 1000, {2, 0, 0, 0, 0, 1}};
constexpr VethEnd kGatewayEnd = {"gw", 1000, {2, 0, 0, 0, 0, 2}};

// Settings of the namespace that the caller is in. Not every host lets them be written (containers
// mount /proc/sys read-only), and nothing that is promised depends on them.
void Set(const char* name, const char* value) {
  TextBuffer<64> path;
  path.Add("/proc/sys/net/ipv4/").Add(name);
  const Fd file(Call(__NR_openat, AT_FDCWD, path.get(), O_WRONLY | O_CLOEXEC));
  if (file.ok()) Call(__NR_write, file.get(), value, Length(value));
}

Fd OwnNetwork() {
  return Fd(Call(__NR_openat, AT_FDCWD, "/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

class Keeper {
 public:
  explicit Keeper(const NetworkStart& start) : start_(start) {}

  [[noreturn]] void Run() {
    const Outcome outcome = SetUp();
    const NetworkReply ready = {outcome.step, {}, outcome.error};
    const int attached = outcome.ok() ? sandbox_.get() : -1;
    if (Send(kSocket, &ready, sizeof(ready), attached) != 0 || !outcome.ok()) Exit(1);
    for (;;) Serve();
  }

 private:
  Outcome SetUp() {
    // The ids of before: see EnterNamespaces.
    if (const int error = WriteIdMaps(start_.identity)) return At(Step::kIdMaps, error);
    if (Outcome o = HoldOnlyWhatIsNeeded(); !o.ok()) return o;
    sandbox_ = OwnNetwork();
    if (!sandbox_.ok()) return At(Step::kNetwork, sandbox_.error());
    if (const int error = RaiseLoopback()) return At(Step::kLoopback, error);
    // Servers inside may listen on any port.
    Set("ip_unprivileged_port_start", "0");
    if (const int error = start_.with_gateway ? Join() : MakeBothLocal()) {
      return At(Step::kNetwork, error);
    }
    // Nobody else of this user looks into it; /proc/self is not needed any more.
    return At(Step::kInit, ErrorOf(Call(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0)));
  }

  Outcome HoldOnlyWhatIsNeeded() {
    const long socket = Call(__NR_fcntl, start_.socket, F_DUPFD, 16);
    const long launcher = Call(__NR_fcntl, start_.launcher, F_DUPFD, 16);
    if (socket < 0 || launcher < 0) return At(Step::kInit, EMFILE);
    int error = MakeDescriptor(static_cast<int>(socket), kSocket);
    if (error == 0) error = MakeDescriptor(static_cast<int>(launcher), kLauncher);
    CloseFrom(kLauncher + 1);
    // Kept from here on: no step after this changes who this process is (prctl(2)).
    if (error == 0) error = ErrorOf(Call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    if (error == 0 && IsReadable(kLauncher)) Exit(1);
    return At(Step::kInit, error);
  }

  int MakeBothLocal() {
    if (const int error = sandbox_routes_.Open()) return error;
    int error = sandbox_routes_.AddAddress(kLoopbackIndex, kSandboxAddress);
    if (error != 0) return error;
    return sandbox_routes_.AddAddress(kLoopbackIndex, kGatewayAddress);
  }

  int Join() {
    // The side that closes first would keep each port for a minute: these addresses are no loopback
    // to tcp_tw_reuse.
    Set("tcp_max_tw_buckets", "0");
    if (const int error = sandbox_routes_.Open()) return error;
    if (const int error = ErrorOf(Call(__NR_unshare, CLONE_NEWNET))) return error;
    gateway_ = OwnNetwork();
    if (!gateway_.ok()) return gateway_.error();
    in_gateway_ = true;
    if (const int error = RaiseLoopback()) return error;
    Set("tcp_max_tw_buckets", "0");
    Set("ip_forward", "0");  // A new namespace starts with the host's.
    if (const int error = gateway_routes_.Open()) return error;
    if (const int error = gateway_routes_.AddVeth(kGatewayEnd, kSandboxEnd, sandbox_.get())) {
      return error;
    }
    if (const int error = RaiseBoth()) return error;
    if (const int error = gateway_routes_.AddLocal(kSynthetic)) return error;
    return sandbox_routes_.AddRoute(kSandboxEnd.index, kSynthetic, kGatewayAddress);
  }

  int RaiseBoth() const {
    for (int side = 0; side < 2; ++side) {
      const RouteSocket& routes = side == 0 ? gateway_routes_ : sandbox_routes_;
      const int index = side == 0 ? kGatewayEnd.index : kSandboxEnd.index;
      // Refused where there is no IPv6, which makes no addresses either.
      (void)routes.MakeNoAddresses(index);
      if (const int error = routes.Raise(index)) return error;
    }
    return Introduce(kSandboxAddress, kGatewayAddress);
  }

  // Gives both ends an address, and each the way to the other's.
  int Introduce(const IpPrefix& sandbox, const IpPrefix& gateway) const {
    int error = gateway_routes_.AddAddress(kGatewayEnd.index, gateway);
    if (error == 0) error = gateway_routes_.AddHost(kGatewayEnd.index, sandbox, kSandboxEnd);
    if (error == 0) error = sandbox_routes_.AddAddress(kSandboxEnd.index, sandbox);
    if (error == 0) error = sandbox_routes_.AddHost(kSandboxEnd.index, gateway, kGatewayEnd);
    return error;
  }

  void Serve() {
    NetworkRequest request;
    const Received received = Receive(kSocket, &request, sizeof(request));
    if (received.size <= 0) Exit(0);
    NetworkReply reply;
    Fd made;
    if (received.size != sizeof(request)) {
      reply.error_number = EINVAL;
    } else {
      switch (request.kind) {
        case NetworkRequest::Kind::kSocket:
          made = MakeSocket(request);
          reply.error_number = made.error();
          break;
        case NetworkRequest::Kind::kSocketForEveryPort:
          made = MakeSocketForEveryPort(request);
          reply.error_number = made.error();
          break;
        case NetworkRequest::Kind::kRoute:
          reply.error_number = AddRoute(request);
          break;
      }
    }
    if (Send(kSocket, &reply, sizeof(reply), made.get()) != 0) Exit(0);
  }

  // Of the link between both sides the gateway may see everything: what was tried in vain, too.
  static bool MayMake(int family, int type, bool gateway) {
    if (family == kFamilyPacket) return gateway && type == kSocketDatagram;
    return (family == kFamilyInet || family == kFamilyInet6) &&
           (type == kSocketStream || type == kSocketDatagram);
  }

  Fd MakeSocket(const NetworkRequest& request) {
    const bool gateway = start_.with_gateway && request.is_gateway != 0;
    if (!MayMake(request.family, request.type, gateway)) return Fd(-EINVAL);
    if (gateway != in_gateway_) {
      const int to = gateway ? gateway_.get() : sandbox_.get();
      const long entered = Call(__NR_setns, to, CLONE_NEWNET);
      if (ErrorOf(entered) != 0) return Fd(entered);
      in_gateway_ = gateway;
    }
    constexpr int kFlags = kSocketCloseOnExec | kSocketNonBlocking;
    return Fd(Call(__NR_socket, request.family, request.type | kFlags, 0));
  }

  Fd MakeSocketForEveryPort(const NetworkRequest& request) {
    if (!start_.with_gateway) return Fd(-EOPNOTSUPP);
    NetworkRequest own = request;
    own.is_gateway = 1;
    own.type = kSocketStream;
    Fd made = MakeSocket(own);  // Which enters the gateway.
    if (!made.ok()) return made;
    const int refused = MakeTransparent(made.get(), request.family == kFamilyInet6);
    if (refused != 0) return Fd(-refused);
    if (every_port_is_led_) return made;
    const int error =
        LeadEveryPortTo(internal::kEveryPortListener, kGatewayEnd.index, kGatewayAddress);
    every_port_is_led_ = error == 0;
    return error == 0 ? static_cast<Fd&&>(made) : Fd(-error);
  }

  int AddRoute(const NetworkRequest& request) {
    if (!start_.with_gateway) return EOPNOTSUPP;
    IpPrefix to = {request.family, request.prefix_length, {}};
    for (std::size_t i = 0; i < to.size(); ++i) to.bytes[i] = request.address[i];
    const bool six = request.family == kFamilyInet6;
    if (!six && request.family != kFamilyInet) return EAFNOSUPPORT;
    if (six) {
      if (const int error = Introduce(kSandboxAddress6, kGatewayAddress6)) return error;
    }
    // The gateway first: what arrives has somewhere to go.
    if (const int error = gateway_routes_.AddLocal(to)) return error;
    return sandbox_routes_.AddRoute(kSandboxEnd.index, to,
                                    six ? kGatewayAddress6 : kGatewayAddress);
  }

  const NetworkStart& start_;
  Fd sandbox_;
  Fd gateway_;
  RouteSocket sandbox_routes_;
  RouteSocket gateway_routes_;
  bool in_gateway_ = false;
  bool every_port_is_led_ = false;
};

}  // namespace

Fd BeginNetwork(const NetworkStart& start) {
  int pidfd = -1;
  constexpr unsigned long kFlags = CLONE_NEWUSER | CLONE_NEWNET | CLONE_PIDFD | SIGCHLD;
  const long pid = Call(__NR_clone, kFlags, nullptr, &pidfd, nullptr, nullptr);
  if (pid == 0) Keeper(start).Run();
  return pid < 0 ? Fd(pid) : Fd(pidfd);
}

int EnterNetwork(int network) {
  const Fd user = UserNamespaceOf(network);
  if (!user.ok()) return user.error();
  if (const int error = ErrorOf(Call(__NR_setns, user.get(), CLONE_NEWUSER))) return error;
  return ErrorOf(Call(__NR_setns, network, CLONE_NEWNET));
}

Fd UserNamespaceOf(int network) { return Fd(Call(__NR_ioctl, network, NS_GET_USERNS, 0)); }

}  // namespace cordon::launcher
