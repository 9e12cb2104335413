#include "capture.h"

#include <string>
#include <string_view>
#include <utility>

#include "support/catch.h"

namespace cordon::internal {
namespace {

CapturedOutput Capture(std::string_view text, std::size_t head, std::size_t tail,
                       std::size_t chunk) {
  OutputCapture capture(head, tail);
  for (std::size_t i = 0; i < text.size(); i += chunk) capture.Add(text.substr(i, chunk));
  return std::move(capture).Finish();
}

bool ValidInPieces(std::string_view text, std::size_t chunk) {
  Utf8Validator validator;
  for (std::size_t i = 0; i < text.size(); i += chunk) validator.Add(text.substr(i, chunk));
  return validator.Valid();
}

TEST_CASE("output that fits is kept whole, whatever the pieces it arrives in") {
  const std::string text = "one\ntwo\nthree";
  for (std::size_t chunk = 1; chunk <= text.size(); ++chunk) {
    for (std::size_t head = 0; head <= text.size(); ++head) {
      const CapturedOutput output = Capture(text, head, text.size() - head, chunk);
      REQUIRE(output.head + output.tail == text);
      CHECK(output.head.size() == head);
      CHECK(output.omitted_bytes == 0);
      CHECK(output.total_lines == 2);
    }
  }
}

TEST_CASE("longer output keeps its first and its last bytes and counts all of it") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i) + "\n";
  for (const std::size_t chunk : {1U, 3U, 7U, 64U, 1000U, 100000U}) {
    const CapturedOutput output = Capture(text, 10, 23, chunk);
    CHECK(output.head == text.substr(0, 10));
    CHECK(output.tail == text.substr(text.size() - 23));
    CHECK(output.total_bytes == text.size());
    CHECK(output.omitted_bytes == text.size() - 33);
    CHECK(output.total_lines == 1000);
  }
}

TEST_CASE("nothing is kept when there is no room, and it is still counted") {
  const CapturedOutput output = Capture("abc\ndef", 0, 0, 2);
  CHECK(output.head.empty());
  CHECK(output.tail.empty());
  CHECK(output.omitted_bytes == 7);
  CHECK(output.total_lines == 1);
}

TEST_CASE("a gap does not cut a character in two, in any position") {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a\u00e9\u20ac\U0001F600";
  for (std::size_t head = 0; head < 12; ++head) {
    for (std::size_t tail = 1; tail < 12; ++tail) {
      const CapturedOutput output = Capture(text, head, tail, 5);
      REQUIRE(output.valid_utf8);
      CHECK(ValidInPieces(output.head, 1));
      CHECK(ValidInPieces(output.tail, 1));
      CHECK(output.omitted_bytes == text.size() - output.head.size() - output.tail.size());
      CHECK(text.substr(text.size() - output.tail.size()) == output.tail);
    }
  }
}

TEST_CASE("bytes that are no text are kept exactly, also at the gap") {
  const std::string text(100, '\x9f');
  const CapturedOutput output = Capture(text, 5, 7, 3);
  CHECK_FALSE(output.valid_utf8);
  CHECK(output.head.size() == 5);
  CHECK(output.tail.size() == 7);
}

TEST_CASE("what is discarded is counted and leaves whole characters") {
  OutputCapture capture(3, 100);
  capture.Add("ab\u20acde\u20ac");
  capture.Discard("\n\n");
  const CapturedOutput output = std::move(capture).Finish();
  CHECK(output.head + output.tail == "ab\u20acde\u20ac");
  CHECK(output.total_bytes == 12);
  CHECK(output.total_lines == 2);
  CHECK(output.omitted_bytes == 2);

  OutputCapture cut(100, 0);
  cut.Add("ab\xe2\x82");
  cut.Discard("\xac");
  const CapturedOutput whole = std::move(cut).Finish();
  CHECK(whole.head == "ab");
  CHECK(whole.omitted_bytes == 3);
}

TEST_CASE("UTF-8 is recognised across every boundary between pieces") {
  const std::string good =
      "plain text, long enough for the fast path "
      "\u00e9\u20ac\U0001F600\U0010FFFF\u0800\uD7FF\uE000";
  for (std::size_t chunk = 1; chunk <= good.size(); ++chunk) CHECK(ValidInPieces(good, chunk));
}

TEST_CASE("what RFC 3629 forbids is not UTF-8, in pieces of any size") {
  const std::string_view bad[] = {
      "\x80",  // a continuation alone
      "\xc0\xaf",
      "\xc1\xbf",  // over-long
      "\xe0\x9f\xbf",
      "\xf0\x8f\xbf\xbf",  // over-long
      "\xed\xa0\x80",      // a surrogate
      "\xf4\x90\x80\x80",
      "\xf5\x80\x80\x80",  // above U+10FFFF
      "\xff",
      "\xe2\x82",  // never valid, and not complete
      "\xe2\x82z",
      "\xf0\x9f\x98",  // interrupted, and not complete
      "12345678\xc3",
      "12345678\xff"
      "12345678",  // behind the fast path
  };
  for (const std::string_view text : bad) {
    for (std::size_t chunk = 1; chunk <= text.size(); ++chunk) {
      CAPTURE(text.size(), chunk);
      CHECK_FALSE(ValidInPieces(text, chunk));
    }
  }
}

}  // namespace
}  // namespace cordon::internal
