#include "cordon/sdk/path_policy.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon {
namespace {

constexpr Access kDeny = Access::kDeny;
constexpr Access kGated = Access::kGated;
constexpr Access kAllow = Access::kAllow;

PathRule Tree(std::string path, Access read, Access write) {
  return {.path = std::move(path),
          .shape = PathShape::kTree,
          .read = read,
          .execute = read,
          .write = write,
          .origin = "test"};
}

PathRule Exact(std::string path, Access read, Access write) {
  PathRule rule = Tree(std::move(path), read, write);
  rule.shape = PathShape::kExact;
  return rule;
}

PathRule OnlyRead(std::string path, Access read) {
  PathRule rule = Tree(std::move(path), read, kDeny);
  rule.execute.reset();
  rule.write.reset();
  return rule;
}

PathRule OnlyWrite(std::string path, Access write) {
  PathRule rule = Tree(std::move(path), kDeny, write);
  rule.read.reset();
  rule.execute.reset();
  return rule;
}

GlobRule Glob(std::string pattern, GlobRule::Effect effect) {
  return {.pattern = std::move(pattern), .effect = effect, .origin = "glob"};
}
GlobRule DenyRead(std::string pattern) {
  return Glob(std::move(pattern), GlobRule::Effect::kDenyRead);
}
GlobRule DenyWrite(std::string pattern) {
  return Glob(std::move(pattern), GlobRule::Effect::kDenyWrite);
}
GlobRule Protect(std::string pattern) {
  return Glob(std::move(pattern), GlobRule::Effect::kProtect);
}

Access Read(const PathPolicy& policy, std::string_view path) {
  return policy.Resolve(Axis::kRead, path).access;
}
Access Execute(const PathPolicy& policy, std::string_view path) {
  return policy.Resolve(Axis::kExecute, path).access;
}
Access Write(const PathPolicy& policy, std::string_view path) {
  return policy.Resolve(Axis::kWrite, path).access;
}

TEST_CASE("a policy without rules denies everything and says so") {
  const PathPolicy policy;
  for (const Axis axis : {Axis::kRead, Axis::kExecute, Axis::kWrite}) {
    const PathDecision decision = policy.Resolve(axis, "/any/path");
    CHECK(decision.access == kDeny);
    CHECK(decision.rule.empty());
    CHECK(decision.origin == "no rule allows it");
    CHECK(policy.ResolveTree(axis, "/").access == kDeny);
  }
}

TEST_CASE("the longest literal rule wins on each axis, outside it the broader one applies") {
  const PathPolicy policy({Tree("/", kAllow, kDeny), Tree("/ws", kAllow, kAllow),
                           OnlyWrite("/ws/vendor", kDeny), OnlyRead("/etc", kDeny)},
                          {});
  CHECK(Read(policy, "/usr/bin") == kAllow);
  CHECK(Write(policy, "/usr/bin") == kDeny);
  CHECK(Write(policy, "/ws/a") == kAllow);
  CHECK(Read(policy, "/ws/vendor/x") == kAllow);
  CHECK(Execute(policy, "/ws/vendor/x") == kAllow);
  CHECK(Write(policy, "/ws/vendor/x") == kDeny);
  CHECK(Write(policy, "/ws/vendored") == kAllow);
  CHECK(Read(policy, "/etc/passwd") == kDeny);
}

TEST_CASE("a decision names the deciding rule and its origin") {
  const PathPolicy policy({Tree("/ws", kAllow, kAllow)}, {DenyRead("/ws/**/*.key")});
  CHECK(policy.Resolve(Axis::kRead, "/ws/a").rule == "/ws");
  CHECK(policy.Resolve(Axis::kRead, "/ws/a").origin == "test");
  CHECK(policy.Resolve(Axis::kRead, "/ws/a.key").rule == "/ws/**/*.key");
  CHECK(policy.Resolve(Axis::kRead, "/ws/a.key").origin == "glob");
}

TEST_CASE("a prefix is matched by whole components") {
  const PathPolicy policy({Tree("/repo", kAllow, kAllow)}, {});
  CHECK(Read(policy, "/repo") == kAllow);
  CHECK(Read(policy, "/repo/x") == kAllow);
  CHECK(Read(policy, "/repository") == kDeny);
  CHECK(Read(policy, "/repo-x/y") == kDeny);
}

TEST_CASE("a deeper allow survives a shallower deny, and the other way round") {
  const PathPolicy policy(
      {Tree("/a", kDeny, kDeny), Tree("/a/b", kAllow, kAllow), Tree("/a/b/c", kDeny, kDeny)}, {});
  CHECK(Read(policy, "/a/x") == kDeny);
  CHECK(Read(policy, "/a/b/x") == kAllow);
  CHECK(Read(policy, "/a/b/c/x") == kDeny);
}

TEST_CASE("at the same path and shape the narrowest access wins, in any order") {
  for (const bool swapped : {false, true}) {
    std::vector<PathRule> rules = {Tree("/a", kAllow, kAllow), Tree("/a", kGated, kDeny)};
    if (swapped) std::swap(rules[0], rules[1]);
    const PathPolicy policy(rules, {});
    CHECK(Read(policy, "/a/x") == kGated);
    CHECK(Write(policy, "/a/x") == kDeny);
  }
}

TEST_CASE("rules of the same path that decide different axes add up") {
  const PathPolicy policy({OnlyRead("/a", kAllow), OnlyWrite("/a", kAllow)}, {});
  CHECK(Read(policy, "/a/x") == kAllow);
  CHECK(Write(policy, "/a/x") == kAllow);
  CHECK(Execute(policy, "/a/x") == kDeny);
}

TEST_CASE("an exact rule decides for its object alone") {
  const PathPolicy allow({Tree("/d", kDeny, kDeny), Exact("/d", kAllow, kDeny)}, {});
  CHECK(Read(allow, "/d") == kAllow);
  CHECK(Read(allow, "/d/child") == kDeny);
  const PathPolicy deny({Tree("/d", kAllow, kAllow), Exact("/d", kDeny, kDeny)}, {});
  CHECK(Read(deny, "/d") == kDeny);
  CHECK(Read(deny, "/d/child") == kAllow);
  const PathPolicy file({Tree("/", kDeny, kDeny), Exact("/d/f", kAllow, kDeny)}, {});
  CHECK(Read(file, "/d/f") == kAllow);
  CHECK(Read(file, "/d") == kDeny);
  CHECK(Read(file, "/d/g") == kDeny);
}

TEST_CASE("what cannot be read cannot be written or executed") {
  const PathPolicy policy({Tree("/ws", kAllow, kAllow), OnlyRead("/ws/secret", kDeny),
                           OnlyWrite("/ws/secret/inner", kAllow), OnlyRead("/ws/asked", kGated)},
                          {});
  CHECK(Write(policy, "/ws/x") == kAllow);
  CHECK(Execute(policy, "/ws/secret/x") == kDeny);
  CHECK(Write(policy, "/ws/secret/x") == kDeny);
  CHECK(Write(policy, "/ws/secret/inner/x") == kDeny);
  CHECK(Write(policy, "/ws/asked/x") == kGated);
  CHECK(policy.Resolve(Axis::kWrite, "/ws/secret/inner/x").rule == "/ws/secret");
}

TEST_CASE("a deny glob beats every literal allow, at the root and in nested folders") {
  const PathPolicy policy({Tree("/ws", kAllow, kAllow), Tree("/ws/a/.env", kAllow, kAllow)},
                          {DenyRead("/ws/**/.env"), DenyWrite("/ws/**/*.lock")});
  CHECK(Read(policy, "/ws/.env") == kDeny);
  CHECK(Read(policy, "/ws/a/.env") == kDeny);
  CHECK(Read(policy, "/ws/a/b/.env/inside") == kDeny);
  CHECK(Execute(policy, "/ws/.env") == kDeny);
  CHECK(Write(policy, "/ws/.env") == kDeny);
  CHECK(Read(policy, "/ws/env") == kAllow);
  CHECK(Read(policy, "/ws/x.env") == kAllow);
  CHECK(Read(policy, "/ws/a.lock") == kAllow);
  CHECK(Execute(policy, "/ws/a.lock") == kAllow);
  CHECK(Write(policy, "/ws/a.lock") == kDeny);
  CHECK(Write(policy, "/ws/a.lock2") == kAllow);
}

TEST_CASE("a malformed deny glob denies everything, a malformed pattern alone matches nothing") {
  const PathPolicy policy({Tree("/", kAllow, kAllow)}, {DenyWrite("/ws/[z-a]")});
  CHECK(Read(policy, "/ws/x") == kAllow);
  CHECK(Write(policy, "/elsewhere") == kDeny);
  CHECK_FALSE(GlobMatches("/ws/[z-a]", "/ws/m"));
}

TEST_CASE("noisy paths resolve like their cleaned form, relative ones are denied") {
  const PathPolicy policy({Tree("/ws//./a/", kAllow, kAllow), Tree("/ws/a/b", kDeny, kDeny)},
                          {DenyRead("/ws/a/*.key")});
  CHECK(Read(policy, "/ws/./a//x") == kAllow);
  CHECK(Read(policy, "/ws/a/b/../x") == kAllow);
  CHECK(Read(policy, "/ws/a/x/../b/y") == kDeny);
  CHECK(Read(policy, "/ws/a/../../../ws/a/") == kAllow);
  CHECK(Read(policy, "/ws/a/./k.key") == kDeny);
  CHECK(Read(policy, "/../ws/a") == kAllow);
  CHECK(Read(policy, "ws/a") == kDeny);
  CHECK(Read(policy, "") == kDeny);
}

TEST_CASE("a protected path inside a writable root can be read but not written") {
  const PathPolicy policy({Tree("/ws", kAllow, kAllow)},
                          {Protect("/ws/**/.git/hooks"), Protect("/ws/.vscode")});
  CHECK(Write(policy, "/ws/.git/index") == kAllow);
  CHECK(Read(policy, "/ws/.git/hooks/pre-commit") == kAllow);
  CHECK(Execute(policy, "/ws/.git/hooks/pre-commit") == kAllow);
  CHECK(Write(policy, "/ws/.git/hooks") == kDeny);
  CHECK(Write(policy, "/ws/.git/hooks/pre-commit") == kDeny);
  CHECK(Write(policy, "/ws/sub/.git/hooks/pre-commit") == kDeny);
  CHECK(Write(policy, "/ws/sub/.vscode") == kAllow);
  CHECK(policy.Resolve(Axis::kWrite, "/ws/.vscode/x").rule == "/ws/.vscode");
}

TEST_CASE("a root that names a protected path, or one below it, lifts the protection there") {
  const PathPolicy policy({Tree("/ws", kAllow, kAllow), Tree("/ws/.git/hooks", kAllow, kAllow),
                           Tree("/ws/.vscode/inner", kAllow, kAllow)},
                          {Protect("/ws/**/.git/hooks"), Protect("/ws/.vscode")});
  CHECK(Write(policy, "/ws/.git/hooks/pre-commit") == kAllow);
  CHECK(Write(policy, "/ws/.vscode/inner/x") == kAllow);
  CHECK(Write(policy, "/ws/.vscode/other") == kDeny);
  // Another protected path below the named one keeps its own protection.
  CHECK(Write(policy, "/ws/.git/hooks/sub/.git/hooks/x") == kDeny);
}

TEST_CASE("a tree has the narrowest access of what is in it") {
  const PathPolicy policy(
      {Tree("/", kDeny, kDeny), Tree("/ws", kAllow, kAllow), Tree("/ws/asked", kGated, kGated),
       Exact("/ws/one", kDeny, kDeny), Tree("/data", kAllow, kAllow), Tree("/lib", kAllow, kDeny)},
      {});
  CHECK(policy.ResolveTree(Axis::kRead, "/data").access == kAllow);
  CHECK(policy.ResolveTree(Axis::kRead, "/data/deep").access == kAllow);
  CHECK(policy.ResolveTree(Axis::kRead, "/ws/asked").access == kGated);
  CHECK(policy.ResolveTree(Axis::kRead, "/ws").access == kDeny);
  CHECK(policy.ResolveTree(Axis::kRead, "/ws").rule == "/ws/one");
  CHECK(policy.ResolveTree(Axis::kRead, "/ws/other").access == kAllow);
  CHECK(policy.ResolveTree(Axis::kRead, "/").access == kDeny);
  CHECK(policy.ResolveTree(Axis::kWrite, "/lib").access == kDeny);
}

TEST_CASE("an exact rule at its root does not speak for a tree's content") {
  const PathPolicy policy({Tree("/", kDeny, kDeny), Exact("/d", kAllow, kAllow)}, {});
  CHECK(policy.Resolve(Axis::kRead, "/d").access == kAllow);
  CHECK(policy.ResolveTree(Axis::kRead, "/d").access == kDeny);
}

TEST_CASE("a deny glob counts for every tree in which it could match") {
  const PathPolicy policy(
      {Tree("/", kAllow, kAllow)},
      {DenyRead("/ws/**/*.key"), DenyWrite("/data/[ab]/x"), Protect("/p/.git")});
  CHECK(policy.ResolveTree(Axis::kRead, "/ws").access == kDeny);
  CHECK(policy.ResolveTree(Axis::kRead, "/ws/deep/er").access == kDeny);
  CHECK(policy.ResolveTree(Axis::kRead, "/").access == kDeny);
  CHECK(policy.ResolveTree(Axis::kRead, "/data").access == kAllow);
  CHECK(policy.ResolveTree(Axis::kWrite, "/data").access == kDeny);
  CHECK(policy.ResolveTree(Axis::kWrite, "/data/b").access == kDeny);
  CHECK(policy.ResolveTree(Axis::kWrite, "/data/c").access == kAllow);
  // Protection is carved out of a tree, not held against it; its own path is not writable.
  CHECK(policy.ResolveTree(Axis::kWrite, "/p").access == kAllow);
  CHECK(policy.ResolveTree(Axis::kWrite, "/p/.git").access == kDeny);
}

TEST_CASE("a granted tree opens what is gated at its path and below it, and nothing denied") {
  const PathPolicy policy({Tree("/", kGated, kGated), Tree("/ws", kGated, kGated),
                           Tree("/ws/in", kGated, kDeny), Tree("/ws/no", kDeny, kDeny)},
                          {DenyRead("/ws/*.key")});
  PathRule grant = OnlyRead("/ws", kAllow);
  const PathPolicy granted = policy.With({grant});
  CHECK(Read(policy, "/ws/x") == kGated);
  CHECK(Read(granted, "/ws/x") == kAllow);
  CHECK(Write(granted, "/ws/x") == kGated);
  CHECK(Read(granted, "/ws/in/x") == kAllow);
  CHECK(Read(granted, "/ws/no/x") == kDeny);
  CHECK(Read(granted, "/ws/a.key") == kDeny);
  CHECK(Read(granted, "/other") == kGated);
  CHECK(Read(policy, "/ws/x") == kGated);
}

TEST_CASE("a granted path opens that object alone") {
  const PathPolicy policy({Tree("/", kGated, kDeny), Tree("/no", kDeny, kDeny)}, {});
  const PathPolicy granted = policy.With({Exact("/d/f", kAllow, kAllow)});
  CHECK(Read(granted, "/d/f") == kAllow);
  CHECK(Read(granted, "/d/f/x") == kGated);
  CHECK(Read(granted, "/d") == kGated);
  CHECK(Write(granted, "/d/f") == kAllow);
  CHECK(Read(granted.With({Exact("/e", kAllow, kDeny)}), "/d/f") == kAllow);
  CHECK(Read(PathPolicy().With({Tree("/x", kAllow, kDeny)}), "/x/y") == kAllow);
}

TEST_CASE("rules are kept sorted, exact before tree, in normal form") {
  const PathPolicy policy({Tree("/b", kAllow, kDeny), Tree("/a/./x/", kAllow, kDeny),
                           Exact("/b", kAllow, kDeny), Tree("relative", kAllow, kAllow)},
                          {});
  REQUIRE(policy.rules().size() == 3);
  CHECK(policy.rules()[0].path == "/a/x");
  CHECK(policy.rules()[1].shape == PathShape::kExact);
  CHECK(policy.rules()[2].shape == PathShape::kTree);
}

TEST_CASE("paths become normal by text alone") {
  CHECK(NormalizePath("/") == "/");
  CHECK(NormalizePath("//a/./b//c/") == "/a/b/c");
  CHECK(NormalizePath("/a/../..") == "/");
  CHECK(NormalizePath("/a/b/../c") == "/a/c");
  CHECK(NormalizePath("/a/.../b") == "/a/.../b");
  CHECK(IsWithin("/a/b", "/a"));
  CHECK(IsWithin("/a", "/a"));
  CHECK(IsWithin("/a", "/"));
  CHECK_FALSE(IsWithin("/ab", "/a"));
  CHECK_FALSE(IsWithin("/", "/a"));
}

TEST_CASE("two hundred rules and two hundred globs stay cheap") {
  std::vector<PathRule> rules = {Tree("/", kAllow, kDeny)};
  std::vector<GlobRule> globs;
  for (int i = 0; i < 200; ++i) {
    const std::string name = std::to_string(i);
    rules.push_back(Tree("/ws/folder" + name + "/deep", kAllow, kAllow));
    globs.push_back(DenyRead("/ws/folder" + name + "/**/*.key"));
  }
  const PathPolicy policy(rules, globs);
  const auto start = std::chrono::steady_clock::now();
  int allowed = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string path = "/ws/folder" + std::to_string(i % 200) + "/deep/a/b/c/d/e/file.txt";
    allowed += Write(policy, path) == kAllow ? 1 : 0;
  }
  CHECK(allowed == 20000);
  // Generous, for sanitizers and busy machines: 1 to 2 us each are usual.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

}  // namespace
}  // namespace cordon
