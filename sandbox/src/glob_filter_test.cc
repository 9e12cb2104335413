#include "glob_filter.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cordon/sdk/path_policy.h"
#include "directory_reader.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

std::vector<std::size_t> Matches(const GlobFilter& filter, const std::string& folder,
                                 std::string_view name) {
  NameMatcher matcher(filter);
  matcher.EnterFolder(folder);
  std::vector<std::size_t> found = matcher.Match(name);
  std::sort(found.begin(), found.end());
  return found;
}

// A pattern of a component, or of any depth.
constexpr const char* kComponents[] = {"**",    "*",   "a",    "b",   ".env", "*.key",
                                       "a*",    "?",   "[ab]", "*.a", "*a.b", "[!a]",
                                       "a.key", "a*y", ".e*",  "a*a", "a**b"};
constexpr const char* kNames[] = {"a",  "b",   ".env", "x.key", "a.key", "xa.b",
                                  ".a", "c.a", "aa",   "ab",    ".e"};

}  // namespace

TEST_CASE("the filter finds exactly what the globs match", "[glob_filter]") {
  std::vector<std::string> patterns;
  for (const std::string first : kComponents) {
    patterns.push_back("/w/" + first);
    for (const std::string second : kComponents) {
      patterns.push_back("/w/" + first + "/" + second);
      for (const std::string third : {"**", "a", "*.key"}) {
        patterns.push_back("/w/" + first + "/" + second + "/" + third);
      }
    }
  }
  const GlobFilter filter(patterns);
  std::vector<std::string> folders = {"/", "/w"};
  for (const std::string first : kNames) {
    folders.push_back("/w/" + first);
    for (const std::string second : kNames) folders.push_back("/w/" + first + "/" + second);
  }
  std::vector<std::string> wrong;
  for (const std::string& folder : folders) {
    for (const std::string name : kNames) {
      const std::string path = JoinPath(folder, name);
      std::vector<std::size_t> expected;
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        // What lies below a match is covered by it.
        std::string_view pattern = patterns[i];
        while (pattern.ends_with("/**")) pattern.remove_suffix(3);
        if (GlobMatches(pattern, path)) expected.push_back(i);
      }
      if (Matches(filter, folder, name) != expected) wrong.push_back(path);
    }
  }
  CHECK(wrong.empty());
}

TEST_CASE("a glob for everything in a folder matches the folder", "[glob_filter]") {
  const GlobFilter filter({"/w/secret/**"});
  CHECK(Matches(filter, "/w", "secret") == std::vector<std::size_t>{0});
  CHECK(Matches(filter, "/w", "other").empty());
}

TEST_CASE("the base of a glob ends before its first special component", "[glob_filter]") {
  CHECK(GlobBase("/w/a/**/x") == "/w/a");
  CHECK(GlobBase("/w/a/x*") == "/w/a");
  CHECK(GlobBase("/**/x") == "/");
  CHECK(GlobBase("/*") == "/");
  CHECK(GlobBase("/w/literal") == "/w");
}

}  // namespace cordon::internal
