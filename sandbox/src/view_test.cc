#include "view.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cordon/sdk/status.h"
#include "support/catch.h"
#include "view_system.h"
#include "view_testing.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::ViewFixture;
using Kind = ViewOp::Kind;

const ViewOp* FindOp(const CompiledView& view, Kind kind, const std::string& target) {
  for (const ViewOp& op : view.ops) {
    if (op.kind == kind && op.target == target) return &op;
  }
  return nullptr;
}

bool Has(const CompiledView& view, Kind kind, const std::string& target) {
  return FindOp(view, kind, target) != nullptr;
}

bool IsAbsent(const CompiledView& view, const std::string& path) {
  return std::any_of(view.absent.begin(), view.absent.end(),
                     [&](const AbsentName& name) { return name.path == path; });
}

bool HasEntry(const CompiledView& view, const std::string& feature, FeatureStatus status) {
  return std::any_of(view.entries.begin(), view.entries.end(), [&](const ReportEntry& entry) {
    return entry.feature == feature && entry.status == status;
  });
}

bool MountsOver(Kind kind) {
  return kind == Kind::kBind || kind == Kind::kProtect || kind == Kind::kMask ||
         kind == Kind::kTmpfs;
}

bool Allows(const PathPolicy& paths, Axis axis, const std::string& path) {
  const std::string inside = fs::is_directory(path) ? path + "/a name without a rule" : path;
  return paths.Resolve(axis, inside).access == Access::kAllow;
}

// What must hold for every view, whatever the profile.
void CheckView(const Profile& profile, const CompiledView& view) {
  std::set<std::string> kept;  // Keep their place.
  for (const ViewOp& op : view.ops) {
    if (MountsOver(op.kind) || op.kind == Kind::kPin) kept.insert(op.target);
  }
  std::set<std::string> masked;
  std::set<std::string> writable;
  std::vector<std::string> done;
  for (const ViewOp& op : view.ops) {
    CAPTURE(op.target);
    for (const std::string& earlier : done) {
      const bool covers_earlier = earlier != op.target && IsWithin(earlier, op.target);
      if (covers_earlier) CHECK_FALSE(covers_earlier);
    }
    done.push_back(op.target);
    for (const std::string& mask : masked) CHECK_FALSE(IsWithin(op.target, mask));
    switch (op.kind) {
      case Kind::kBind:
        if (op.source != op.target) break;  // Private folders and files behind a link.
        CHECK(Allows(profile.paths(), Axis::kRead, op.target));
        CHECK(op.read_only != Allows(profile.paths(), Axis::kWrite, op.target));
        if (!op.read_only) writable.insert(op.target);
        break;
      case Kind::kMask:
        masked.insert(op.target);
        [[fallthrough]];
      case Kind::kTmpfs:
      case Kind::kProtect:
        for (const std::string& root : writable) {
          if (op.target == root || !IsWithin(op.target, root)) continue;
          for (fs::path above = fs::path(op.target).parent_path(); above != root;
               above = above.parent_path()) {
            const bool is_below_read_only =
                std::any_of(kept.begin(), kept.end(), [&](const std::string& path) {
                  return IsWithin(above.string(), path) && path != root && IsWithin(path, root) &&
                         !Allows(profile.paths(), Axis::kWrite, path);
                });
            CHECK((kept.contains(above.string()) || is_below_read_only));
          }
        }
        break;
      case Kind::kDir:
      case Kind::kFile:
      case Kind::kSymlink:
      case Kind::kPin:
      case Kind::kProc:
      case Kind::kDev:
      case Kind::kSocket:
        break;
    }
  }
}

}  // namespace

TEST_CASE("every preset's view holds the rules of views", "[view]") {
  const ViewFixture fixture;
  fixture.Write("ws/.git/config");
  fixture.Write("ws/.git/hooks/pre-commit.sample");
  fixture.Write("ws/vendor/sub/.git/config");
  fixture.Write("ws/.env");
  fixture.Write("ws/a/b/prod.key");
  fixture.Write("ws/keep/secret/open/f");
  fixture.Write("outside/ro/rw/ro/f");
  for (const char* preset : {"read-only", "workspace", "trusted"}) {
    for (const HomeMode home : {HomeMode::kIsolated, HomeMode::kReal}) {
      ProfileConfig config = fixture.Config(preset);
      config.home = home;
      const Profile plain = fixture.MakeProfile(config);
      CheckView(plain, fixture.Compile(plain));

      config.deny_read = {fixture.workspace + "/keep/secret"};
      config.deny_write = {fixture.workspace + "/keep"};
      config.additional_roots = {
          {fixture.outside, Access::kAllow, Access::kAllow},
          {fixture.outside + "/ro", Access::kAllow, Access::kDeny},
          {fixture.outside + "/ro/rw", Access::kAllow, Access::kAllow},
          {fixture.outside + "/ro/rw/ro", Access::kAllow, Access::kDeny},
          {fixture.workspace + "/keep/secret/open", Access::kAllow, Access::kDeny},
      };
      const Profile nested = fixture.MakeProfile(config);
      CheckView(nested, fixture.Compile(nested));
    }
  }
}

TEST_CASE("the home and everything outside the roots is not in the view", "[view]") {
  const ViewFixture fixture;
  fixture.Write("home/.ssh/id");
  const CompiledView view = fixture.Compile(fixture.Config());
  for (const ViewOp& op : view.ops) {
    CHECK_FALSE(IsWithin(op.target, fixture.home));
    CHECK_FALSE(IsWithin(op.target, fixture.outside));
    CHECK(op.target.find("shadow") == std::string::npos);
  }
  CHECK(Has(view, Kind::kBind, fixture.workspace));
  CHECK(Has(view, Kind::kProc, "/proc"));
  CHECK(Has(view, Kind::kDev, "/dev"));
}

TEST_CASE("one file of a hidden folder is shown alone", "[view]") {
  const ViewFixture fixture;
  const std::string known = fixture.Write("home/.ssh/known_hosts");
  ProfileConfig config = fixture.Config();
  config.additional_roots = {{known, Access::kAllow, Access::kDeny}};
  const CompiledView view = fixture.Compile(config);
  const ViewOp* op = FindOp(view, Kind::kBind, known);
  REQUIRE(op != nullptr);
  CHECK(op->read_only);
  CHECK_FALSE(Has(view, Kind::kBind, fixture.home));
}

TEST_CASE("with the host readable its top is shown without the private places", "[view]") {
  const ViewFixture fixture;
  const CompiledView view = fixture.Compile(fixture.Config("trusted"));
  CHECK(Has(view, Kind::kBind, "/usr"));
  CHECK(Has(view, Kind::kBind, "/etc"));
  CHECK_FALSE(Has(view, Kind::kBind, "/"));
  for (const char* path : {"/proc", "/sys", "/dev", "/run"}) {
    CHECK_FALSE(Has(view, Kind::kBind, path));
  }
  if (fs::exists("/etc/shadow")) CHECK(Has(view, Kind::kMask, "/etc/shadow"));
}

TEST_CASE("denied globs become masks, and a plain deny of writing becomes a protection", "[view]") {
  const ViewFixture fixture;
  const std::string secret = fixture.Write("ws/a/.env");
  const std::string lock = fixture.Write("ws/a/x.lock");
  ProfileConfig config = fixture.Config();
  config.deny_read = {"**/.env"};
  config.deny_write = {"**/*.lock"};
  const CompiledView view = fixture.Compile(config);
  CHECK(Has(view, Kind::kMask, secret));
  CHECK(Has(view, Kind::kProtect, lock));
  CHECK(Has(view, Kind::kPin, fixture.workspace + "/a"));
  CHECK(HasEntry(view, "filesystem.globs", FeatureStatus::kNarrowed));
}

TEST_CASE("a folder may be moved when a match in it stays one", "[view]") {
  const ViewFixture fixture;
  fixture.Write("ws/a/b/.env");
  fixture.Write("ws/c/secrets/key");
  ProfileConfig config = fixture.Config();
  config.deny_read = {"**/.env", "**/secrets/key"};
  const CompiledView view = fixture.Compile(config);
  CHECK_FALSE(Has(view, Kind::kPin, fixture.workspace + "/a"));
  CHECK_FALSE(Has(view, Kind::kPin, fixture.workspace + "/c"));
  CHECK(Has(view, Kind::kPin, fixture.workspace + "/c/secrets"));

  config.deny_read = {"a/**/.env"};  // Outside of `a` it would be none.
  CHECK(Has(fixture.Compile(config), Kind::kPin, fixture.workspace + "/a"));
}

TEST_CASE("an allowed root inside a folder that a glob denies stays denied", "[view]") {
  const ViewFixture fixture;
  fixture.Write("ws/secret/open/f");
  ProfileConfig config = fixture.Config();
  config.deny_read = {"**/secret"};
  config.additional_roots = {{fixture.workspace + "/secret/open", Access::kAllow, Access::kAllow}};
  const CompiledView view = fixture.Compile(config);
  CHECK(Has(view, Kind::kMask, fixture.workspace + "/secret"));
  CHECK_FALSE(Has(view, Kind::kBind, fixture.workspace + "/secret/open"));
}

TEST_CASE("a denied name that does not exist must stay missing where it could be made", "[view]") {
  const ViewFixture fixture;
  ProfileConfig config = fixture.Config();
  config.deny_write = {fixture.workspace + "/absent/file"};
  config.deny_read = {fixture.home + "/.aws"};
  const CompiledView view = fixture.Compile(config);
  CHECK(IsAbsent(view, fixture.workspace + "/absent/file"));
  CHECK(IsAbsent(view, fixture.workspace + "/.vscode"));
  CHECK_FALSE(IsAbsent(view, fixture.home + "/.aws"));
  CHECK_FALSE(fs::exists(fixture.workspace + "/absent"));
}

TEST_CASE("a root that does not exist is left out and named", "[view]") {
  const ViewFixture fixture;
  ProfileConfig config = fixture.Config();
  config.additional_roots = {{fixture.top / "missing", Access::kAllow, Access::kAllow}};
  const CompiledView view = fixture.Compile(config);
  CHECK_FALSE(Has(view, Kind::kBind, fixture.top / "missing"));
  CHECK(HasEntry(view, "view", FeatureStatus::kNarrowed));
}

TEST_CASE("both names of a denied file are masked", "[view]") {
  const ViewFixture fixture;
  const std::string secret = fixture.Write("ws/a/.env");
  fs::create_hard_link(secret, fixture.workspace + "/alias");
  ProfileConfig config = fixture.Config();
  config.deny_read = {"**/.env"};
  const CompiledView view = fixture.Compile(config);
  CHECK(Has(view, Kind::kMask, secret));
  CHECK(Has(view, Kind::kMask, fixture.workspace + "/alias"));
}

TEST_CASE("every name of what is in a denied folder is masked", "[view]") {
  const ViewFixture fixture;
  const std::string secret = fixture.Write("ws/secret/deep/key");
  fs::create_hard_link(secret, fixture.workspace + "/alias");
  ProfileConfig config = fixture.Config();
  config.deny_read = {fixture.workspace + "/secret"};
  CHECK(Has(fixture.Compile(config), Kind::kMask, fixture.workspace + "/alias"));
  config.deny_read = {"**/secret"};
  CHECK(Has(fixture.Compile(config), Kind::kMask, fixture.workspace + "/alias"));
}

TEST_CASE("the folder of all executors is hidden where a root would show it", "[view]") {
  const ViewFixture fixture;
  ProfileConfig config = fixture.Config();
  config.additional_roots = {{fixture.top.path(), Access::kAllow, Access::kAllow}};
  const CompiledView view = fixture.Compile(config);
  CHECK(Has(view, Kind::kMask, fixture.top / "scratch"));
  CHECK(Has(view, Kind::kBind, kHomeInView));
}

TEST_CASE("what the policy names of /tmp is the host's, and TMPDIR is elsewhere", "[view]") {
  const ViewFixture fixture;
  ProfileConfig config = fixture.Config();
  CHECK(FindFoldersInView(fixture.MakeProfile(config)).temporary == "/tmp");
  config.additional_roots = {{"/tmp", Access::kAllow, Access::kDeny}};
  const Profile profile = fixture.MakeProfile(config);
  CHECK(FindFoldersInView(profile).temporary == kTemporaryInView);
  const CompiledView view = fixture.Compile(profile);
  const ViewOp* op = FindOp(view, Kind::kBind, "/tmp");
  REQUIRE(op != nullptr);
  CHECK(op->source == "/tmp");
  CHECK(op->read_only);
}

TEST_CASE("no rule shows the host's /proc or /dev", "[view]") {
  const ViewFixture fixture;
  ProfileConfig config = fixture.Config();
  config.additional_roots = {{"/proc", Access::kAllow, Access::kAllow},
                             {"/dev", Access::kAllow, Access::kAllow},
                             {"/run", Access::kAllow, Access::kDeny}};
  const CompiledView view = fixture.Compile(config);
  for (const char* path : {"/proc", "/dev", "/run"}) CHECK_FALSE(Has(view, Kind::kBind, path));
  CHECK(HasEntry(view, "view", FeatureStatus::kNarrowed));
}

TEST_CASE("Landlock lets writing happen in the writable roots only", "[view]") {
  const ViewFixture fixture;
  ProfileConfig config = fixture.Config();
  config.additional_roots = {{fixture.outside, Access::kAllow, Access::kDeny}};
  const CompiledView view = fixture.Compile(config);
  constexpr std::uint64_t kMakeFile = 1U << 8U;
  std::set<std::string> writable;
  for (const LandlockRule& rule : view.landlock_rules) {
    CHECK((rule.access & ~view.landlock_handled_fs) == 0);
    if ((rule.access & kMakeFile) != 0) writable.insert(rule.path);
  }
  CHECK(writable == std::set<std::string>{"/dev/shm", "/run/cordon/home", "/tmp", "/var/tmp",
                                          fixture.workspace});
}

TEST_CASE("a compiler returns the same view until something below the roots changes", "[view]") {
  const ViewFixture fixture;
  ProfileConfig config = fixture.Config();
  config.deny_read = {"**/*.key"};
  const Profile profile = fixture.MakeProfile(config);
  ViewCompiler compiler(profile, fixture.scratch(), 7);
  const auto first = compiler.Compile(profile.paths());
  REQUIRE(first.ok());
  fixture.Write("ws/harmless");
  const auto second = compiler.Compile(profile.paths());
  REQUIRE(second.ok());
  CHECK(*first == *second);
  const std::string key = fixture.Write("ws/deep/new.key");
  const auto third = compiler.Compile(profile.paths());
  REQUIRE(third.ok());
  CHECK(*third != *first);
  CHECK(Has(**third, Kind::kMask, key));
}

TEST_CASE("what was found may hold for the next command, if that comes at once", "[view]") {
  const ViewFixture fixture;
  ProfileConfig config = fixture.Config();
  config.deny_read = {"**/*.key"};
  ViewCompiler compiler(fixture.MakeProfile(config), fixture.scratch(), 7);
  const auto begin = std::chrono::steady_clock::now();
  const auto first = compiler.Compile();
  REQUIRE(first.ok());
  const auto compiled = std::chrono::steady_clock::now();
  const std::string key = fixture.Write("ws/new.key");
  SECTION("and for no other") {
    compiler.HoldForNext();
    const auto second = compiler.Compile();
    REQUIRE(second.ok());
    // On a machine that took longer it does not.
    const bool came_at_once = std::chrono::steady_clock::now() < begin + ViewCompiler::kHolding;
    if (came_at_once) CHECK(*second == *first);
  }
  SECTION("not when it comes later") {
    compiler.HoldForNext();
    while (std::chrono::steady_clock::now() < compiled + ViewCompiler::kHolding) {
    }
  }
  SECTION("not without being told") {}
  const auto last = compiler.Compile();
  REQUIRE(last.ok());
  CHECK(*last != *first);
  CHECK(Has(**last, Kind::kMask, key));
}

TEST_CASE("after a command its protected names are gone and armed repositories are named",
          "[view]") {
  const ViewFixture fixture;
  const Profile profile = fixture.MakeProfile(fixture.Config());
  ViewCompiler compiler(profile, fixture.scratch(), 7);
  const auto view = compiler.Compile(profile.paths());
  REQUIRE(view.ok());
  fixture.Write("ws/.vscode/tasks.json");
  const std::string hook = fixture.Write("ws/new/.git/hooks/pre-commit");
  CHECK(compiler.ChangedProtected(**view) ==
        std::vector<std::string>{fixture.workspace + "/.vscode", hook});
  CHECK_FALSE(fs::exists(fixture.workspace + "/.vscode"));
  CHECK(fs::exists(hook));
}

TEST_CASE("planted links in the scratch folder do not lead mount points out", "[view]") {
  const ViewFixture fixture;
  // The workspace lies below /tmp, so its mount point is made in the scratch folder.
  if (!IsWithin(fixture.workspace, "/tmp")) CORDON_SKIP("tmp", "TMPDIR is not below /tmp");
  const std::string first = fixture.workspace.substr(1);
  const std::string below_tmp = first.substr(first.find('/') + 1);
  fs::create_directory_symlink(fixture.outside, fixture.scratch().temporary + "/" +
                                                    below_tmp.substr(0, below_tmp.find('/')));
  const Profile profile = fixture.MakeProfile(fixture.Config());
  const absl::StatusOr<CompiledView> view =
      CompileView(profile, profile.paths(), fixture.scratch(), 7);
  CHECK(Is(view.status(), ErrorCode::kInternal));
  CHECK(fs::is_empty(fixture.outside));
}

}  // namespace cordon::internal
