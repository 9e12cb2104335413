// Profiles from files: shown, checked, refused with the place of the fault, and under a ceiling.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;

// The profile of these policy options, written to a file outside of the workspace.
std::string SaveProfile(const Ground& ground, const std::string& name, const Words& policy,
                        const json& changes = json::object()) {
  Words arguments = {"profile", "show", "-w", ground.workspace()};
  arguments.insert(arguments.end(), policy.begin(), policy.end());
  const CordonRun run = RunCordon(ground, arguments);
  Expect(run, name).Status(0);
  json shown = json::parse(run.out, nullptr, false);
  REQUIRE(shown.is_object());
  if (shown.contains("profile")) shown = shown["profile"];
  shown.erase("fingerprint");
  shown.update(changes);
  return ground.MakeFile(ground.root() + "/" + name + ".json", shown.dump(2));
}

TEST_CASE("the shown profile is a profile that is accepted and fits the schema") {
  const Ground ground;
  const std::string file = SaveProfile(ground, "shown", {"--deny-read", "**/.env"});
  Expect(RunCordon(ground, {"profile", "check", file})).Status(0);
  Expect(RunInside(ground, {"-p", file, "-c", "echo ran"})).Status(0).OutIs("ran\n");

  const CordonRun schema = RunCordon(ground, {"profile", "schema"});
  Expect(schema).Status(0);
  const json properties = json::parse(schema.out).at("properties");
  const json shown = json::parse(ground.Read(file));
  for (const auto& [key, value] : shown.items()) {
    INFO(key);
    CHECK(properties.contains(key));
  }
}

TEST_CASE("the same policy shows the same profile and another one another fingerprint") {
  const Ground ground;
  const Words show = {"profile", "show", "-w", ground.workspace()};
  Words other = show;
  other.insert(other.end(), {"--deny-read", "**/.env"});
  CHECK(RunCordon(ground, show).out == RunCordon(ground, show).out);
  CHECK(RunCordon(ground, show).out != RunCordon(ground, other).out);
}

TEST_CASE("comments are allowed in a profile") {
  const Ground ground;
  const std::string text = ground.Read(SaveProfile(ground, "plain", {}));
  const std::string file =
      ground.MakeFile(ground.root() + "/comments.json", "// before\n" + text + "/* after */\n");
  Expect(RunCordon(ground, {"profile", "check", file})).Status(0);
}

TEST_CASE("a faulty profile starts nothing and the message has the line and the key") {
  const Ground ground;
  const std::string workspace = "\"workspace_root\": \"" + ground.workspace() + "\"";
  const struct {
    const char* name;
    std::string third_line;
    const char* key;
  } table[] = {
      {"misspelt", R"("workspace_wriet": "allow")", "workspace_write"},
      {"repeated", R"("workspace_read": "deny")", "workspace_read"},
      {"bad-value", R"("command": "alow")", "command"},
      {"bad-type", R"("command": [1])", "command"},
      {"bad-root", R"("additional_roots": [{"path": "relative", "read": "allow"}])", "relative"},
  };
  for (const auto& row : table) {
    INFO(row.name);
    const std::string file = ground.MakeFile(
        ground.root() + "/" + row.name + ".json",
        "{\n  " + workspace + ", \"workspace_read\": \"allow\",\n  " + row.third_line + "\n}\n");
    const CordonRun run = RunCordon(ground, {"profile", "check", file});
    Expect(run).NotStarted().Err(row.key);
    if (std::string(row.name) != "bad-root") Expect(run).Err(":3:");
    Expect(RunInside(ground, {"-p", file, "-c", "echo ran >ran"})).NotStarted();
    Expect(RunInside(ground, {"--ceiling", file, "-c", "echo ran >ran"})).NotStarted();
    CHECK_FALSE(ground.Exists("ran"));
  }
}

TEST_CASE("what is no profile at all starts nothing") {
  const Ground ground;
  const std::string whole = ground.Read(SaveProfile(ground, "whole", {}));
  Words files = {ground.root() + "/missing.json", ground.outside()};
  int number = 0;
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("\"text\""), std::string("\xff\xfe{}"),
        whole.substr(0, whole.size() / 2), whole + whole}) {
    files.push_back(
        ground.MakeFile(ground.root() + "/bad" + std::to_string(number++) + ".json", text));
  }
  for (const std::string& file : files) {
    INFO(file);
    Expect(RunCordon(ground, {"profile", "check", file})).NotStarted();
    Expect(RunInside(ground, {"-p", file, "-c", "echo ran"})).NotStarted();
  }
}

// A workspace with a private folder, and profiles that deny it in different ways, or not at all.
class CeilingGround : public Ground {
 public:
  CeilingGround() {
    MakeFile("private/key", "CONFIDENTIAL");
    MakeFile("open", "free");
    const json denied_root = {{"path", PathOf("private")}, {"read", "deny"}, {"write", "deny"}};
    wide = SaveProfile(*this, "wide", {});
    rule = SaveProfile(*this, "rule", {"--deny-read", PathOf("private")});
    root = SaveProfile(*this, "root", {}, {{"additional_roots", json::array({denied_root})}});
    glob = SaveProfile(*this, "glob", {"--deny-read", "**/private"});
    read_only = SaveProfile(*this, "read-only", {"--preset", "read-only"});
  }
  std::string wide, rule, root, glob, read_only;
};

constexpr const char* kLook =
    "cat private/key || echo unread; echo x >private/new || echo unwritten; cat open; "
    "echo y >>open && echo open-works; exit 0";

TEST_CASE("a denied folder is denied by the profile, the ceiling or both") {
  const CeilingGround ground;
  CHECK(Has(Control(ground, kLook), "CONFIDENTIAL"));
  ground.Remove("private/new");
  for (const std::string* base : {&ground.wide, &ground.rule, &ground.root, &ground.glob}) {
    for (const std::string* ceiling : {&ground.wide, &ground.rule, &ground.root, &ground.glob}) {
      if (base == &ground.wide && ceiling == &ground.wide) continue;
      INFO(*base << " under " << *ceiling);
      Expect(RunInside(ground, {"-p", *base, "--ceiling", *ceiling, "-c", kLook}))
          .Status(0)
          .Out("unread")
          .Out("unwritten")
          .Out("free")
          .Out("open-works")
          .NoOut("CONFIDENTIAL");
      CHECK_FALSE(ground.Exists("private/new"));
    }
  }
  Expect(RunInside(ground, {"-p", ground.wide, "--ceiling", ground.wide, "-c", "cat private/key"}))
      .Out("CONFIDENTIAL");
}

TEST_CASE("a read-only profile or ceiling takes the writes away") {
  const CeilingGround ground;
  const std::string act = "cat open; echo x >made || echo unwritten";
  Expect(RunInside(ground, {"-p", ground.read_only, "--ceiling", ground.wide, "-c", act}))
      .Out("free")
      .Out("unwritten");
  Expect(RunInside(ground, {"-p", ground.wide, "--ceiling", ground.read_only, "-c", act}))
      .Out("free")
      .Out("unwritten");
  CHECK_FALSE(ground.Exists("made"));
}

TEST_CASE("options go over the profile and never over the ceiling") {
  const CeilingGround ground;
  const Words grant = {"--read", ground.PathOf("private"), "--write", ground.PathOf("private")};
  Words over_profile = {"-p", ground.rule};
  over_profile.insert(over_profile.end(), grant.begin(), grant.end());
  Expect(RunText(ground, over_profile, "cat private/key")).Out("CONFIDENTIAL");
  Words under_ceiling = {"--ceiling", ground.rule, "--write", ground.outside()};
  under_ceiling.insert(under_ceiling.end(), grant.begin(), grant.end());
  Expect(RunText(ground, under_ceiling, kLook)).Out("open-works").NoOut("CONFIDENTIAL");
  Expect(RunText(ground, under_ceiling, "echo x >" + ground.outside() + "/made; exit 0")).Status(0);
  CHECK_FALSE(ground.Exists(ground.outside() + "/made"));
}

TEST_CASE("a network target needs to be granted by the profile and by the ceiling") {
  const CeilingGround ground;
  const std::string granting = SaveProfile(ground, "net", {"--net", "host.test:443"});
  const auto why = [&](const Words& policy) {
    Words arguments = {"why", "net", "host.test:443", "-w", ground.workspace()};
    arguments.insert(arguments.end(), policy.begin(), policy.end());
    return RunCordon(ground, arguments).status;
  };
  CHECK(why({"-p", granting}) == 0);
  CHECK(why({"-p", granting, "--ceiling", granting}) == 0);
  CHECK(why({"-p", ground.wide}) == 1);
  CHECK(why({"-p", granting, "--ceiling", ground.wide}) == 1);
  CHECK(why({"-p", ground.wide, "--ceiling", granting}) == 1);
  CHECK(why({"-p", granting, "--ceiling", ground.read_only}) == 2);
}

TEST_CASE("a root of / means the whole host") {
  const Ground ground;
  const auto settings = [&ground](const std::string& option) {
    const CordonRun shown = RunCordon(ground, {"profile", "show", option, "/"});
    Expect(shown).Status(0);
    return nlohmann::json::parse(shown.out);
  };
  const auto with = [&settings](const std::string& option, const char* field) {
    const nlohmann::json shown = settings(option);
    return shown.contains("profile") ? shown["profile"].value(field, "deny")
                                     : shown.value(field, "deny");
  };
  CHECK(with("--read", "host_read") == "allow");
  CHECK(with("--read", "host_write") == "deny");
  CHECK(with("--write", "host_read") == "allow");
  CHECK(with("--write", "host_write") == "allow");
}

}  // namespace
}  // namespace cordon::test
