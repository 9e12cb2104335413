// The user's home is hidden, and the command has one of its own.

#include <filesystem>
#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

const Words kSecrets = {
    ".ssh/id_rsa",         ".aws/credentials", ".netrc",   ".config/gh/hosts.yml",
    ".docker/config.json", ".bash_history",    "diary.txt"};

class HomeGround : public Ground {
 public:
  HomeGround() {
    for (const std::string& name : kSecrets) MakeFile(home() + "/" + name, "CONFIDENTIAL");
    MakeFile(home() + "/.ssh/known_hosts", "host.example ssh-ed25519 AAAA\n");
    MakeFolder(home() + "/project");
  }
  // Shell text that prints whatever of the home it can read.
  [[nodiscard]] std::string Look() const {
    std::string text = "ls -A " + home() + "; ls -A " + home() + "/.ssh; cat ~/.ssh/id_rsa; ";
    for (const std::string& name : kSecrets) text += "cat " + home() + "/" + name + "; ";
    return text + "exit 0";
  }
};

TEST_CASE("every preset hides the home of the user also around a workspace in it") {
  const HomeGround ground;
  CHECK(Has(Control(ground, ground.Look()), "CONFIDENTIAL"));
  for (const std::string preset : {"read-only", "workspace", "trusted"}) {
    for (const std::string& workspace : {ground.workspace(), ground.home() + "/project"}) {
      INFO(preset << " in " << workspace);
      const CordonRun run = RunCordon(ground, {"run", "-w", workspace, "-C", workspace, "--preset",
                                               preset, "-c", "echo began; " + ground.Look()});
      Expect(run).Out("began").NoOut("CONFIDENTIAL").NoOut(".ssh").NoOut("diary");
    }
  }
}

TEST_CASE("no preset shows the password hashes of the system") {
  const Ground ground;
  if (!ground.Exists("/etc/shadow")) CORDON_SKIP("shadow", "this host has no /etc/shadow");
  if (RunningAsRoot()) CHECK(Has(Control(ground, "cat /etc/shadow"), "root:"));
  for (const std::string preset : {"read-only", "workspace", "trusted"}) {
    Expect(
        RunText(ground, {"--preset", preset}, "echo began; cat /etc/shadow /etc/gshadow; exit 0"))
        .Out("began")
        .NoOut("root:");
  }
}

TEST_CASE("the trusted preset reads the rest of the host and the workspace preset does not") {
  const Ground ground;
  // Not below /tmp, which is private in every preset.
  std::string name = "/var/tmp/cordon-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) CORDON_SKIP("var-tmp", "cannot write to /var/tmp");
  const std::string file = ground.MakeFile(name + "/file", "elsewhere");
  Expect(RunText(ground, {"--preset", "trusted"}, "cat " + file)).Out("elsewhere");
  Expect(RunText(ground, {"--preset", "trusted"}, "echo x >" + file + " || echo refused"))
      .Out("refused");
  Expect(RunText(ground, {}, "cat " + file + " || echo refused")).Out("refused");
  CHECK(ground.Read(file) == "elsewhere");
  ground.Remove(name);
}

TEST_CASE("the command has an empty home and temporary folder that it can write to") {
  const HomeGround ground;
  const auto before = Snapshot(ground.home());
  const CordonRun run = RunText(ground, {}, R"(
    echo "home $HOME"; ls -A "$HOME" | wc -l
    echo text >"$HOME/file" && cat ~/file && cd && pwd
    mkdir -p ~/.cache/tool && echo cached
    f=$(mktemp) && echo temporary && printf '#!/bin/sh\necho executed\n' >"$f" && chmod +x "$f" && "$f"
    echo x >/tmp/there && echo tmp-works)");
  Expect(run).Status(0).Out("text").Out("cached").Out("temporary").Out("executed").Out("tmp-works");
  Expect(run).NoOut("home " + ground.home() + "\n");
  CHECK(Snapshot(ground.home()) == before);
}

TEST_CASE("one file of the hidden home can be granted for reading") {
  const HomeGround ground;
  const std::string known_hosts = ground.home() + "/.ssh/known_hosts";
  const std::string before = ground.Read(known_hosts);
  const Words policy = {"--read", known_hosts};
  ExpectAllowed(ground, policy, "grep -q ssh-ed25519 " + known_hosts);
  Expect(RunText(ground, policy, "echo began; " + ground.Look()))
      .Out("began")
      .NoOut("CONFIDENTIAL");
  ExpectRefused(ground, policy, "echo x >>" + known_hosts,
                "printf 'host.example ssh-ed25519 AAAA\\n' >" + known_hosts);
  CHECK(ground.Read(known_hosts) == before);
}

TEST_CASE("the real home can be shown on request and its usual secrets stay hidden") {
  const HomeGround ground;
  const Words policy = {"--home", "real"};
  const CordonRun run = RunText(ground, policy,
                                "echo \"home $HOME\"; cat diary.txt ~/diary.txt; cat ~/.ssh/id_rsa "
                                "~/.aws/credentials && echo LEAKED; echo x >~/made; exit 0");
  Expect(run).Status(0).Out("home " + ground.home() + "\n").Out("CONFIDENTIAL").NoOut("LEAKED");
  CHECK_FALSE(ground.Exists(ground.home() + "/made"));
}

}  // namespace
}  // namespace cordon::test
