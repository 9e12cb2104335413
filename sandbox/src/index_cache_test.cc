#include "index_cache.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "index_cache_testing.h"
#include "random_places_testing.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using testing::index_cache::Ground;
using testing::index_cache::kAllFolders;
using testing::index_cache::KeepsKeys;
using testing::index_cache::LetAge;
using testing::index_cache::Paths;
using testing::index_cache::ReadFile;
using testing::index_cache::Write;

TEST_CASE("what one program found the next one need not look for", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  CHECK(ground.Found().empty());
  Write(ground.root / "f7/deep/.env");
  CHECK(ground.Look() == 1);
  CHECK(ground.Found() == Paths{ground.root / "f7/deep/.env"});
  SECTION("nor for what matched") {
    fs::remove(ground.File());
    LetAge();
    CHECK(ground.Look() == kAllFolders);
    CHECK(ground.Look() == 0);
    CHECK(ground.Found() == Paths{ground.root / "f7/deep/.env"});
    CHECK(ground.contents == ground.Fresh());
  }
  SECTION("under another name") {
    fs::rename(ground.root / "f7", ground.root / "f8/moved");
    CHECK(ground.Look() > 0);
    CHECK(ground.Found() == Paths{ground.root / "f8/moved/deep/.env"});
  }
}

TEST_CASE("a folder that takes the place of a known one is looked at", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  const TemporaryFolder elsewhere;
  Write(elsewhere / "other/deep/.env");
  LetAge();
  SECTION("moved there") {
    fs::rename(ground.root / "f1", elsewhere / "away");
    fs::rename(elsewhere / "other", ground.root / "f1");
    CHECK(ground.Look() > 0);
    CHECK(ground.Found() == Paths{ground.root / "f1/deep/.env"});
  }
  SECTION("exchanged by way of a third name") {
    Write(ground.root / "f2/deep/.env");
    fs::rename(ground.root / "f1", ground.root / "f3/away");
    fs::rename(ground.root / "f2", ground.root / "f1");
    fs::rename(ground.root / "f3/away", ground.root / "f2");
    CHECK(ground.Look() > 0);
    CHECK(ground.Found() == Paths{ground.root / "f1/deep/.env"});
  }
  SECTION("a link") {
    fs::remove_all(ground.root / "f1");
    fs::create_directory_symlink(elsewhere / "other", ground.root / "f1");
    CHECK(ground.Look() > 0);
    CHECK(ground.Found().empty());
  }
  SECTION("the root itself") {
    const std::string aside = ground.root.path() + ".aside";
    fs::rename(ground.root.path(), aside);
    Write(ground.root / "f1/deep/.env");
    CHECK(ground.Look() == 3);
    CHECK(ground.Found() == Paths{ground.root / "f1/deep/.env"});
    fs::remove_all(aside);
  }
  CHECK(ground.contents == ground.Fresh());
}

TEST_CASE("a change within the resolution of the times is seen", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  ground.margin = IndexCache::kMarginNs;  // Everything here is younger.
  fs::remove(ground.File());
  CHECK(ground.Look() == kAllFolders);
  REQUIRE_FALSE(ground.File().empty());
  CHECK(ground.Look() == kAllFolders);
  Write(ground.root / "f7/deep/.env");
  ground.Look();
  CHECK(ground.Found() == Paths{ground.root / "f7/deep/.env"});
}

TEST_CASE("a folder whose times were set back is looked at", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  const std::string folder = ground.root / "f7/deep";
  struct stat before = {};
  REQUIRE(stat(folder.c_str(), &before) == 0);
  Write(folder + "/.env");
  const timespec times[] = {before.st_atim, before.st_mtim};
  REQUIRE(utimensat(AT_FDCWD, folder.c_str(), times, 0) == 0);
  struct stat after = {};
  REQUIRE(stat(folder.c_str(), &after) == 0);
  REQUIRE(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
  CHECK(ground.Look() == 1);
  CHECK(ground.Found() == Paths{folder + "/.env"});
}

TEST_CASE("what was kept for another request is not used", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  const std::string other = ground.root / "**/file";
  SECTION("other globs") { ground.request.patterns.push_back({other, false}); }
  SECTION("a glob that means another thing") { ground.request.patterns[0].hides = false; }
  SECTION("other folders to leave out") { ground.request.skip = {ground.root / "f1"}; }
  SECTION("git's folders, too") { ground.request.whole_repositories = true; }
  CHECK(ground.Look() >= kAllFolders - 2);
  CHECK(ground.contents == ground.Fresh());
  CHECK(ground.Look() == 0);
}

TEST_CASE("a file that this user's programs did not write so is not believed", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  const std::string file = ground.File();
  const std::string good = ReadFile(file);
  REQUIRE(good.size() > 1000);
  std::string bad = good;
  const auto put = [&file](const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  };
  bool restorable = true;
  SECTION("nothing in it") { bad.clear(); }
  SECTION("cut off in the signature") { bad.resize(20); }
  SECTION("cut off") { bad.resize(bad.size() / 2); }
  SECTION("longer") { bad.push_back('\0'); }
  SECTION("another version") { bad[0] ^= 1; }
  SECTION("another signature") { bad[20] ^= 1; }
  SECTION("signed for another request") { bad[50] ^= 1; }
  SECTION("other content") { bad[bad.size() / 2] ^= 1; }
  SECTION("another name at its end") { bad[bad.size() - 2] ^= 1; }
  SECTION("a link to it") {
    fs::rename(file, file + ".real");
    fs::create_symlink(file + ".real", file);
    restorable = false;
  }
  SECTION("a second name of it") {
    fs::create_hard_link(file, file + ".second");
    restorable = false;
  }
  SECTION("one that others may read") { fs::permissions(file, fs::perms(0644)); }
  SECTION("a fifo") {
    fs::remove(file);
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    restorable = false;
  }
  SECTION("another user's") {
    if (geteuid() != 0) CORDON_SKIP("root", "only root gives files away");
    REQUIRE(chown(file.c_str(), 65534, 65534) == 0);
  }
  SECTION("in a folder that others may enter") {
    fs::permissions(ground.folder, fs::perms(0750));
    restorable = false;
  }
  SECTION("in a folder behind a link") {
    fs::rename(ground.folder, ground.folder + ".real");
    fs::create_directory_symlink(ground.folder + ".real", ground.folder);
    restorable = false;
  }
  if (bad != good) put(bad);
  CHECK(ground.Look() == kAllFolders);
  CHECK(ground.contents == ground.Fresh());
  if (!restorable) return;
  CHECK(ground.Look() == 0);  // It was replaced by a good one.
  put(good);
  CHECK(ground.Look() == 0);
}

TEST_CASE("an older file that is put back hides nothing that came later", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  const std::string file = ground.File();
  const std::string old = ReadFile(file);
  for (int i = 0; i < 40; ++i) Write(ground.root / ("f" + std::to_string(i) + "/deep/.env"));
  CHECK(ground.Look() == 40);
  CHECK(ReadFile(file) != old);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << old;
  CHECK(ground.Look() == 40);
  CHECK(ground.Found().size() == 40);
}

TEST_CASE("a cache is made only where it is this user's", "[index]") {
  Ground ground;
  if (!KeepsKeys()) CORDON_SKIP("keyrings", "no keys of the kernel");
  SECTION("not two folders deeper than what there is") {
    ground.folder = ground.home / "a/b/cordon";
    ground.Look();
    CHECK_FALSE(fs::exists(ground.home / "a"));
  }
  SECTION("not in another user's home") {
    if (geteuid() != 0) CORDON_SKIP("root", "only root writes there");
    REQUIRE(chown(ground.home.path().c_str(), 65534, 65534) == 0);
    ground.Look();
    CHECK(fs::is_empty(ground.home.path()));
  }
  SECTION("not where a file is") {
    Write(ground.home / ".cache");
    ground.Look();
    CHECK(fs::is_regular_file(ground.home / ".cache"));
  }
  SECTION("with rights for nobody else") {
    ground.Look();
    CHECK(fs::status(ground.folder).permissions() == fs::perms(0700));
    CHECK(fs::status(ground.File()).permissions() == fs::perms(0600));
  }
  CHECK(ground.contents == ground.Fresh());
}

TEST_CASE("a small workspace leaves nothing in the cache", "[index]") {
  Ground ground;
  for (int i = 10; i < 80; ++i) fs::remove_all(ground.root / ("f" + std::to_string(i)));
  CHECK(ground.Look() == 21);
  CHECK_FALSE(fs::exists(ground.folder));
}

TEST_CASE("a cache holds a bounded number of files", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  for (std::size_t i = 0; i < IndexCache::kMaxFiles + 5; ++i) {
    ground.request.skip = {"/nowhere" + std::to_string(i)};
    ground.Look();
  }
  const auto files = std::distance(fs::directory_iterator(ground.folder), {});
  CHECK(static_cast<std::size_t>(files) == IndexCache::kMaxFiles);
  CHECK(ground.Look() == 0);  // The last one is among them.
}

// In a child, since it lives in a mount namespace of its own. 0: as it should be.
int MountOverKnownFolder(Ground& ground) {
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return 2;
  }
  // The mounts of another namespace are other ones.
  if (ground.Look() != kAllFolders || ground.Look() != 0) return 3;
  const std::string folder = ground.root / "f1";
  // The very same folder, which only the mount tells.
  if (mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0) return 4;
  ground.Look();
  if (ground.contents.mounts != Paths{folder}) return 5;
  return ground.contents == ground.Fresh() ? 0 : 6;
}

TEST_CASE("what is mounted over a known folder is looked at", "[index]") {
  if (geteuid() != 0) CORDON_SKIP("root", "only root mounts");
  Ground ground;
  NEEDS_CACHE(ground);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(MountOverKnownFolder(ground));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) CORDON_SKIP("mounts", "no mount namespace can be made");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("whatever happens between them, a program with a cache finds what one without finds",
          "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  testing::RandomPlaces random(ground.root.path(), 60, 4711);
  std::size_t known = 0;
  for (int step = 0; step < 600; ++step) {
    std::error_code ignored;
    switch (random.Below(8)) {
      case 0:
        fs::create_directories(random.Place(), ignored);
        break;
      case 1:
        std::ofstream(random.Place() + "/.env");
        break;
      case 2:
        std::ofstream(random.Place() + "/HEAD");
        fs::create_directories(random.Place() + "/objects", ignored);
        fs::create_directories(random.Place() + "/refs", ignored);
        break;
      case 3:
        fs::rename(random.Place(), random.Place(), ignored);
        break;
      case 4:
        if (random.Below(4) == 0) fs::remove_all(random.Place(), ignored);
        break;
      case 5:
        fs::rename(random.Place() + "/.env", random.Place() + "/.git", ignored);
        break;
      case 6:
        fs::last_write_time(random.Place(),
                            fs::file_time_type::clock::now() - std::chrono::hours(1), ignored);
        break;
      case 7:
        fs::permissions(random.Place(), fs::perms(random.Below(2) == 0 ? 0700 : 0755), ignored);
        break;
    }
    if (random.Below(4) != 0) continue;  // Several changes at a time.
    if (random.Below(8) == 0) LetAge();
    // Sometimes as if no file had been there when the last program began.
    if (random.Below(8) == 0 && !ground.File().empty()) fs::remove(ground.File());
    const std::size_t read = ground.Look();
    CAPTURE(step);
    REQUIRE(ground.contents == ground.Fresh());
    if (read < 40) ++known;
  }
  CHECK(known > 20);
}

}  // namespace
}  // namespace cordon::internal
