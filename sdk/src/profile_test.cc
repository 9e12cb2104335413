#include "cordon/sdk/profile.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "profile_fixture.h"
#include "support/catch.h"

namespace cordon {
namespace {

using test::CheckRefused;
using test::Created;
using test::Host;
using test::kAllow;
using test::kDeny;
using test::kGated;
using test::ReadAt;
using test::WriteAt;

TEST_CASE("a default profile denies everything and answers no query") {
  const Profile profile;
  CHECK_FALSE(profile.valid());
  CHECK(profile.Fingerprint() == Digest{});
  CHECK(Is(profile.AccessFor(CapabilityKind::kCommandExecute, "").status(),
           ErrorCode::kInvalidProfile));
  CHECK(Is(profile.ExplainNetwork("a.example:1").status(), ErrorCode::kInvalidProfile));
  CHECK(ReadAt(profile, "/usr") == kDeny);
  CHECK(profile.Settings() == ProfileConfig{});
  CHECK(profile.RequiredGuarantees() == Guarantees{});
}

TEST_CASE("the workspace must be a folder that exists, given by an absolute path") {
  const Host host;
  ProfileConfig config = host.Config();
  config.workspace_root = "";
  CheckRefused(config, "workspace_root: is missing");
  config.workspace_root = "ws";
  CheckRefused(config, "relative");
  config.workspace_root = host.folder / "nowhere";
  CheckRefused(config, "no folder that exists");
  config.workspace_root = host.folder.MakeFile("file");
  CheckRefused(config, "no folder that exists");
  config.workspace_root = host.workspace + std::string("\0x", 2);
  CheckRefused(config, "NUL");
  config.workspace_root = host.workspace;
  CHECK(Created(config).Settings().workspace_root == host.workspace);
}

TEST_CASE("values that no enumerator has are refused") {
  const Host host;
  const std::pair<std::string, std::function<void(ProfileConfig&)>> cases[] = {
      {"workspace_read", [](auto& c) { c.workspace_read = static_cast<Access>(3); }},
      {"network", [](auto& c) { c.network = static_cast<Access>(99); }},
      {"command", [](auto& c) { c.command = static_cast<Access>(255); }},
      {"home", [](auto& c) { c.home = static_cast<HomeMode>(2); }},
      {"isolation", [](auto& c) { c.isolation = static_cast<Isolation>(2); }},
      {"audit", [](auto& c) { c.audit = static_cast<AuditMode>(3); }},
      {"additional_roots",
       [](auto& c) {
         c.additional_roots = {{"/x", kAllow, static_cast<Access>(7)}};
       }},
  };
  for (const auto& [field, change] : cases) {
    ProfileConfig config = host.Config();
    change(config);
    CheckRefused(config, field);
  }
}

TEST_CASE("symbolic spellings of the workspace and the roots give one profile") {
  const Host host;
  host.folder.MakeFolder("data");
  ProfileConfig plain = host.Config();
  plain.additional_roots = {{host.folder / "data", kAllow, kDeny}};
  ProfileConfig linked = plain;
  linked.workspace_root = host.folder.MakeLink("ws-link", "ws");
  linked.home_root = host.folder.MakeLink("home-link", host.home) + "/";
  linked.additional_roots[0].path =
      host.folder.MakeLink("data-link", host.folder / "data") + "/../data-link/.";
  const Profile profile = Created(plain);
  CHECK(Created(linked) == profile);
  CHECK(Created(linked).Settings() == profile.Settings());
  CHECK(profile.Settings().additional_roots[0].path == host.folder / "data");
}

TEST_CASE("changing the description afterwards changes nothing") {
  const Host host;
  ProfileConfig config = host.Config();
  config.additional_roots = {{"/data", kAllow, kAllow}};
  const Profile profile = Created(config);
  const Digest before = profile.Fingerprint();
  config.additional_roots.clear();
  config.workspace_write = kDeny;
  CHECK(profile.Fingerprint() == before);
  CHECK(WriteAt(profile, "/data/x") == kAllow);
}

TEST_CASE("a root that is named twice collapses, with different access it is refused") {
  const Host host;
  host.folder.MakeFolder("data");
  host.folder.MakeLink("link", "data");
  ProfileConfig config = host.Config();
  config.additional_roots = {{host.folder / "data", kAllow, kDeny},
                             {host.folder / "link", kAllow, kDeny},
                             {host.folder / "data/", kAllow, kDeny}};
  CHECK(Created(config).Settings().additional_roots.size() == 1);
  config.additional_roots[1].write = kAllow;
  CheckRefused(config, "named twice");
  config.additional_roots = {{"data", kAllow, kDeny}};
  CheckRefused(config, "relative");
  config.additional_roots = {{"", kAllow, kDeny}};
  CheckRefused(config, "empty");
}

TEST_CASE("a root that is the workspace or the host has to agree with its fields") {
  const Host host;
  ProfileConfig config = host.Config();
  config.additional_roots = {{host.workspace, kAllow, kAllow}, {"/", kDeny, kDeny}};
  CHECK(Created(config) == Created(host.Config()));
  config.additional_roots = {{host.workspace, kAllow, kDeny}};
  CheckRefused(config, "workspace_read and workspace_write");
  config.additional_roots = {{"/", kAllow, kDeny}};
  CheckRefused(config, "host_read and host_write");
}

TEST_CASE("an unconfined profile needs the acknowledgement and allows everything") {
  const Host host;
  ProfileConfig config = host.Config();
  config.isolation = Isolation::kUnconfined;
  config.host_read = config.host_write = config.network = kAllow;
  CheckRefused(config, "ack_unconfined");
  config.ack_unconfined = UnconfinedAcknowledgement::CommandsRunWithMyFullAuthority();
  const Profile profile = Created(config);
  CHECK(WriteAt(profile, "/etc/shadow") == kAllow);
  CHECK(WriteAt(profile, host.home + "/x") == kAllow);
  CHECK(WriteAt(profile, host.workspace + "/.git/hooks/x") == kAllow);
  CHECK(GuaranteeNames(profile.RequiredGuarantees()) == std::vector<std::string_view>{"env_scrub"});

  const std::pair<std::string, std::function<void(ProfileConfig&)>> cases[] = {
      {"workspace_read", [](auto& c) { c.workspace_read = kGated; }},
      {"workspace_write", [](auto& c) { c.workspace_write = kDeny; }},
      {"host_read", [](auto& c) { c.host_read = kDeny; }},
      {"host_write", [](auto& c) { c.host_write = kGated; }},
      {"network", [](auto& c) { c.network = kGated; }},
      {"additional_roots",
       [](auto& c) {
         c.additional_roots = {{"/x", kAllow, kDeny}};
       }},
      {"deny_read", [](auto& c) { c.deny_read = {"**/*.key"}; }},
      {"deny_write", [](auto& c) { c.deny_write = {"x"}; }},
  };
  for (const auto& [field, change] : cases) {
    ProfileConfig narrower = config;
    change(narrower);
    CheckRefused(narrower, field);
  }
  config.command = kGated;
  CHECK(Created(config).AccessFor(CapabilityKind::kCommandExecute, "").value() == kGated);
}

TEST_CASE("malformed lists are refused with the name of the field") {
  const Host host;
  const std::pair<std::string, std::function<void(ProfileConfig&)>> cases[] = {
      {"deny_read", [](auto& c) { c.deny_read = {"/x/[z-a]"}; }},
      {"deny_read", [](auto& c) { c.deny_read = {"/x/../*"}; }},
      {"deny_read", [](auto& c) { c.deny_read = {""}; }},
      {"deny_write", [](auto& c) { c.deny_write = {std::string("a\0b", 3)}; }},
      {"environment", [](auto& c) { c.environment = {"=x"}; }},
      {"environment", [](auto& c) { c.environment = {"A-B"}; }},
      {"environment", [](auto& c) { c.environment = {"1A=x"}; }},
      {"environment",
       [](auto& c) {
         c.environment = {"A=1", "A=2"};
       }},
      {"environment",
       [](auto& c) {
         c.environment = {"A", "A=2"};
       }},
      {"environment", [](auto& c) { c.environment = {std::string("A=\0", 3)}; }},
      {"network_targets", [](auto& c) { c.network_targets = {"a.example"}; }},
      {"loopback_ports",
       [](auto& c) {
         c.loopback_ports = {80, 0};
       }},
      {"publish_ports", [](auto& c) { c.publish_ports = {0}; }},
      {"unix_sockets", [](auto& c) { c.unix_sockets = {"run/x.sock"}; }},
      {"limits.memory_bytes", [](auto& c) { c.limits.memory_bytes = 0; }},
      {"limits.processes", [](auto& c) { c.limits.processes = 0; }},
      {"limits.file_size_bytes", [](auto& c) { c.limits.file_size_bytes = 0; }},
      {"limits.cpu_time_ms", [](auto& c) { c.limits.cpu_time = std::chrono::milliseconds(-1); }},
      {"home_root", [](auto& c) { c.home_root = "home"; }},
  };
  for (const auto& [field, change] : cases) {
    ProfileConfig config = host.Config();
    change(config);
    CheckRefused(config, field);
  }
  ProfileConfig secret = host.Config();
  secret.environment = {"A=hunter2", "A=other"};
  CHECK(std::string(Profile::Create(secret).status().message()).find("hunter2") ==
        std::string::npos);
}

TEST_CASE("the canonical description gives the same profile again") {
  const Host host;
  host.folder.MakeFolder("real");
  host.folder.MakeLink("ws/link", host.folder / "real");
  ProfileConfig config = host.Config();
  config.home = HomeMode::kReal;
  config.host_write = kGated;
  config.network = kGated;
  config.additional_roots = {
      {"/z", kAllow, kAllow}, {"/a", kGated, kAllow}, {"/a", kGated, kAllow}};
  config.deny_read = {"link", "link/*.x", "**/*.key", "**/*.key", "b", "/etc/*"};
  config.deny_write = {"z", "a", "link/sub"};
  config.environment = {"Z", "A=secret", "Z"};
  config.network_targets = {"b.example:1", "*.example:*", "A.test:443", "a.test.:443"};
  config.loopback_ports = {9, 3, 9};
  config.publish_ports = {8080, 80};
  config.unix_sockets = {"/run/b//x.sock", "/run/a.sock"};
  config.limits.processes = 5;
  config.required_guarantees.resource_limits = true;
  const Profile profile = Created(config);
  const Profile again = Created(profile.Settings());
  CHECK(again == profile);
  CHECK(again.Settings() == profile.Settings());
  const ProfileConfig& settings = profile.Settings();
  CHECK(settings.network_targets == std::vector<std::string>{"*.example:*", "a.test:443"});
  CHECK(settings.loopback_ports == std::vector<std::uint16_t>{3, 9});
  CHECK(settings.unix_sockets == std::vector<std::string>{"/run/a.sock", "/run/b/x.sock"});
  CHECK(settings.environment == std::vector<std::string>{"A=secret", "Z"});
  CHECK(std::is_sorted(
      settings.additional_roots.begin(), settings.additional_roots.end(),
      [](const AdditionalRoot& a, const AdditionalRoot& b) { return a.path < b.path; }));
  CHECK(settings.additional_roots[0] == AdditionalRoot{"/a", kGated, kGated});
}

TEST_CASE("the fingerprint ignores order and changes with every authority") {
  const Host host;
  ProfileConfig config = host.Config();
  config.additional_roots = {{"/b", kAllow, kDeny}, {"/a", kAllow, kDeny}};
  config.environment = {"NAME=secret"};
  const Digest base = Created(config).Fingerprint();
  std::swap(config.additional_roots[0], config.additional_roots[1]);
  CHECK(Created(config).Fingerprint() == base);
  ProfileConfig other_value = config;
  other_value.environment = {"NAME=other"};
  CHECK(Created(other_value).Fingerprint() == base);

  const std::function<void(ProfileConfig&)> changes[] = {
      [](auto& c) { c.workspace_read = kGated; },
      [](auto& c) { c.workspace_write = kGated; },
      [](auto& c) { c.host_read = kGated; },
      [](auto& c) { c.host_write = kGated; },
      [](auto& c) { c.network = kGated; },
      [](auto& c) { c.command = kGated; },
      [](auto& c) { c.home = HomeMode::kReal; },
      [](auto& c) { c.home_root += "/other"; },
      [](auto& c) { c.additional_roots.pop_back(); },
      [](auto& c) { c.additional_roots[0].read = kGated; },
      [](auto& c) { c.additional_roots[0].write = kAllow; },
      [](auto& c) { c.deny_read = {"**/*.key"}; },
      [](auto& c) { c.deny_write = {"**/*.key"}; },
      [](auto& c) { c.protect_paths = false; },
      [](auto& c) { c.environment = {"NAME"}; },
      [](auto& c) { c.environment = {"OTHER=secret"}; },
      [](auto& c) { c.network_targets = {"a.example:1"}; },
      [](auto& c) { c.network_route = NetworkRoute::kEnvironment; },
      [](auto& c) { c.loopback_ports = {1}; },
      [](auto& c) { c.publish_ports = {1}; },
      [](auto& c) { c.unix_sockets = {"/run/x"}; },
      [](auto& c) { c.limits.memory_bytes = 1; },
      [](auto& c) { c.limits.processes = 1; },
      [](auto& c) { c.limits.cpu_time = std::chrono::milliseconds(1); },
      [](auto& c) { c.limits.file_size_bytes = 1; },
      [](auto& c) { c.audit = AuditMode::kRequired; },
      [](auto& c) { c.audit = AuditMode::kDurable; },
      [](auto& c) { c.required_guarantees.resource_limits = true; },
      [](auto& c) {
        c.ack_unconfined = UnconfinedAcknowledgement::CommandsRunWithMyFullAuthority();
      },
      [](auto& c) { c.ack_tracing = TracingAcknowledgement::ProcessesMaySteerEachOther(); },
      [](auto& c) {
        c.ack_nested_namespaces =
            NestedNamespacesAcknowledgement::CommandsMayReachMoreOfTheKernel();
      },
      [&host](auto& c) { c.workspace_root = host.folder.MakeFolder("other"); },
  };
  std::vector<Digest> seen = {base};
  for (const auto& change : changes) {
    ProfileConfig changed = config;
    change(changed);
    const Digest digest = Created(changed).Fingerprint();
    INFO("change " << seen.size());
    CHECK(std::find(seen.begin(), seen.end(), digest) == seen.end());
    seen.push_back(digest);
  }
}

TEST_CASE("access is answered for every kind and form of scope") {
  const Host host;
  ProfileConfig config = host.Config();
  config.host_read = kGated;
  config.network = kGated;
  config.command = kGated;
  config.additional_roots = {{host.workspace + "/vendor", kAllow, kDeny}};
  const Profile profile = Created(config);
  const auto access = [&profile](CapabilityKind kind, const std::string& scope) {
    const absl::StatusOr<Access> answer = profile.AccessFor(kind, scope);
    INFO(scope);
    REQUIRE(answer.ok());
    return *answer;
  };
  constexpr auto kRead = CapabilityKind::kFilesystemRead;
  constexpr auto kWrite = CapabilityKind::kFilesystemWrite;
  const std::string& ws = host.workspace;
  CHECK(access(CapabilityKind::kCommandExecute, "") == kGated);
  CHECK(access(CapabilityKind::kNetwork, "") == kGated);
  CHECK(access(kRead, ws + "/x") == kAllow);
  CHECK(access(kWrite, ws + "/vendor/x") == kDeny);
  CHECK(access(kRead, "tree:" + ws) == kAllow);
  CHECK(access(kWrite, "tree:" + ws) == kDeny);
  CHECK(access(kWrite, "tree:" + ws + "/src") == kAllow);
  CHECK(access(kWrite, "tree:/var") == kDeny);
  CHECK(access(kRead, "host:*") == kGated);
  CHECK(access(kWrite, "host:*") == kDeny);
  config.host_read = kDeny;
  CHECK(Created(config).AccessFor(kRead, "tree:/var/unknown").value() == kDeny);
}

TEST_CASE("malformed scopes and those of another kind are refused") {
  const Host host;
  const Profile profile = Created(host.Config());
  const std::pair<CapabilityKind, std::string> cases[] = {
      {CapabilityKind::kCommandExecute, "/x"},     {CapabilityKind::kNetwork, "host:*"},
      {CapabilityKind::kFilesystemRead, ""},       {CapabilityKind::kFilesystemRead, "x"},
      {CapabilityKind::kFilesystemRead, "/a/.."},  {CapabilityKind::kFilesystemWrite, "tree:x"},
      {CapabilityKind::kFilesystemWrite, "tree:"}, {CapabilityKind::kFilesystemWrite, "host:x"},
      {static_cast<CapabilityKind>(9), ""},
  };
  for (const auto& [kind, scope] : cases) {
    INFO(scope);
    CHECK(Is(profile.AccessFor(kind, scope).status(), ErrorCode::kInvalidScope));
  }
}

TEST_CASE("network targets are allowed beside the field, which speaks for the rest") {
  const Host host;
  ProfileConfig config = host.Config();
  config.network_targets = {"*.example:443"};
  const Profile profile = Created(config);
  CHECK(profile.ExplainNetwork("a.example:443")->access == kAllow);
  CHECK(profile.ExplainNetwork("a.example:443")->rule == "*.example:443");
  CHECK(profile.ExplainNetwork("a.example:80")->access == kDeny);
  CHECK(profile.ExplainNetwork("a.example:80")->origin == "network");
  CHECK(Is(profile.ExplainNetwork("a.example").status(), ErrorCode::kInvalidTarget));
}

TEST_CASE("required guarantees follow from the fields") {
  const Host host;
  ProfileConfig config = host.Config();
  const auto names = [](const ProfileConfig& c) {
    return GuaranteeNames(Created(c).RequiredGuarantees());
  };
  using Names = std::vector<std::string_view>;
  CHECK(names(config) == Names{"process_boundary", "write_boundary", "read_boundary", "env_scrub",
                               "network_boundary"});
  config.network_targets = {"a.example:1"};
  config.required_guarantees.resource_limits = true;
  config.limits.processes = 3;
  CHECK(names(config).size() == 8);
  config.network = kAllow;
  config.required_guarantees = {};
  CHECK(names(config) == Names{"process_boundary", "write_boundary", "read_boundary", "env_scrub"});
  config.host_read = kAllow;
  config.home_root = "/";
  CHECK(names(config) == Names{"process_boundary", "write_boundary", "env_scrub"});
  config.deny_read = {"**/*.key"};
  CHECK(names(config).size() == 4);
}

}  // namespace
}  // namespace cordon
