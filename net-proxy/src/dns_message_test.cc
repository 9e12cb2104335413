#include "dns_message.h"

#include <string>

#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

std::string Header(int flags, int questions, int additional = 0) {
  std::string out("\x12\x34", 2);
  for (const int value : {flags, questions, 0, 0, additional}) {
    out.push_back(static_cast<char>(value >> 8));
    out.push_back(static_cast<char>(value & 0xff));
  }
  return out;
}

std::string Question(int type, int question_class = 1) {
  return std::string("\3WwW\7example\3COM\0", 17) + static_cast<char>(type >> 8) +
         static_cast<char>(type & 0xff) + static_cast<char>(question_class >> 8) +
         static_cast<char>(question_class & 0xff);
}

const std::string kOpt("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);

TEST_CASE("a question is read in lower case and answered with its own spelling") {
  const auto question = ParseDnsQuestion(Header(0x0100, 1) + Question(kDnsTypeA));
  REQUIRE(question.has_value());
  CHECK(question->problem == DnsCode::kNoError);
  CHECK(question->name == "www.example.com");
  CHECK(question->recursion_desired);
  const std::string answer = DnsAddress(*question, *IpAddress::Parse("198.18.0.7"), 60);
  CHECK(answer.substr(0, 4) == std::string("\x12\x34\x85\x80", 4));
  CHECK(answer.find("\3WwW\7example\3COM") == 12);
  CHECK(answer.ends_with(std::string("\0\4\xc6\x12\0\7", 6)));
  const std::string negative = DnsNegative(*question, DnsCode::kNameError);
  CHECK((negative[3] & 0xf) == 3);
  CHECK(negative[9] == 1);  // A SOA.
}

TEST_CASE("an OPT record is answered by one") {
  const auto with = ParseDnsQuestion(Header(0x0100, 1, 1) + Question(kDnsTypeA) + kOpt);
  const auto without = ParseDnsQuestion(Header(0x0100, 1) + Question(kDnsTypeA));
  REQUIRE((with.has_value() && without.has_value()));
  CHECK(with->has_edns);
  CHECK(DnsNegative(*with, DnsCode::kNoError).size() ==
        DnsNegative(*without, DnsCode::kNoError).size() + kOpt.size());
}

TEST_CASE("malformed questions get an error code and what is no question nothing") {
  CHECK_FALSE(ParseDnsQuestion("").has_value());
  CHECK_FALSE(ParseDnsQuestion(std::string(11, '\0')).has_value());
  CHECK_FALSE(ParseDnsQuestion(Header(0x8000, 1) + Question(1)).has_value());  // An answer.
  const struct {
    std::string message;
    DnsCode expected;
  } rows[] = {
      {Header(0x0100, 0), DnsCode::kFormatError},
      {Header(0x0100, 2) + Question(1) + Question(28), DnsCode::kFormatError},
      {Header(0x0100, 1), DnsCode::kFormatError},
      {Header(0x0100, 1) + Question(1).substr(0, 18), DnsCode::kFormatError},
      {Header(0x0100, 1) + std::string("\xc0\x0c\0\1\0\1", 6), DnsCode::kFormatError},
      {Header(0x0100, 1) + std::string("\x40", 1) + std::string(80, 'a'), DnsCode::kFormatError},
      {Header(0x2800, 1) + Question(1), DnsCode::kNotImplemented},     // UPDATE
      {Header(0x0100, 1) + Question(1, 3), DnsCode::kNotImplemented},  // CHAOS
  };
  for (const auto& row : rows) {
    const auto question = ParseDnsQuestion(row.message);
    REQUIRE(question.has_value());
    CHECK(static_cast<int>(question->problem) == static_cast<int>(row.expected));
    CHECK(DnsNegative(*question, question->problem).size() >= 12);
  }
}

TEST_CASE("bytes that no host name has do not make another name") {
  const std::string name("\6a.b\0c\x01\3com\0", 12);
  const auto question = ParseDnsQuestion(Header(0x0100, 1) + name + std::string("\0\1\0\1", 4));
  REQUIRE(question.has_value());
  CHECK(question->name == "a?b?c?.com");
}

TEST_CASE("a name of 255 bytes is read and a longer one is not") {
  std::string longest;
  for (int i = 0; i < 3; ++i) longest += std::string("\x3f") + std::string(63, 'a');
  const std::string fits = longest + std::string("\x3d") + std::string(61, 'b') + '\0';
  const std::string exceeds = longest + std::string("\x3e") + std::string(62, 'b') + '\0';
  const std::string tail("\0\1\0\1", 4);
  CHECK(ParseDnsQuestion(Header(0, 1) + fits + tail)->problem == DnsCode::kNoError);
  CHECK(ParseDnsQuestion(Header(0, 1) + exceeds + tail)->problem == DnsCode::kFormatError);
}

}  // namespace
}  // namespace cordon::internal::egress
