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

// A key shorter than a block is filled up with zeros (RFC 2104, section 2), so that the shorter
// ones of RFC 4231 can be had.
std::unique_ptr<HmacKey> KeyOf(std::string_view start) {
  auto key = HmacKey::Generate([start](absl::Span<std::uint8_t> bytes) {
    std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
    std::copy(start.begin(), start.end(), bytes.begin());
    return true;
  });
  REQUIRE(key.ok());
  return *std::move(key);
}

std::string SignedWith(std::string_view key, std::string_view text) {
  const absl::StatusOr<Mac> mac = KeyOf(key)->Sign(text);
  REQUIRE(mac.ok());
  return DigestHex(*mac);
}

TEST_CASE("Messages are signed as RFC 4231 says") {
  CHECK(SignedWith(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(SignedWith("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(SignedWith(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
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
