#include "hmac.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/digest.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

TEST_CASE("A key signs with the bytes that it was given") {
  const auto key = HmacKey::Generate([](absl::Span<std::uint8_t> bytes) {
    std::fill(bytes.begin(), bytes.end(), std::uint8_t{'k'});
    return true;
  });
  REQUIRE(key.ok());
  CHECK((*key)->Sign("text") == HmacSha256(std::string(HmacKey::kBytes, 'k'), "text"));
}

TEST_CASE("Random bytes fill all of a large buffer") {
  std::vector<std::uint8_t> bytes(100'000);
  REQUIRE(FillRandom(absl::MakeSpan(bytes)));
  CHECK(std::count(bytes.begin(), bytes.end(), 0) < 1000);
  const std::vector<std::uint8_t> end(bytes.end() - 16, bytes.end());
  CHECK(end != std::vector<std::uint8_t>(16, 0));
}

}  // namespace
}  // namespace cordon::internal
