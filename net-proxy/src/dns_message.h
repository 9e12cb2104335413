// DNS questions and the few answers that our resolver gives (RFC 1035, RFC 2308, RFC 6891). Pure;
// safe from any thread.

#ifndef CORDON_NET_PROXY_SRC_DNS_MESSAGE_H_
#define CORDON_NET_PROXY_SRC_DNS_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "endpoint.h"

namespace cordon::internal::egress {

inline constexpr std::uint16_t kDnsTypeA = 1;
inline constexpr std::uint16_t kDnsTypePtr = 12;
inline constexpr std::uint16_t kDnsTypeAaaa = 28;

enum class DnsCode : std::uint8_t {
  kNoError = 0,
  kFormatError = 1,
  kServerFailure = 2,
  kNameError = 3,
  kNotImplemented = 4,
};

struct DnsQuestion {
  std::uint16_t id = 0;
  bool recursion_desired = false;
  // kNoError: a question that can be answered. Otherwise the answer is this and no more.
  DnsCode problem = DnsCode::kNoError;
  // Lower case, without the trailing dot; bytes that no host name has as `?`; empty for the root.
  std::string name;
  std::string wire_question;  // As it came, for the answer.
  std::uint16_t type = 0;
  std::uint16_t question_class = 0;
  bool has_edns = false;
};

// Nothing when `message` is no query with an id to answer to: shorter than a header, or an answer
// itself. Compression is not accepted in a question.
[[nodiscard]] std::optional<DnsQuestion> ParseDnsQuestion(std::string_view message);

// An answer without records but for a SOA when the name has none of the asked type.
[[nodiscard]] std::string DnsNegative(const DnsQuestion& question, DnsCode code);

// One A or AAAA record.
[[nodiscard]] std::string DnsAddress(const DnsQuestion& question, const IpAddress& address,
                                     std::uint32_t ttl_seconds);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_DNS_MESSAGE_H_
