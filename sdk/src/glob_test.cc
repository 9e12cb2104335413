#include "glob.h"

#include <string>
#include <string_view>
#include <utility>

#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon {
namespace {

using internal::EscapeGlob;
using internal::Glob;

Glob Compiled(std::string_view pattern) {
  absl::StatusOr<Glob> glob = Glob::Compile(pattern);
  INFO(pattern);
  REQUIRE(glob.ok());
  return *std::move(glob);
}

TEST_CASE("a star and a question mark stay within a component") {
  CHECK(GlobMatches("/a/*.c", "/a/x.c"));
  CHECK(GlobMatches("/a/*.c", "/a/.c"));
  CHECK_FALSE(GlobMatches("/a/*.c", "/a/b/x.c"));
  CHECK_FALSE(GlobMatches("/a/*.c", "/a/x.cc"));
  CHECK(GlobMatches("/a/*b*c*", "/a/xxbyyczz"));
  CHECK(GlobMatches("/a/*ab", "/a/aaab"));
  CHECK_FALSE(GlobMatches("/a/*ab", "/a/aaba"));
  CHECK(GlobMatches("/*/x", "/a/x"));
  CHECK_FALSE(GlobMatches("/*/x", "/x"));
  CHECK(GlobMatches("/a/?", "/a/b"));
  CHECK_FALSE(GlobMatches("/a/?", "/a/bb"));
  CHECK_FALSE(GlobMatches("/a?b", "/a/b"));
  CHECK(GlobMatches("/a/x**y", "/a/xzzy"));
  CHECK_FALSE(GlobMatches("/a/x**y", "/a/xz/zy"));
}

TEST_CASE("a leading dot is matched like any other character") {
  CHECK(GlobMatches("/a/*", "/a/.env"));
  CHECK(GlobMatches("/a/?env", "/a/.env"));
  CHECK_FALSE(GlobMatches("/a/.env", "/a/env"));
}

TEST_CASE("two stars are any number of components, none included") {
  CHECK(GlobMatches("/a/**/x", "/a/x"));
  CHECK(GlobMatches("/a/**/x", "/a/b/c/x"));
  CHECK_FALSE(GlobMatches("/a/**/x", "/b/x"));
  CHECK(GlobMatches("/a/**", "/a"));
  CHECK(GlobMatches("/a/**", "/a/b/c"));
  CHECK(GlobMatches("/**", "/"));
  CHECK(GlobMatches("/**/b/**/d", "/b/d"));
  CHECK(GlobMatches("/**/b/**/d", "/a/b/c/b/d"));
  CHECK_FALSE(GlobMatches("/**/b/**/d", "/d/b"));
  CHECK(GlobMatches("/a/**/**/x", "/a/x"));
}

TEST_CASE("classes have ranges and negation, also beyond ASCII") {
  CHECK(GlobMatches("/[abc]", "/b"));
  CHECK_FALSE(GlobMatches("/[abc]", "/d"));
  CHECK(GlobMatches("/[a-c]x", "/bx"));
  CHECK(GlobMatches("/[!a-c]", "/d"));
  CHECK(GlobMatches("/[^a-c]", "/d"));
  CHECK_FALSE(GlobMatches("/[!a-c]", "/b"));
  CHECK(GlobMatches("/[]a]", "/]"));
  CHECK(GlobMatches("/[a-]", "/-"));
  CHECK(GlobMatches("/[α-ω]", "/λ"));
  CHECK_FALSE(GlobMatches("/[α-ω]", "/l"));
  CHECK(GlobMatches("/?", "/é"));
  CHECK(GlobMatches("/x?", "/x\xFF"));
}

TEST_CASE("a bracket that is never closed is a character") {
  CHECK(GlobMatches("/a[b", "/a[b"));
  CHECK(GlobMatches("/a[b*", "/a[bc"));
  CHECK_FALSE(GlobMatches("/a[b", "/ab"));
  CHECK(GlobMatches("/[]", "/[]"));
}

TEST_CASE("a component also matches its own text") {
  CHECK(GlobMatches("/app/[id]/page", "/app/[id]/page"));
  CHECK(GlobMatches("/app/[id]/page", "/app/i/page"));
  CHECK(GlobMatches("/app/[...slug]", "/app/[...slug]"));
}

TEST_CASE("matching is case-sensitive") { CHECK_FALSE(GlobMatches("/A*", "/ab")); }

TEST_CASE("malformed patterns are refused with a reason") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "empty"},
      {"/a/[z-a]", "reversed"},
      {"/a/[b-é-a]x[9-1]", "reversed"},
      {"/a/../*", ".."},
      {std::string("/a\0*", 4), "NUL"},
      {"/" + std::string(5000, 'a'), "too long"},
  };
  for (const auto& [pattern, reason] : cases) {
    const absl::Status status = ValidateGlob(pattern);
    INFO(reason);
    CHECK(Is(status, ErrorCode::kInvalidProfile));
    CHECK(std::string(status.message()).find(reason) != std::string::npos);
  }
  std::string deep;
  for (int i = 0; i < 64; ++i) deep += "/*";
  CHECK_FALSE(ValidateGlob(deep).ok());
  CHECK(ValidateGlob(deep.substr(2)).ok());
  CHECK(ValidateGlob("**/*.key").ok());
}

TEST_CASE("a matched folder covers its tree") {
  CHECK(GlobCovers("/ws/**/secrets", "/ws/a/secrets/deep/file"));
  CHECK(GlobCovers("/ws/**/secrets", "/ws/secrets"));
  CHECK_FALSE(GlobCovers("/ws/**/secrets", "/ws/a/secretsx"));
  CHECK_FALSE(GlobMatches("/ws/**/secrets", "/ws/a/secrets/deep"));
  CHECK(Compiled("/ws/**/s").DeepestMatch("/ws/s/a/s/b") == std::string_view("/ws/s/a/s").size());
  CHECK_FALSE(Compiled("/ws/**/s").DeepestMatch("/ws/a").has_value());
}

TEST_CASE("it is known whether something below a folder could match") {
  CHECK(Compiled("/ws/**/x").CouldMatchWithin("/ws/a/b"));
  CHECK(Compiled("/ws/**/x").CouldMatchWithin("/"));
  CHECK(Compiled("/ws/*/x").CouldMatchWithin("/ws/a"));
  CHECK(Compiled("/ws/*/x").CouldMatchWithin("/ws/a/x/deep"));
  CHECK_FALSE(Compiled("/ws/*/x").CouldMatchWithin("/ws/a/y"));
  CHECK_FALSE(Compiled("/ws/x").CouldMatchWithin("/wsx"));
}

TEST_CASE("escaped text matches itself only, and is part of the literal prefix") {
  const std::string odd = "/ws/[a]/*?[/x";
  CHECK(GlobMatches(EscapeGlob(odd), odd));
  CHECK_FALSE(GlobMatches(EscapeGlob(odd), "/ws/a/*?[/x"));
  CHECK_FALSE(GlobMatches(EscapeGlob("/a*"), "/ab"));
  CHECK(Compiled(EscapeGlob(odd) + "/**/y").literal_prefix() == odd);
  CHECK(Compiled("/a/b/*.c").literal_prefix() == "/a/b");
  CHECK(Compiled("/**/x").literal_prefix() == "/");
  CHECK(Compiled("/a/b").literal_prefix() == "/a/b");
}

TEST_CASE("many stars do not make matching slow") {
  std::string pattern = "/";
  for (int i = 0; i < 40; ++i) pattern += "*a";
  CHECK_FALSE(GlobMatches(pattern + "b", "/" + std::string(250, 'a')));
  std::string deep;
  std::string path;
  for (int i = 0; i < 30; ++i) deep += "/**/a";
  for (int i = 0; i < 500; ++i) path += "/a";
  CHECK_FALSE(GlobMatches(deep + "/b", path));
}

}  // namespace
}  // namespace cordon
