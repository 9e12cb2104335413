#include "launcher.h"

#include <sys/wait.h>

#include <string>

#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

#define NEEDS_NAMESPACES()                                       \
  if (const std::string why = WhyNoNamespaces(); !why.empty()) { \
    CORDON_SKIP("userns", why);                                  \
  }                                                              \
  static_assert(true)

TEST_CASE("a command runs, its output and its exit code come back, and the tree ends") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(SystemPlan(), "echo hello; exit 7");
  REQUIRE(ran.status.ok());
  REQUIRE(ran.events.size() == 2);
  CHECK(ran.events[0].kind == SpawnEvent::Kind::kStarted);
  CHECK(ran.output == "hello\n");
  CHECK(ran.exit_code() == 7);
  CHECK(ran.events[1].wall_microseconds > 0);
  CHECK(ran.events[1].max_rss_bytes > 0);
  CHECK(ran.tree_ended);
}

}  // namespace
}  // namespace cordon::internal::testing
