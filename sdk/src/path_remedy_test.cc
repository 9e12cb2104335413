#include "cordon/sdk/path_remedy.h"

#include "support/catch.h"

namespace cordon {
namespace {

TEST_CASE("what a glob denies is allowed by leaving the glob out") {
  const PathDecision globbed{Access::kDeny, "/w/**/.env", "deny_read"};
  CHECK(PathRemedy(Axis::kRead, globbed, "/w/a/.env", true) == "without --deny-read '/w/**/.env'");
  CHECK(PathRemedy(Axis::kWrite, globbed, "/w/a/.env", true) == "without --deny-read '/w/**/.env'");
  const PathDecision written{Access::kDeny, "/w/**/*.lock", "deny_write"};
  CHECK(PathRemedy(Axis::kWrite, written, "/w/a.lock", true) ==
        "without --deny-write '/w/**/*.lock'");
}

TEST_CASE("what another rule denies is allowed by a narrower one for it, or for its folder") {
  const PathDecision host{Access::kDeny, "/", "host"};
  CHECK(PathRemedy(Axis::kRead, host, "/srv/it", true) == "--read /srv/it");
  CHECK(PathRemedy(Axis::kWrite, host, "/srv/it's", true) == "--write '/srv/it'\\''s'");
  CHECK(PathRemedy(Axis::kWrite, host, "/srv/new", false) == "--write /srv");
  CHECK(PathRemedy(Axis::kRead, host, "/new", false) == "--read /");
  const PathDecision literal{Access::kDeny, "/w/a", "deny_read"};
  CHECK(PathRemedy(Axis::kRead, literal, "/w/a/b", true) == "--read /w/a/b");
  const PathDecision hooks{Access::kDeny, "/w/**/.git/hooks", "protect_paths"};
  CHECK(PathRemedy(Axis::kWrite, hooks, "/w/.git/hooks", true) == "--write /w/.git/hooks");
}

}  // namespace
}  // namespace cordon
