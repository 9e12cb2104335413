#include "cordon/sdk/capability.h"

#include <string>
#include <vector>

#include "cordon/sdk/access.h"
#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon {
namespace {

using namespace std::string_literals;

TEST_CASE("the numbers and names of access are pinned") {
  CHECK(static_cast<int>(Access::kDeny) == 0);
  CHECK(static_cast<int>(Access::kGated) == 1);
  CHECK(static_cast<int>(Access::kAllow) == 2);
  CHECK(Access{} == Access::kDeny);
  CHECK(kAccessVersion == 1);
  CHECK(AccessName(Access::kDeny) == "deny");
  CHECK(AccessName(Access::kGated) == "gated");
  CHECK(AccessName(Access::kAllow) == "allow");
}

TEST_CASE("access is read back from its own names only") {
  for (const Access access : {Access::kDeny, Access::kGated, Access::kAllow}) {
    CHECK(ParseAccess(AccessName(access)) == access);
  }
  for (const char* text : {"", "Allow", "allow ", "ask", "2"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseAccess(text).has_value());
  }
}

TEST_CASE("the narrower of two is the minimum") {
  STATIC_REQUIRE(Min(Access::kAllow, Access::kGated) == Access::kGated);
  STATIC_REQUIRE(Min(Access::kDeny, Access::kAllow) == Access::kDeny);
  STATIC_REQUIRE(Max(Access::kDeny, Access::kGated) == Access::kGated);
}

TEST_CASE("capability kinds are read back from their own names only") {
  for (const CapabilityKind kind :
       {CapabilityKind::kCommandExecute, CapabilityKind::kNetwork, CapabilityKind::kFilesystemRead,
        CapabilityKind::kFilesystemWrite}) {
    const absl::StatusOr<CapabilityKind> parsed = ParseCapabilityKind(CapabilityKindName(kind));
    REQUIRE(parsed.ok());
    CHECK(*parsed == kind);
  }
  for (const char* name : {"", "command", "command.execute ", "filesystem", "Network"}) {
    CAPTURE(name);
    CHECK(Is(ParseCapabilityKind(name).status(), ErrorCode::kInvalidScope));
  }
}

TEST_CASE("every form of scope is read and written") {
  const std::vector<std::pair<std::string, Scope>> scopes = {
      {"", {Scope::Form::kNone, ""}},
      {"/", {Scope::Form::kPath, "/"}},
      {"/a/b", {Scope::Form::kPath, "/a/b"}},
      {"/a/..b/.c/...", {Scope::Form::kPath, "/a/..b/.c/..."}},
      {"/a b\n", {Scope::Form::kPath, "/a b\n"}},
      {"tree:/", {Scope::Form::kTree, "/"}},
      {"tree:/a", {Scope::Form::kTree, "/a"}},
      {"host:*", {Scope::Form::kHost, ""}},
  };
  for (const auto& [text, scope] : scopes) {
    CAPTURE(text);
    const absl::StatusOr<Scope> parsed = ParseScope(text);
    REQUIRE(parsed.ok());
    CHECK(*parsed == scope);
    CHECK(ScopeText(scope) == text);
  }
}

TEST_CASE("malformed scopes are refused") {
  const std::vector<std::string> malformed = {
      "a",      "./a",     "../a",    "/a/",    "//a",     "/a//b",  "/.",       "/..",
      "/a/./b", "/a/../b", "/a/..",   "/a\0b"s, "tree:",   "tree:a", "tree:/a/", "tree:tree:/a",
      "host:",  "host:/",  "host:*x", "HOST:*", "path:/a", " /a",    "*"};
  for (const std::string& text : malformed) {
    CAPTURE(text);
    CHECK(Is(ParseScope(text).status(), ErrorCode::kInvalidScope));
  }
}

TEST_CASE("a refused scope is named without its control characters") {
  CHECK(ParseScope("\x1b[2J").status().message().find("\\x1b[2J") != std::string::npos);
}

}  // namespace
}  // namespace cordon
