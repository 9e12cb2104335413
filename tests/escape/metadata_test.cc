// Modes and times of files in the landlock tier, which the supervisor changes for the command: its
// own files in writable places, and nothing else, however the file is named.

#include <sys/stat.h>

#include <set>
#include <string>
#include <vector>

#include "integration/support/ground.h"
#include "integration/support/repository.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

class MetadataGround : public Ground {
 public:
  MetadataGround() {
    MakeRepository(*this, ".");
    MakeFile("own", "own\n");
    MakeFile("folder/file", "own\n");
    MakeFile(outside() + "/file", "kept\n");
    MakeLink("to-outside", outside() + "/file");
    MakeLink("to-own", PathOf("folder/file"));
    MakeLink("to-protected", PathOf(".git/config"));
    MakeLink("loop", "loop");
  }

  void SkipWithoutTier() const {
    const CordonRun run = RunText(*this, Policy(), "true");
    if (run.status != 0) CORDON_SKIP("landlock", run.err);
  }
  [[nodiscard]] Words Policy() const { return {"--backend", "landlock", "--read", outside()}; }
  // In a folder in which names can be made and removed, unlike beside a repository's own.
  [[nodiscard]] std::string InFolder(Words act) const {
    act.insert(act.begin(), "metadata_change");
    Words policy = Policy();
    policy.insert(policy.end(), {"-C", PathOf("folder")});
    return ProbeInside(*this, policy, act);
  }
  [[nodiscard]] std::string Inside(Words act) const {
    act.insert(act.begin(), "metadata_change");
    return ProbeInside(*this, Policy(), act);
  }
  [[nodiscard]] std::string OutsideOfIt(Words act) const {
    act.insert(act.begin(), "metadata_change");
    return ProbeOutside(*this, act);
  }
  [[nodiscard]] struct stat Look(std::string_view path) const {
    struct stat status = {};
    REQUIRE(lstat(PathOf(path).c_str(), &status) == 0);
    return status;
  }
  [[nodiscard]] unsigned ModeOf(std::string_view path) const { return Look(path).st_mode & 07777; }
  void SetMode(std::string_view path, unsigned mode) const {
    REQUIRE(chmod(PathOf(path).c_str(), mode) == 0);
  }
};

TEST_CASE("landlock tier: modes of a command's own files can be changed by every call") {
  const MetadataGround ground;
  ground.SkipWithoutTier();
  for (const std::string way : {"chmod", "fchmod", "fchmodat2", "by-number", "empty-path"}) {
    INFO(way);
    ground.SetMode("own", 0600);
    // Not every kernel has them.
    if (ground.OutsideOfIt({way, "own"}) == "ENOSYS") continue;
    ground.SetMode("own", 0600);
    CHECK(ground.Inside({way, "own"}) == "done");
    CHECK(ground.ModeOf("own") == 0640);
  }
  ground.SetMode("folder/file", 0600);
  CHECK(ground.Inside({"chmod", "to-own"}) == "done");
  CHECK(ground.Inside({"chmod", "folder/../folder/./file"}) == "done");
  CHECK(ground.ModeOf("folder/file") == 0640);
  CHECK(ground.Inside({"chmod", ground.PathOf("folder")}) == "done");
  CHECK(ground.ModeOf("folder") == 0640);
}

TEST_CASE("landlock tier: times of a command's own files can be changed by every call") {
  const MetadataGround ground;
  ground.SkipWithoutTier();
  for (const std::string way : {"utimensat", "futimens", "utimes", "utime"}) {
    INFO(way);
    ground.MakeFile("own", "again\n");
    CHECK(ground.Inside({way, "own"}) == "done");
    CHECK(ground.Look("own").st_mtime == 1000);
  }
  CHECK(ground.Inside({"now", "own"}) == "done");
  CHECK(ground.Look("own").st_mtime > 1000);
  CHECK(ground.Inside({"link-times", "to-own"}) == "done");
  CHECK(ground.Look("to-own").st_mtime == 1000);
  CHECK(ground.Look("folder/file").st_mtime > 1000);
}

TEST_CASE("landlock tier: what is wrong with a call is said as the kernel would") {
  const MetadataGround ground;
  ground.SkipWithoutTier();
  for (const Words& act : std::vector<Words>{{"chmod", "folder/missing"},
                                             {"chmod", "own/below"},
                                             {"chmod", ""},
                                             {"bad-times", "own"},
                                             {"bad-pointer", "own"},
                                             {"fchmod", "folder/missing"}}) {
    INFO(act[0] << " " << act[1]);
    CHECK(ground.Inside(act) == ground.OutsideOfIt(act));
  }
  // What does not exist outside of the writable places is not told from what does.
  CHECK(ground.Inside({"chmod", ground.outside() + "/missing"}) == "EPERM");
  CHECK(ground.Inside({"chmod", ground.outside() + "/file"}) == "EPERM");
  CHECK(ground.Inside({"chmod", "loop"}) == "EPERM");
}

TEST_CASE("landlock tier: owners stay, and no set-id bit is ever set") {
  const MetadataGround ground;
  ground.SkipWithoutTier();
  CHECK(ground.Inside({"chown-same", "own"}) == "done");
  CHECK(ground.Inside({"fchown", "own"}) == "done");
  CHECK(ground.Inside({"chown-other", "own"}) == "EPERM");
  CHECK(ground.Inside({"chgrp-other", "own"}) == "EPERM");
  for (const std::string way : {"set-user", "set-group"}) {
    INFO(way);
    const unsigned before = ground.ModeOf("own");
    CHECK(ground.Inside({way, "own"}) == "EPERM");
    CHECK(ground.ModeOf("own") == before);
    CHECK(ground.OutsideOfIt({way, "own"}) == "done");
    ground.SetMode("own", 0600);
  }
  if (!RunningAsRoot()) return;
  // Without capabilities, another user's file is another user's.
  ground.MakeFile("theirs", "x");
  REQUIRE(chown(ground.PathOf("theirs").c_str(), 12345, 12345) == 0);
  CHECK(ground.Inside({"chmod", "theirs"}) == "EPERM");
  CHECK(ground.Inside({"utimensat", "theirs"}) == "EPERM");
  CHECK(ground.OutsideOfIt({"chmod", "theirs"}) == "done");
}

TEST_CASE("landlock tier: no name and no descriptor leads the supervisor out of the policy") {
  const MetadataGround ground;
  ground.SkipWithoutTier();
  const auto before = Snapshot(ground.outside());
  const std::string config = ".git/config";
  ground.SetMode(config, 0600);
  for (const std::string way :
       {"chmod", "fchmodat2", "fchmod", "by-number", "empty-path", "utimensat", "futimens",
        "utimes", "utime", "now", "chown-same", "fchown"}) {
    for (const std::string& path : {ground.outside() + "/file", std::string("to-outside"), config,
                                    std::string("to-protected"), std::string(".git/hooks")}) {
      INFO(way << " " << path);
      CHECK(ground.Inside({way, path}) == "EPERM");
    }
  }
  CHECK(ground.Inside({"link-times", ".git/config"}) == "EPERM");
  for (const std::string path : {"/dev/null", "/usr", "/proc/self/environ", "/proc/self/cwd/own",
                                 "/dev/fd/0", "/proc/self/fd/1", "/proc/self/fd/7"}) {
    INFO(path);
    const std::string word = ground.Inside({"chmod", path});
    CHECK((word == "EPERM" || word == "EBADF"));
  }
  CHECK(ground.InFolder({"lost-name", "file"}) == "EPERM");
  CHECK(ground.ModeOf(config) == 0600);
  CHECK(Snapshot(ground.outside()) == before);
  // The control: the same works where nothing is protected.
  CHECK(ground.OutsideOfIt({"chmod", "to-protected"}) == "done");
  CHECK(ground.OutsideOfIt({"fchmod", ground.outside() + "/file"}) == "done");
}

TEST_CASE("landlock tier: a name that is exchanged while it is changed leads nowhere else") {
  const MetadataGround ground;
  ground.SkipWithoutTier();
  const std::string own = ground.PathOf("folder/file");
  const std::string victim = ground.outside() + "/file";
  ground.SetMode(victim, 0600);
  ground.SetMode(".git/config", 0600);
  const auto before = Snapshot(ground.outside());
  for (const Words& race : std::vector<Words>{{"race-link", own, victim},
                                              {"race-link", own, ground.PathOf(".git/config")},
                                              {"race-folder", own, ground.outside()},
                                              {"race-text", own, victim},
                                              {"race-descriptor", own, victim}}) {
    INFO(race[0] << " " << race[2]);
    ground.SetMode("folder/file", 0600);
    const std::string said = ground.InFolder(race);
    INFO(said);
    CHECK(Has(said, " of "));
    CHECK(said.rfind("0 of", 0) != 0);  // The control: what may be changed was.
    CHECK(Snapshot(ground.outside()) == before);
    CHECK(ground.ModeOf(".git/config") == 0600);
    for (const char* name : {"race", "race-link", "race-next"}) {
      ground.Remove(std::string("folder/") + name);
    }
  }
}

TEST_CASE("landlock tier: programs that set modes and times work") {
  const MetadataGround ground;
  ground.SkipWithoutTier();
  Expect(RunText(ground, ground.Policy(), R"X(
cd folder && printf '#!/bin/sh\necho ran\n' >run && chmod +x run && ./run || exit
touch -d 2001-01-01 file && mkdir sub && tar -cf a.tar file && tar -xf a.tar -C sub || exit
test "$(stat -c %Y sub/file)" = "$(stat -c %Y file)" && cp -p file copy && install -m 700 file i && echo worked)X"))
      .Status(0)
      .Out("ran\n")
      .Out("worked\n");
}

}  // namespace
}  // namespace cordon::test
