// Interfaces, addresses and routes of the network namespace that the caller is in (rtnetlink(7)).

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_ROUTE_SOCKET_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_ROUTE_SOCKET_H_

#include <cstddef>
#include <cstdint>

#include "launcher/fd.h"

namespace cordon::launcher {

inline constexpr int kLoopbackIndex = 1;  // In every namespace.

// An IP address in network order; `bits` of it count where a prefix is meant.
struct IpPrefix {
  std::uint8_t family = 0;  // AF_INET or AF_INET6
  std::uint8_t bits = 0;
  std::uint8_t bytes[16] = {};

  [[nodiscard]] std::size_t size() const;
};

constexpr IpPrefix Ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d,
                        std::uint8_t bits) {
  return {2, bits, {a, b, c, d}};
}

// One end of a veth pair.
struct VethEnd {
  const char* name;
  int index;
  std::uint8_t hardware_address[6];
};

// Stays in the namespace in which it was opened. Each call waits for the kernel's answer and
// returns an errno; an address or a route that exists already is no error.
class RouteSocket {
 public:
  [[nodiscard]] int Open();

  // A pair of which `far` is made in the namespace that `far_namespace` is open on.
  [[nodiscard]] int AddVeth(const VethEnd& near, const VethEnd& far, int far_namespace) const;
  // Makes no link-local IPv6 address of its own; to be called before it is raised.
  [[nodiscard]] int MakeNoAddresses(int index) const;
  [[nodiscard]] int Raise(int index) const;
  [[nodiscard]] int AddAddress(int index, const IpPrefix& address) const;
  // Packets to the host `host` leave by `index`, straight to the end `peer` of that link: nobody
  // has to be asked where it is.
  [[nodiscard]] int AddHost(int index, const IpPrefix& host, const VethEnd& peer) const;
  // Packets to `to` leave by `index`, to the host `next` on that link.
  [[nodiscard]] int AddRoute(int index, const IpPrefix& to, const IpPrefix& next) const;
  // Every address of `to` is this namespace's own.
  [[nodiscard]] int AddLocal(const IpPrefix& to) const;

 private:
  Fd socket_;
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_ROUTE_SOCKET_H_
