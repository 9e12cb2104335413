#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/profile_json.h"
#include "cordon/sdk/status.h"
#include "scratch_folder.h"
#include "support/catch.h"

namespace cordon {
namespace {

using test::ScratchFolder;

constexpr Access kDeny = Access::kDeny;
constexpr Access kGated = Access::kGated;
constexpr Access kAllow = Access::kAllow;
constexpr Axis kAxes[] = {Axis::kRead, Axis::kExecute, Axis::kWrite};

Profile Created(const ProfileConfig& config) {
  const absl::StatusOr<Profile> profile = Profile::Create(config);
  INFO(std::string(profile.status().message()));
  REQUIRE(profile.ok());
  return *profile;
}

Profile Restricted(const Profile& base, const Profile& ceiling) {
  const absl::StatusOr<Profile> result = Restrict(base, ceiling);
  INFO(std::string(result.status().message()));
  REQUIRE(result.ok());
  return *result;
}

// Random profiles over one small name space, so that their rules meet often; the same for the same
// seed on every machine.
class RandomProfiles {
 public:
  RandomProfiles(const ScratchFolder& folder, std::uint32_t seed)
      : base_(folder.path()), random_(seed) {}

  Profile Next() { return Created(NextConfig()); }

  ProfileConfig NextConfig() {
    ProfileConfig config;
    config.workspace_root = base_ + "/ws";
    config.workspace_read = AnyAccess();
    config.workspace_write = AnyAccess();
    config.host_read = AnyAccess();
    config.host_write = AnyAccess();
    config.network = AnyAccess();
    config.command = AnyAccess();
    config.home = Chance(2) ? HomeMode::kReal : HomeMode::kIsolated;
    config.home_root = base_ + (Chance(5) ? "/ws/a" : Chance(5) ? "/other" : "/home");
    config.protect_paths = Chance(2);
    for (std::uint32_t i = Below(5); i > 0; --i) AddRoot(config);
    for (std::uint32_t i = Below(3); i > 0; --i) {
      (Chance(2) ? config.deny_read : config.deny_write).push_back(Chance(2) ? Path() : Glob());
    }
    for (std::uint32_t i = Below(3); i > 0; --i) config.network_targets.push_back(Target());
    for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 2, 3}) {
      if (Chance(2)) config.loopback_ports.push_back(port);
      if (Chance(2)) config.publish_ports.push_back(port);
    }
    for (const char* name : {"A", "B", "C=1"}) {
      if (Chance(2)) config.environment.emplace_back(name);
    }
    if (Chance(2)) config.limits.processes = 1 + Below(5);
    if (Chance(3)) config.required_guarantees.resource_limits = true;
    if (Chance(12)) Unconfine(config);
    return config;
  }

  std::string Path() {
    static constexpr std::string_view kNames[] = {"a",      "b",     "ws",    "home",    ".git",
                                                  "hooks",  "other", ".ssh",  ".vscode", "x.key",
                                                  "config", "usr",   "x.lock"};
    std::string path = Chance(6) ? "" : base_;
    if (Chance(2)) path += Chance(3) ? "/home" : "/ws";
    for (std::uint32_t i = Below(5); i > 0; --i) {
      path += "/" + std::string(kNames[Below(std::size(kNames))]);
    }
    return path.empty() ? "/" : path;
  }

  std::string Target() {
    static constexpr std::string_view kHosts[] = {
        "a.test",    "b.a.test", "*.a.test",   "*.test",    "*",
        "192.0.2.1", "10.0.0.5", "10.0.0.0/8", "0.0.0.0/0", "8.8.8.8"};
    static constexpr std::string_view kPorts[] = {"443", "80", "*"};
    return std::string(kHosts[Below(std::size(kHosts))]) + ":" +
           std::string(kPorts[Below(std::size(kPorts))]);
  }

 private:
  std::uint32_t Below(std::size_t bound) {
    return static_cast<std::uint32_t>(random_() % static_cast<std::uint32_t>(bound));
  }
  bool Chance(std::uint32_t one_in) { return Below(one_in) == 0; }
  Access AnyAccess() { return static_cast<Access>(Below(3)); }

  std::string Glob() {
    static constexpr std::string_view kGlobs[] = {"**/*.key", "a/*", "**/hooks", "*.lock",
                                                  "b/**/a"};
    return std::string(kGlobs[Below(std::size(kGlobs))]);
  }

  void AddRoot(ProfileConfig& config) {
    const std::string path = Path();
    const bool taken = path == "/" || path == config.workspace_root ||
                       std::any_of(config.additional_roots.begin(), config.additional_roots.end(),
                                   [&](const AdditionalRoot& r) { return r.path == path; });
    if (!taken) config.additional_roots.push_back({path, AnyAccess(), AnyAccess()});
  }

  static void Unconfine(ProfileConfig& config) {
    config.isolation = Isolation::kUnconfined;
    config.ack_unconfined = UnconfinedAcknowledgement::CommandsRunWithMyFullAuthority();
    config.workspace_read = config.workspace_write = kAllow;
    config.host_read = config.host_write = config.network = kAllow;
    config.deny_read.clear();
    config.deny_write.clear();
    for (AdditionalRoot& root : config.additional_roots) root.read = root.write = kAllow;
  }

  std::string base_;
  std::mt19937 random_;
};

// Paths to compare profiles at: random ones, and those of their rules with something beside and
// below each.
std::vector<std::string> Probes(RandomProfiles& random, std::initializer_list<Profile> profiles) {
  std::vector<std::string> paths;
  for (int i = 0; i < 25; ++i) paths.push_back(random.Path());
  for (const Profile& profile : profiles) {
    for (const AdditionalRoot& root : profile.Settings().additional_roots) {
      for (const char* suffix : {"", "x", "/x", "/.git/hooks/x", "/.bashrc", "/a/x.key"}) {
        paths.push_back(root.path + suffix);
      }
    }
  }
  return paths;
}

struct Folders {
  ScratchFolder folder;
  Folders() {
    folder.MakeFolder("ws");
    folder.MakeFolder("home");
  }
};

TEST_CASE("a profile restricted by itself is itself") {
  const Folders folders;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    RandomProfiles random(folders.folder, seed);
    const Profile profile = random.Next();
    const Profile result = Restricted(profile, profile);
    if (result == profile && result.Settings() == profile.Settings()) continue;
    INFO(ProfileToJson(profile.Settings()) << ProfileToJson(result.Settings()));
    FAIL("seed " << seed);
  }
}

TEST_CASE("a restricted profile is never wider than either side at any path") {
  const Folders folders;
  int narrower = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    RandomProfiles random(folders.folder, seed + 100000);
    const Profile base = random.Next();
    const Profile ceiling = random.Next();
    const Profile result = Restricted(base, ceiling);
    for (const std::string& path : Probes(random, {base, ceiling, result})) {
      for (const Axis axis : kAxes) {
        const Access wanted =
            Min(base.Explain(axis, path).access, ceiling.Explain(axis, path).access);
        const Access access = result.Explain(axis, path).access;
        if (access > wanted) FAIL("seed " << seed << " at " << path << ", " << AxisName(axis));
        narrower += access < wanted ? 1 : 0;
      }
    }
  }
  // Only protection may take away more than both sides do: it starts from the roots of both.
  CHECK(narrower < 2000);
}

TEST_CASE("without protection a restricted profile is exactly the narrower of both") {
  const Folders folders;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    RandomProfiles random(folders.folder, seed + 200000);
    ProfileConfig first = random.NextConfig();
    ProfileConfig second = random.NextConfig();
    first.protect_paths = second.protect_paths = false;
    const Profile base = Created(first);
    const Profile ceiling = Created(second);
    const Profile result = Restricted(base, ceiling);
    for (const std::string& path : Probes(random, {base, ceiling, result})) {
      for (const Axis axis : kAxes) {
        const Access wanted =
            Min(base.Explain(axis, path).access, ceiling.Explain(axis, path).access);
        if (result.Explain(axis, path).access == wanted) continue;
        FAIL("seed " << seed << " at " << path << ", " << AxisName(axis));
      }
    }
  }
}

TEST_CASE("a restricted profile is canonical, and restricting again changes nothing") {
  const Folders folders;
  for (std::uint32_t seed = 0; seed < 250; ++seed) {
    RandomProfiles random(folders.folder, seed + 300000);
    const Profile base = random.Next();
    const Profile ceiling = random.Next();
    const Digest before = base.Fingerprint();
    const Profile result = Restricted(base, ceiling);
    if (base.Fingerprint() != before) FAIL("seed " << seed << ": an input was changed");
    if (Created(result.Settings()) != result) FAIL("seed " << seed << ": not canonical");
    if (Restricted(result, result) != result) FAIL("seed " << seed << ": not stable");
    const Profile again = Restricted(result, ceiling);
    for (const std::string& path : Probes(random, {result, again})) {
      for (const Axis axis : kAxes) {
        if (again.Explain(axis, path).access == result.Explain(axis, path).access) continue;
        FAIL("seed " << seed << " at " << path);
      }
    }
  }
}

TEST_CASE("no network target is wider than with either side") {
  const Folders folders;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    RandomProfiles random(folders.folder, seed + 400000);
    const Profile base = random.Next();
    const Profile ceiling = random.Next();
    const Profile result = Restricted(base, ceiling);
    for (const char* host : {"a.test", "b.a.test", "c.b.a.test", "x.test", "y", "192.0.2.1"}) {
      for (const char* port : {":443", ":80", ":22"}) {
        const std::string target = std::string(host) + port;
        const Access wanted =
            Min(base.ExplainNetwork(target)->access, ceiling.ExplainNetwork(target)->access);
        if (result.ExplainNetwork(target)->access > wanted) {
          FAIL("seed " << seed << " for " << target);
        }
      }
    }
  }
}

struct Pair {
  Folders folders;
  ProfileConfig base;
  ProfileConfig ceiling;

  Pair() {
    base.workspace_root = folders.folder / "ws";
    base.home_root = folders.folder / "home";
    base.workspace_read = base.workspace_write = base.command = kAllow;
    ceiling = base;
  }
  [[nodiscard]] Profile Result() const { return Restricted(Created(base), Created(ceiling)); }
};

TEST_CASE("a nested denied root of either side survives while the host is denied too") {
  for (const bool in_base : {true, false}) {
    Pair pair;
    ProfileConfig& side = in_base ? pair.base : pair.ceiling;
    side.additional_roots = {{pair.base.workspace_root + "/private", kDeny, kDeny}};
    const Profile result = pair.Result();
    CHECK(result.Explain(Axis::kRead, pair.base.workspace_root + "/private/key").access == kDeny);
    CHECK(result.Explain(Axis::kWrite, pair.base.workspace_root + "/private/key").access == kDeny);
    CHECK(result.Explain(Axis::kWrite, pair.base.workspace_root + "/open").access == kAllow);
  }
}

TEST_CASE("a root that lifts protection does not lift that of the ceiling") {
  Pair pair;
  const std::string hooks = pair.base.workspace_root + "/.git/hooks";
  pair.base.additional_roots = {{hooks, kAllow, kAllow}};
  CHECK(Created(pair.base).Explain(Axis::kWrite, hooks + "/x").access == kAllow);
  CHECK(pair.Result().Explain(Axis::kWrite, hooks + "/x").access == kDeny);
  pair.ceiling = pair.base;
  CHECK(pair.Result().Explain(Axis::kWrite, hooks + "/x").access == kAllow);
}

TEST_CASE("a root from which protection starts is kept though it changes no access") {
  Pair pair;
  const std::string inner = pair.base.workspace_root + "/package";
  pair.base.additional_roots = {{inner, kAllow, kAllow}};
  CHECK(pair.Result().Explain(Axis::kWrite, inner + "/.envrc").access == kDeny);
  CHECK(pair.Result().Explain(Axis::kWrite, inner + "/x").access == kAllow);
}

TEST_CASE("fields take the narrower value, lists that allow are intersected, denials united") {
  Pair pair;
  pair.base.network = kAllow;
  pair.ceiling.network = kGated;
  pair.base.command = kGated;
  pair.ceiling.home = HomeMode::kReal;
  pair.base.network_targets = {"a.test:443"};
  pair.ceiling.network_targets = {"*.test:443"};
  pair.base.environment = {"A", "B", "C=1"};
  pair.ceiling.environment = {"B", "C=2"};
  pair.base.loopback_ports = {1, 2};
  pair.ceiling.loopback_ports = {2, 3};
  pair.base.unix_sockets = {"/run/a", "/run/b"};
  pair.ceiling.unix_sockets = {"/run/b"};
  pair.base.deny_read = {"**/*.key"};
  pair.ceiling.deny_read = {"**/*.pem"};
  pair.base.limits.processes = 10;
  pair.ceiling.limits.processes = 5;
  pair.ceiling.limits.memory_bytes = 7;
  pair.base.protect_paths = false;
  pair.ceiling.audit = AuditMode::kRequired;
  pair.ceiling.required_guarantees.resource_limits = true;
  const ProfileConfig settings = pair.Result().Settings();
  CHECK(settings.network == kGated);
  CHECK(settings.command == kGated);
  CHECK(settings.home == HomeMode::kIsolated);
  // The base's network is open: what the ceiling grants remains.
  CHECK(settings.network_targets == std::vector<std::string>{"*.test:443"});
  CHECK(settings.environment == std::vector<std::string>{"B"});
  CHECK(settings.loopback_ports == std::vector<std::uint16_t>{2});
  CHECK(settings.unix_sockets == std::vector<std::string>{"/run/b"});
  CHECK(settings.deny_read.size() == 2);
  CHECK(settings.limits.processes == 5U);
  CHECK(settings.limits.memory_bytes == 7U);
  CHECK(settings.protect_paths);
  CHECK(settings.audit == AuditMode::kRequired);
  CHECK(settings.required_guarantees.resource_limits);
}

TEST_CASE("required guarantees are derived again") {
  Pair pair;
  pair.base.network = kAllow;
  CHECK_FALSE(Created(pair.base).RequiredGuarantees().network_boundary);
  CHECK(pair.Result().RequiredGuarantees().network_boundary);
}

TEST_CASE("targets that overlap are restricted to what both name") {
  const auto common = [](const std::string& a, const std::string& b) {
    Pair pair;
    pair.base.network_targets = {a};
    pair.ceiling.network_targets = {b};
    return pair.Result().Settings().network_targets;
  };
  using Targets = std::vector<std::string>;
  CHECK(common("*.test:443", "a.test:*") == Targets{"a.test:443"});
  CHECK(common("*:80", "*.test:*") == Targets{"*.test:80"});
  CHECK(common("*.a.test:80", "*.test:80") == Targets{"*.a.test:80"});
  CHECK(common("a.test:80", "a.test:443").empty());
  CHECK(common("a.test:80", "b.test:80").empty());
  CHECK(common("*.test:80", "192.0.2.1:80").empty());
  // Any host, or a wide range, stands for public addresses: what has to be named stays closed.
  for (const std::string wide : {"*:443", "*:*", "0.0.0.0/0:443", "168.0.0.0/5:443"}) {
    INFO(wide);
    for (const std::string special :
         {"10.0.0.5:443", "169.254.169.254:443", "127.0.0.1:443", "172.16.0.0/12:443"}) {
      CHECK(common(wide, special).empty());
      CHECK(common(special, wide).empty());
    }
  }
  CHECK(common("[::/0]:443", "[::1]:443").empty());
  CHECK(common("*:443", "[fd00::1]:443").empty());
  CHECK(common("*:443", "8.8.8.8:443") == Targets{"8.8.8.8:443"});
  CHECK(common("*:443", "172.0.0.0/8:443") == Targets{"172.0.0.0/8:443"});
  CHECK(common("10.0.0.0/8:443", "10.0.0.5:443") == Targets{"10.0.0.5:443"});
  CHECK(common("169.254.0.0/16:80", "169.254.169.254:80").empty());
}

TEST_CASE("an unconfined base under a sandboxed ceiling is sandboxed") {
  Pair pair;
  pair.base.isolation = Isolation::kUnconfined;
  pair.base.ack_unconfined = UnconfinedAcknowledgement::CommandsRunWithMyFullAuthority();
  pair.base.host_read = pair.base.host_write = pair.base.network = kAllow;
  const Profile result = pair.Result();
  CHECK(result.Settings().isolation == Isolation::kSandboxed);
  CHECK_FALSE(result.Settings().ack_unconfined.given());
  CHECK(result.Explain(Axis::kRead, pair.base.home_root + "/x").access == kDeny);
  CHECK(result.RequiredGuarantees().write_boundary);
}

TEST_CASE("what needs an acknowledgement is open only where both profiles give it") {
  const auto tracing = TracingAcknowledgement::ProcessesMaySteerEachOther();
  const auto nested = NestedNamespacesAcknowledgement::CommandsMayReachMoreOfTheKernel();
  Pair pair;
  pair.base.ack_tracing = tracing;
  pair.ceiling.ack_nested_namespaces = nested;
  CHECK_FALSE(pair.Result().Settings().ack_tracing.given());
  CHECK_FALSE(pair.Result().Settings().ack_nested_namespaces.given());
  pair.ceiling.ack_tracing = tracing;
  CHECK(pair.Result().Settings().ack_tracing.given());
  CHECK_FALSE(pair.Result().Settings().ack_nested_namespaces.given());
  pair.base.ack_nested_namespaces = nested;
  CHECK(pair.Result().Settings().ack_nested_namespaces.given());
  const Profile same = Created(pair.base);
  CHECK(*Restrict(same, same) == same);
}

TEST_CASE("profiles of different workspaces and empty ones do not combine") {
  Pair pair;
  pair.ceiling.workspace_root = pair.folders.folder.MakeFolder("elsewhere");
  const Profile base = Created(pair.base);
  CHECK(Is(Restrict(base, Created(pair.ceiling)).status(), ErrorCode::kInvalidProfile));
  CHECK(Is(Restrict(base, Profile()).status(), ErrorCode::kInvalidProfile));
  CHECK(Is(Restrict(Profile(), base).status(), ErrorCode::kInvalidProfile));
}

TEST_CASE("two hundred roots on each side are restricted in no time") {
  Pair pair;
  for (int i = 0; i < 200; ++i) {
    const std::string name = std::to_string(i);
    pair.base.additional_roots.push_back({"/data/a" + name, kAllow, kAllow});
    pair.ceiling.additional_roots.push_back({"/data/a" + name + "/b", kGated, kDeny});
  }
  const auto start = std::chrono::steady_clock::now();
  const Profile result = pair.Result();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(3));
  CHECK(result.Explain(Axis::kRead, "/data/a7/b/x").access == kGated);
}

}  // namespace
}  // namespace cordon
