#include "launcher/route_socket.h"

#include <linux/rtnetlink.h>
#include <linux/veth.h>

#include "launcher/netlink_message.h"

namespace cordon::launcher {
namespace {

// socket(2), if(7): declared only by libc.
constexpr int kFamilyNetlink = 16;
constexpr int kFamilyInet6 = 10;
constexpr int kSocketRaw = 3;
constexpr int kSocketCloseOnExec = 02000000;
constexpr unsigned kInterfaceUp = 1;

constexpr std::size_t kAddressBytes4 = 4;
constexpr std::size_t kAddressBytes6 = 16;

ifinfomsg Link(int index) {
  ifinfomsg link = {};
  link.ifi_index = index;
  return link;
}

int UnlessPresent(int error) { return error == EEXIST ? 0 : error; }

rtmsg Route(const IpPrefix& to) {
  rtmsg route = {};
  route.rtm_family = to.family;
  route.rtm_dst_len = to.bits;
  route.rtm_protocol = RTPROT_STATIC;
  return route;
}

}  // namespace

std::size_t IpPrefix::size() const {
  return family == kFamilyInet6 ? kAddressBytes6 : kAddressBytes4;
}

int RouteSocket::Open() {
  socket_ = Fd(Call(__NR_socket, kFamilyNetlink, kSocketRaw | kSocketCloseOnExec, NETLINK_ROUTE));
  return socket_.error();
}

int RouteSocket::AddVeth(const VethEnd& near, const VethEnd& far, int far_namespace) const {
  NetlinkMessage message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, Link(near.index));
  message.Add(IFLA_IFNAME, near.name);
  message.Add(IFLA_ADDRESS, near.hardware_address, sizeof(near.hardware_address));
  const std::size_t info = message.Begin(IFLA_LINKINFO);
  message.Add(IFLA_INFO_KIND, "veth");
  const std::size_t data = message.Begin(IFLA_INFO_DATA);
  const std::size_t peer = message.Begin(VETH_INFO_PEER);
  message.AddRecord(Link(far.index));
  message.Add(IFLA_IFNAME, far.name);
  message.Add(IFLA_ADDRESS, far.hardware_address, sizeof(far.hardware_address));
  message.Add(IFLA_NET_NS_FD, static_cast<std::uint32_t>(far_namespace));
  message.End(peer);
  message.End(data);
  message.End(info);
  return message.Ask(socket_.get());
}

int RouteSocket::MakeNoAddresses(int index) const {
  NetlinkMessage message(RTM_SETLINK, 0, Link(index));
  const std::size_t all = message.Begin(IFLA_AF_SPEC);
  const std::size_t family = message.Begin(kFamilyInet6);
  constexpr std::uint8_t kNone = IN6_ADDR_GEN_MODE_NONE;
  message.Add(IFLA_INET6_ADDR_GEN_MODE, &kNone, sizeof(kNone));
  message.End(family);
  message.End(all);
  return message.Ask(socket_.get());
}

int RouteSocket::Raise(int index) const {
  ifinfomsg link = Link(index);
  link.ifi_flags = kInterfaceUp;
  link.ifi_change = kInterfaceUp;
  return NetlinkMessage(RTM_SETLINK, 0, link).Ask(socket_.get());
}

int RouteSocket::AddAddress(int index, const IpPrefix& address) const {
  ifaddrmsg record = {};
  record.ifa_family = address.family;
  record.ifa_prefixlen = address.bits;
  // Nobody else is on the link who could have the same one.
  record.ifa_flags = IFA_F_NODAD;
  record.ifa_index = static_cast<std::uint32_t>(index);
  NetlinkMessage message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, record);
  message.Add(IFA_LOCAL, address);
  message.Add(IFA_ADDRESS, address);
  return UnlessPresent(message.Ask(socket_.get()));
}

int RouteSocket::AddHost(int index, const IpPrefix& host, const VethEnd& peer) const {
  rtmsg route = Route(host);
  route.rtm_type = RTN_UNICAST;
  route.rtm_table = RT_TABLE_MAIN;
  route.rtm_scope = RT_SCOPE_LINK;
  NetlinkMessage message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route);
  message.Add(RTA_DST, host);
  message.Add(RTA_OIF, static_cast<std::uint32_t>(index));
  if (const int error = UnlessPresent(message.Ask(socket_.get()))) return error;

  ndmsg neighbour = {};
  neighbour.ndm_family = host.family;
  neighbour.ndm_ifindex = index;
  neighbour.ndm_state = NUD_PERMANENT;
  NetlinkMessage place(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, neighbour);
  place.Add(NDA_DST, host);
  place.Add(NDA_LLADDR, peer.hardware_address, sizeof(peer.hardware_address));
  return place.Ask(socket_.get());
}

int RouteSocket::AddRoute(int index, const IpPrefix& to, const IpPrefix& next) const {
  rtmsg record = Route(to);
  record.rtm_type = RTN_UNICAST;
  record.rtm_table = RT_TABLE_MAIN;
  record.rtm_scope = RT_SCOPE_UNIVERSE;
  NetlinkMessage message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, record);
  message.Add(RTA_DST, to);
  message.Add(RTA_GATEWAY, next);
  message.Add(RTA_OIF, static_cast<std::uint32_t>(index));
  return UnlessPresent(message.Ask(socket_.get()));
}

int RouteSocket::AddLocal(const IpPrefix& to) const {
  rtmsg record = Route(to);
  record.rtm_type = RTN_LOCAL;
  record.rtm_scope = RT_SCOPE_HOST;
  // IPv4 asks the local table alone what is its own. IPv6 does not, and would take a wide prefix
  // there for the link's addresses, too.
  record.rtm_table = to.family == kFamilyInet6 ? RT_TABLE_MAIN : RT_TABLE_LOCAL;
  NetlinkMessage message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, record);
  message.Add(RTA_DST, to);
  message.Add(RTA_OIF, static_cast<std::uint32_t>(kLoopbackIndex));
  return UnlessPresent(message.Ask(socket_.get()));
}

}  // namespace cordon::launcher
