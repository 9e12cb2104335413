#include "values.h"

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon::cli {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a duration is a positive number with its unit") {
  CHECK(ParseDuration("500ms").value() == milliseconds(500));
  CHECK(ParseDuration("30s").value() == milliseconds(30'000));
  CHECK(ParseDuration("5m").value() == milliseconds(300'000));
  CHECK(ParseDuration("2h").value() == milliseconds(7'200'000));
}

TEST_CASE("a duration without a unit, of nothing, negative or beyond all bounds is refused") {
  for (const char* text : {"", "5", "s", "0s", "-1s", "+1s", "1.5s", "5 s", "5d", "soon", "1s1s",
                           "99999999999999999999s", "9223372036854775807h"}) {
    CAPTURE(text);
    CHECK(Is(ParseDuration(text).status(), ErrorCode::kInvalidOption));
  }
}

TEST_CASE("a size counts in powers of 1024") {
  CHECK(ParseSize("4096").value() == 4096);
  CHECK(ParseSize("64k").value() == 65'536);
  CHECK(ParseSize("10m").value() == 10'485'760);
  CHECK(ParseSize("2g").value() == 2'147'483'648);
}

TEST_CASE("a size with another unit, of nothing or negative is refused") {
  for (const char* text : {"", "k", "0", "0k", "-1", "10q", "64K ", "lots", "1e3"}) {
    CAPTURE(text);
    CHECK(Is(ParseSize(text).status(), ErrorCode::kInvalidOption));
  }
}

TEST_CASE("a count lies between one and its bound") {
  CHECK(ParseCount("1", 10).value() == 1);
  CHECK(ParseCount("10", 10).value() == 10);
  for (const char* text : {"0", "11", "-3", "x", "1k", ""}) {
    CAPTURE(text);
    CHECK(Is(ParseCount(text, 10).status(), ErrorCode::kInvalidOption));
  }
}

TEST_CASE("the nearest word is named only when it is near") {
  const std::vector<std::string> words = {"--deny-read", "--deny-write", "--net-any"};
  CHECK(NearestWord("--deny-raed", words) == "--deny-read");
  CHECK(NearestWord("--net-anny", words) == "--net-any");
  CHECK(NearestWord("--something-else", words).empty());
}

}  // namespace
}  // namespace cordon::cli
