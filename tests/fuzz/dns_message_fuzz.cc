// Any bytes as a DNS message and as an IP packet: an answer carries the question's id and its
// question.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cordon/sdk/ip_address.h"
#include "dns_message.h"
#include "syn_watch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::internal::egress;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)ParseSyn(bytes);
  const auto question = ParseDnsQuestion(bytes);
  if (!question.has_value()) return 0;
  for (const std::string& answer : {DnsNegative(*question, DnsCode::kNameError),
                                    DnsAddress(*question, cordon::IpAddress::V4(0xc6120001), 60)}) {
    if (answer.size() < 12 || answer.substr(0, 2) != bytes.substr(0, 2)) std::abort();
    if (answer.substr(12, question->wire_question.size()) != question->wire_question) std::abort();
  }
  return 0;
}
