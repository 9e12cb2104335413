#include "user_key.h"

#include <optional>

#include "cordon/sdk/digest.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

TEST_CASE("a user's key is the same for each program, and signs each text otherwise", "[index]") {
  const std::optional<UserKey> made = UserKey::FindOrMake();
  if (!made.has_value()) CORDON_SKIP("keyrings", "no keys of the kernel");
  const std::optional<UserKey> found = UserKey::Find();
  REQUIRE(found.has_value());
  CHECK(made->Sign("text") == found->Sign("text"));
  CHECK(made->Sign("text") != found->Sign("texu"));
  CHECK(made->Sign("text") != Sha256("text"));
}

}  // namespace
}  // namespace cordon::internal
