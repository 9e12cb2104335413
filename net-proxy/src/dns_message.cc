#include "dns_message.h"

#include <algorithm>
#include <cstddef>

namespace cordon::internal::egress {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kMaxNameBytes = 255;  // RFC 1035 section 2.3.4, on the wire.
constexpr std::uint16_t kTypeOpt = 41;
constexpr std::uint16_t kClassInternet = 1;
constexpr std::uint16_t kUdpPayload = 1232;
constexpr std::uint32_t kNegativeTtlSeconds = 5;

std::uint16_t Read16(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<std::uint8_t>(bytes[at]) << 8 |
                                    static_cast<std::uint8_t>(bytes[at + 1]));
}

void Put16(std::string& out, std::uint32_t value) {
  out.push_back(static_cast<char>(value >> 8 & 0xff));
  out.push_back(static_cast<char>(value & 0xff));
}

void Put32(std::string& out, std::uint32_t value) {
  Put16(out, value >> 16);
  Put16(out, value & 0xffff);
}

// A host name has letters, digits, hyphens and underscores only. Anything else becomes a character
// that no granted name has, so that it is shown and never matches.
char NameCharacter(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  const bool usual = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  return usual ? c : '?';
}

// The end of the name that begins at `at`; 0 when it is malformed.
std::size_t ReadName(std::string_view message, std::size_t at, std::string& name) {
  const std::size_t start = at;
  while (at < message.size()) {
    const std::size_t length = static_cast<std::uint8_t>(message[at]);
    ++at;
    if (length == 0) return at - start <= kMaxNameBytes ? at : 0;
    if (length > 63 || message.size() - at < length) return 0;
    if (!name.empty()) name.push_back('.');
    for (const char c : message.substr(at, length)) name.push_back(NameCharacter(c));
    at += length;
  }
  return 0;
}

// True when an OPT record stands in what follows the question. Only its presence matters.
bool HasEdns(std::string_view message, std::size_t at) {
  return Read16(message, 10) > 0 && message.size() >= at + 11 && message[at] == '\0' &&
         Read16(message, at + 1) == kTypeOpt;
}

std::string Header(const DnsQuestion& question, DnsCode code, int answers, int authorities) {
  std::string out;
  Put16(out, question.id);
  // Response, authoritative, recursion available.
  const std::uint32_t flags =
      0x8480U | (question.recursion_desired ? 0x0100U : 0U) | static_cast<std::uint32_t>(code);
  Put16(out, flags);
  Put16(out, question.wire_question.empty() ? 0 : 1);
  Put16(out, static_cast<std::uint32_t>(answers));
  Put16(out, static_cast<std::uint32_t>(authorities));
  Put16(out, question.has_edns ? 1 : 0);
  out += question.wire_question;
  return out;
}

void PutEdns(std::string& out, const DnsQuestion& question) {
  if (!question.has_edns) return;
  out.push_back('\0');
  Put16(out, kTypeOpt);
  Put16(out, kUdpPayload);
  Put32(out, 0);
  Put16(out, 0);
}

// The root's SOA: resolvers wait for one before they believe that there is nothing (RFC 2308).
void PutSoa(std::string& out) {
  out.push_back('\0');
  Put16(out, 6);
  Put16(out, kClassInternet);
  Put32(out, kNegativeTtlSeconds);
  Put16(out, 22);
  out.append(2, '\0');  // mname and rname
  for (const std::uint32_t value : {1U, 3600U, 600U, 86400U, kNegativeTtlSeconds}) {
    Put32(out, value);
  }
}

}  // namespace

std::optional<DnsQuestion> ParseDnsQuestion(std::string_view message) {
  if (message.size() < kHeaderBytes) return std::nullopt;
  const std::uint16_t flags = Read16(message, 2);
  if ((flags & 0x8000U) != 0) return std::nullopt;
  DnsQuestion question;
  question.id = Read16(message, 0);
  question.recursion_desired = (flags & 0x0100U) != 0;
  question.problem = DnsCode::kFormatError;
  if ((flags & 0x7800U) != 0) {  // Only the opcode QUERY.
    question.problem = DnsCode::kNotImplemented;
    return question;
  }
  if (Read16(message, 4) != 1) return question;
  const std::size_t end = ReadName(message, kHeaderBytes, question.name);
  if (end == 0 || message.size() < end + 4) return question;
  question.type = Read16(message, end);
  question.question_class = Read16(message, end + 2);
  question.wire_question = message.substr(kHeaderBytes, end + 4 - kHeaderBytes);
  question.has_edns = HasEdns(message, end + 4);
  question.problem =
      question.question_class == kClassInternet ? DnsCode::kNoError : DnsCode::kNotImplemented;
  return question;
}

std::string DnsNegative(const DnsQuestion& question, DnsCode code) {
  const bool soa = code == DnsCode::kNoError || code == DnsCode::kNameError;
  std::string out = Header(question, code, 0, soa ? 1 : 0);
  if (soa) PutSoa(out);
  PutEdns(out, question);
  return out;
}

std::string DnsAddress(const DnsQuestion& question, const IpAddress& address,
                       std::uint32_t ttl_seconds) {
  std::string out = Header(question, DnsCode::kNoError, 1, 0);
  Put16(out, 0xc000 | kHeaderBytes);  // The name of the question.
  Put16(out, address.is_v6 ? kDnsTypeAaaa : kDnsTypeA);
  Put16(out, kClassInternet);
  Put32(out, ttl_seconds);
  const std::size_t size = address.is_v6 ? 16 : 4;
  Put16(out, static_cast<std::uint32_t>(size));
  out.append(reinterpret_cast<const char*>(address.bytes.data()), size);
  PutEdns(out, question);
  return out;
}

}  // namespace cordon::internal::egress
