// What lies outside of the writable roots cannot be changed, whatever the way.

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

struct Act {
  const char* name;
  const char* text;  // In the folder outside.
};

TEST_CASE("a place that is not in the policy cannot be written to") {
  const Ground ground;
  const std::string fresh = ground.outside() + "/fresh";
  ExpectRefused(ground, {}, "echo text >" + fresh, "rm -f " + fresh);
  CHECK_FALSE(ground.Exists(fresh));
}

TEST_CASE("a readable root outside of the workspace stays as it is") {
  const Ground ground;
  const std::string outside = ground.outside();
  const std::string undo =
      "cd " + outside + " && rm -rf * && mkdir sub && printf before >kept && touch -d @1 kept sub";
  ground.RunUnconfined(undo);
  const Words policy = {"--read", outside};
  ExpectAllowed(ground, policy, "grep -q before " + outside + "/kept");

  const Act acts[] = {
      {"create", ": >made"},
      {"append", "printf after >>kept"},
      {"truncate by opening", ": >kept"},
      {"truncate", "truncate -s 0 kept"},
      {"write into the middle", "printf X | dd of=kept seek=2 bs=1 conv=notrunc 2>/dev/null"},
      {"remove", "rm kept"},
      {"rename", "mv kept other"},
      {"rename into the workspace", "mv kept \"$OLDPWD\""},
      {"make a folder", "mkdir more"},
      {"remove a folder", "rmdir sub"},
      {"make a link", "ln -s kept link"},
      {"make a second name", "ln kept again"},
      {"make a fifo", "mkfifo fifo"},
      {"change the mode", "chmod 600 kept"},
      {"change the times", "touch -d @99 kept"},
      {"change the owner", "python3 -c 'import os; os.chown(\"kept\", os.getuid(), os.getgid())'"},
      {"set an attribute", "python3 -c 'import os; os.setxattr(\"kept\", \"user.x\", b\"1\")'"},
  };
  for (const Act& act : acts) {
    INFO(act.name);
    const std::string text = "cd " + outside + " && " + act.text;
    // Not every file system keeps attributes.
    if (std::string(act.name) == "set an attribute" && ground.RunUnconfined(text).status != 0) {
      continue;
    }
    ground.RunUnconfined(undo);
    ExpectRefused(ground, policy, text, undo + "; rm -f " + ground.PathOf("kept"));
    CHECK(ground.Read(outside + "/kept") == "before");
    CHECK(Snapshot(outside).size() == 2);
  }
}

TEST_CASE("a file cannot be moved or linked out of the workspace") {
  const Ground ground;
  ground.MakeFile("mine", "text");
  const std::string target = ground.outside() + "/mine";
  const Words policy = {"--read", ground.outside()};
  const std::string undo = "rm -f " + target + "; printf text >mine";
  ExpectRefused(ground, policy, "mv mine " + target, undo);
  ExpectRefused(ground, policy, "ln mine " + target, undo);
  CHECK_FALSE(ground.Exists(target));
}

TEST_CASE("root inside cannot write to the system's folders") {
  if (!RunningAsRoot()) CORDON_SKIP("root", "an ordinary user cannot write there either way");
  const Ground ground;
  for (const std::string folder : {"/etc", "/usr", "/usr/bin", "/var", "/"}) {
    const std::string name =
        (std::filesystem::path(folder) / std::filesystem::path(ground.root()).filename()).string();
    ExpectRefused(ground, {}, "echo x >" + name, "rm -f " + name);
    CHECK_FALSE(ground.Exists(name));
  }
}

TEST_CASE("everyday writes in the workspace arrive on the host with the caller as owner") {
  const Ground ground;
  ExpectAllowed(ground, {}, R"(set -e
    printf one >first
    printf two >>first
    mkdir -p deep/er
    mv first deep/er/second
    ln -s second deep/er/link
    chmod 640 deep/er/second
    touch gone && rm gone
    mkdir empty && rmdir empty
    head -c 3 /dev/zero | tr '\0' z >zeros
    head -c 3 /dev/urandom >/dev/null 2>/dev/full || exit 1)");
  CHECK(ground.Read("deep/er/second") == "onetwo");
  CHECK(ground.Read("zeros") == "zzz");
  CHECK(std::filesystem::read_symlink(ground.PathOf("deep/er/link")) == "second");
  CHECK_FALSE(ground.Exists("empty"));
  struct stat about {};
  REQUIRE(stat(ground.PathOf("deep/er/second").c_str(), &about) == 0);
  CHECK(about.st_uid == geteuid());
  CHECK((about.st_mode & 07777) == 0640);
}

TEST_CASE("an additional writable root takes writes and its neighbours do not") {
  const Ground ground;
  const std::string granted = ground.MakeFolder(ground.outside() + "/granted");
  const Words policy = {"--write", granted};
  ExpectAllowed(ground, policy, "echo x >" + granted + "/file && cat " + granted + "/file");
  CHECK(ground.Read(granted + "/file") == "x\n");
  // A folder above a root below /tmp is one of the command's own /tmp: what is made there stays
  // there.
  Attempt(ground, policy, "echo x >" + granted + "-not");
  CHECK_FALSE(ground.Exists(granted + "-not"));
}

TEST_CASE("the read-only preset takes no writes in the workspace") {
  const Ground ground;
  ground.MakeFile("kept", "before");
  const Words policy = {"--preset", "read-only"};
  ExpectAllowed(ground, policy, "grep -q before kept");
  ExpectRefused(ground, policy, "echo after >kept", "printf before >kept");
  ExpectRefused(ground, policy, "echo x >made", "rm -f made");
  ExpectRefused(ground, policy, "mv kept moved", "rm -f moved; printf before >kept");
  CHECK(ground.Read("kept") == "before");
}

}  // namespace
}  // namespace cordon::test
