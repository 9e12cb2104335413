#include "launcher/port_rules.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "launcher/netlink_message.h"

namespace cordon::launcher {
namespace {

constexpr int kFamilyNetlink = 16;
constexpr int kNetlinkNetfilter = 12;
constexpr int kSocketRaw = 3;
constexpr int kSocketCloseOnExec = 02000000;

constexpr char kName[] = "cordon";
constexpr std::uint8_t kTcp = 6;
constexpr std::uint32_t kDestinationInIpv4 = 16;  // RFC 791 section 3.1
constexpr std::int32_t kBeforeOthers = -150;      // NF_IP_PRI_MANGLE

constexpr std::uint16_t Big(std::uint16_t value) { return __builtin_bswap16(value); }
constexpr std::uint32_t Big(std::uint32_t value) { return __builtin_bswap32(value); }
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr std::uint16_t TypeOf(int message) {
  return static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message);
}

// A transaction: all of it takes effect, or none.
class Rules {
 public:
  Rules() : message_(NFNL_MSG_BATCH_BEGIN, 0, Subsystem()) {
    message_.Next(TypeOf(NFT_MSG_NEWTABLE), NLM_F_CREATE | NLM_F_EXCL, Everything());
    message_.Add(NFTA_TABLE_NAME, kName);
    message_.Next(TypeOf(NFT_MSG_NEWCHAIN), NLM_F_CREATE | NLM_F_EXCL, Everything());
    message_.Add(NFTA_CHAIN_TABLE, kName);
    message_.Add(NFTA_CHAIN_NAME, kName);
    const std::size_t hook = message_.Begin(NFTA_CHAIN_HOOK);
    message_.Add(NFTA_HOOK_HOOKNUM, Big(std::uint32_t{NF_INET_PRE_ROUTING}));
    message_.Add(NFTA_HOOK_PRIORITY, Big(static_cast<std::uint32_t>(kBeforeOthers)));
    message_.End(hook);
    message_.Add(NFTA_CHAIN_TYPE, "filter");
  }

  // The kernel answers the first rule that fails, else the last one.
  void BeginRule(bool is_last) {
    const auto flags =
        static_cast<std::uint16_t>(NLM_F_CREATE | NLM_F_APPEND | (is_last ? NLM_F_ACK : 0));
    message_.Next(TypeOf(NFT_MSG_NEWRULE), flags, Everything());
    message_.Add(NFTA_RULE_TABLE, kName);
    message_.Add(NFTA_RULE_CHAIN, kName);
    expressions_ = message_.Begin(NFTA_RULE_EXPRESSIONS);
  }
  void EndRule() { message_.End(expressions_); }

  template <typename Value>
  void WherePacketHas(nft_meta_keys key, Value value) {
    Begin("meta");
    message_.Add(NFTA_META_DREG, Big(std::uint32_t{NFT_REG_1}));
    message_.Add(NFTA_META_KEY, Big(static_cast<std::uint32_t>(key)));
    End();
    WhereEqual(&value, sizeof(value));
  }

  void WhereIpv4DestinationIs(const IpPrefix& address) {
    WherePacketHas(NFT_META_NFPROTO, std::uint8_t{NFPROTO_IPV4});
    Begin("payload");
    message_.Add(NFTA_PAYLOAD_DREG, Big(std::uint32_t{NFT_REG_1}));
    message_.Add(NFTA_PAYLOAD_BASE, Big(std::uint32_t{NFT_PAYLOAD_NETWORK_HEADER}));
    message_.Add(NFTA_PAYLOAD_OFFSET, Big(kDestinationInIpv4));
    message_.Add(NFTA_PAYLOAD_LEN, Big(static_cast<std::uint32_t>(address.size())));
    End();
    WhereEqual(address.bytes, address.size());
  }

  void Accept() {
    Begin("immediate");
    message_.Add(NFTA_IMMEDIATE_DREG, Big(std::uint32_t{NFT_REG_VERDICT}));
    const std::size_t data = message_.Begin(NFTA_IMMEDIATE_DATA);
    const std::size_t verdict = message_.Begin(NFTA_DATA_VERDICT);
    message_.Add(NFTA_VERDICT_CODE, Big(std::uint32_t{NF_ACCEPT}));
    message_.End(verdict);
    message_.End(data);
    End();
  }

  void LeadTo(std::uint16_t port) {
    Begin("immediate");
    message_.Add(NFTA_IMMEDIATE_DREG, Big(std::uint32_t{NFT_REG_1}));
    const std::uint16_t value = Big(port);
    AddValue(NFTA_IMMEDIATE_DATA, &value, sizeof(value));
    End();
    Begin("tproxy");
    message_.Add(NFTA_TPROXY_FAMILY, Big(std::uint32_t{NFPROTO_UNSPEC}));
    message_.Add(NFTA_TPROXY_REG_PORT, Big(std::uint32_t{NFT_REG_1}));
    End();
  }

  int Commit() {
    const Fd socket(
        Call(__NR_socket, kFamilyNetlink, kSocketRaw | kSocketCloseOnExec, kNetlinkNetfilter));
    if (!socket.ok()) return socket.error();
    message_.Next(NFNL_MSG_BATCH_END, 0, Subsystem());
    return message_.Ask(socket.get());
  }

 private:
  static nfgenmsg Subsystem() {
    return {0, NFNETLINK_V0, Big(std::uint16_t{NFNL_SUBSYS_NFTABLES})};
  }
  static nfgenmsg Everything() { return {NFPROTO_INET, NFNETLINK_V0, 0}; }

  void Begin(const char* name) {
    element_ = message_.Begin(NFTA_LIST_ELEM);
    message_.Add(NFTA_EXPR_NAME, name);
    data_ = message_.Begin(NFTA_EXPR_DATA);
  }
  void End() {
    message_.End(data_);
    message_.End(element_);
  }
  void AddValue(std::uint16_t type, const void* value, std::size_t size) {
    const std::size_t data = message_.Begin(type);
    message_.Add(NFTA_DATA_VALUE, value, size);
    message_.End(data);
  }
  void WhereEqual(const void* value, std::size_t size) {
    Begin("cmp");
    message_.Add(NFTA_CMP_SREG, Big(std::uint32_t{NFT_REG_1}));
    message_.Add(NFTA_CMP_OP, Big(std::uint32_t{NFT_CMP_EQ}));
    AddValue(NFTA_CMP_DATA, value, size);
    End();
  }

  NetlinkMessage message_;
  std::size_t expressions_ = 0;
  std::size_t element_ = 0;
  std::size_t data_ = 0;
};

}  // namespace

int LeadEveryPortTo(std::uint16_t port, int index, const IpPrefix& except) {
  Rules rules;
  rules.BeginRule(false);
  rules.WhereIpv4DestinationIs(except);
  rules.Accept();
  rules.EndRule();
  rules.BeginRule(true);
  rules.WherePacketHas(NFT_META_L4PROTO, kTcp);
  rules.WherePacketHas(NFT_META_IIF, static_cast<std::uint32_t>(index));
  rules.LeadTo(port);
  rules.EndRule();
  return rules.Commit();
}

int MakeTransparent(int socket, bool is_v6) {
  constexpr int kLevelIp = 0;
  constexpr int kLevelIpv6 = 41;
  constexpr int kTransparentIp = 19;    // ip(7)
  constexpr int kTransparentIpv6 = 75;  // IPV6_TRANSPARENT
  const int on = 1;
  return ErrorOf(Call(__NR_setsockopt, socket, is_v6 ? kLevelIpv6 : kLevelIp,
                      is_v6 ? kTransparentIpv6 : kTransparentIp, &on, sizeof(on)));
}

}  // namespace cordon::launcher
