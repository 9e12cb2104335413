// What a cache of indexes does when it cannot be written as it should, and which circumstances make
// what is in it worth nothing.

#include <grp.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cordon/sdk/digest.h"
#include "directory_reader.h"
#include "index_cache_testing.h"
#include "index_record.h"
#include "mount_testing.h"
#include "own_files.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::EnterMountNamespace;
using testing::InChild;
using testing::index_cache::Ground;
using testing::index_cache::kAllFolders;
using testing::index_cache::KeepsKeys;
using testing::index_cache::LetAge;
using testing::index_cache::ReadFile;
using testing::index_cache::Write;

constexpr int kNotHere = 77;

std::size_t FilesIn(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

// The parts of a kept file, to be put together and signed anew as only this user can.
struct File {
  explicit File(const std::string& text) {
    const std::size_t version_end = text.find('\n') + 1;
    version = text.substr(0, version_end);
    std::size_t at = version_end + sizeof(Digest);
    const auto take = [&](std::size_t size) {
      at += size;
      return text.substr(at - size, size);
    };
    request = take(sizeof(Digest));
    boot = take(37);
    const std::string clock = take(sizeof clock_offset);
    std::memcpy(&clock_offset, clock.data(), sizeof clock_offset);
    image = text.substr(at);
  }
  [[nodiscard]] std::string Signed() const {
    std::string text = request + boot;
    text.append(reinterpret_cast<const char*>(&clock_offset), sizeof clock_offset);
    text += image;
    const Digest signature = UserKey::Find()->Sign(text);
    return version + std::string(signature.begin(), signature.end()) + text;
  }

  std::string version;
  std::string request;
  std::string boot;
  std::int64_t clock_offset = 0;
  std::string image;
};

TEST_CASE("what this user signed counts only in the circumstances that it was written in",
          "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  File file(ReadFile(ground.File()));
  REQUIRE(file.Signed() == ReadFile(ground.File()));
  REQUIRE(file.boot == ReadSmallFile("/proc/sys/kernel/random/boot_id", 64));
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::size_t expected = kAllFolders;
  SECTION("not for another request") { file.request[0] ^= 1; }
  SECTION("not after another boot") { file.boot[0] = file.boot[0] == '0' ? '1' : '0'; }
  SECTION("not when the clock was set forward") { file.clock_offset -= kSecond; }
  SECTION("not when the clock was set back") { file.clock_offset += kSecond; }
  SECTION("when it drifted") {
    file.clock_offset += kSecond / 10;
    expected = 0;
  }
  SECTION("not of another version") { file.version[file.version.size() - 2] ^= 1; }
  SECTION("not with something after it") { file.image += '\0'; }
  SECTION("as it was") { expected = 0; }
  std::ofstream(ground.File(), std::ios::binary | std::ios::trunc) << file.Signed();
  CHECK(ground.Look() == expected);
  CHECK(ground.contents == ground.Fresh());
}

TEST_CASE("what one user's groups could see is not taken for what others can", "[index]") {
  if (geteuid() != 0) CORDON_SKIP("root", "only root changes its groups");
  Ground ground;
  NEEDS_CACHE(ground);
  CHECK(InChild([&] {
          const gid_t group = 4711;
          return setgroups(1, &group) == 0 && ground.Look() == kAllFolders ? 0 : 1;
        }) == 0);
  CHECK(InChild([&] { return setegid(4711) == 0 && ground.Look() == kAllFolders ? 0 : 1; }) == 0);
  CHECK(InChild([&] { return ground.Look() == 0 ? 0 : 1; }) == 0);
}

TEST_CASE("a folder is another one as soon as one of its marks is", "[index]") {
  FolderRecord record;
  record.stamp = {1, 2, 3, 4};
  record.born_ns = 5;
  NodeStatus now;
  now.stamp = record.stamp;
  now.born_ns = record.born_ns;
  CHECK(record.IsOf(now));
  SECTION("device") { ++now.stamp.device; }
  SECTION("inode") { ++now.stamp.inode; }
  SECTION("time of its content") { ++now.stamp.modified_ns; }
  SECTION("time of its state") { ++now.stamp.changed_ns; }
  SECTION("birth") { ++now.born_ns; }
  if (now.born_ns != record.born_ns || now.stamp != record.stamp) CHECK_FALSE(record.IsOf(now));
}

TEST_CASE("programs that save at once leave one good file", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  constexpr int kPrograms = 4;
  std::vector<pid_t> programs;
  for (int i = 0; i < kPrograms; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      int wrong = 0;
      for (int round = 0; round < 30; ++round) {
        // Another one may have put it back meanwhile; then it is whole.
        std::error_code ignored;
        fs::remove(ground.File(), ignored);
        const std::size_t read = ground.Look();
        if ((read != 0 && read != kAllFolders) || !ground.Found().empty()) ++wrong;
      }
      _exit(wrong == 0 ? 0 : 1);
    }
    programs.push_back(child);
  }
  for (const pid_t program : programs) {
    int status = 0;
    REQUIRE(waitpid(program, &status, 0) == program);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  ground.Look();
  CHECK(FilesIn(ground.folder) == 1);
  CHECK(ground.Look() == 0);
}

// 0: as it should be.
int LookOnSmallDisk(Ground& ground, const char* size, bool has_room) {
  const std::string options = std::string("mode=0700,size=") + size;
  fs::create_directories(ground.folder);
  if (!EnterMountNamespace() ||
      mount("none", ground.folder.c_str(), "tmpfs", 0, options.c_str()) != 0 || !KeepsKeys()) {
    return kNotHere;
  }
  if (ground.Look() != kAllFolders) return 2;
  if (ground.contents != ground.Fresh()) return 3;
  if (FilesIn(ground.folder) != (has_room ? 1 : 0)) return 4;
  return ground.Look() == (has_room ? 0 : kAllFolders) ? 0 : 5;
}

TEST_CASE("a full disk costs the cache and nothing else", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  fs::remove_all(ground.folder);
  const int with_room = InChild([&] { return LookOnSmallDisk(ground, "1m", true); });
  if (with_room == kNotHere) CORDON_SKIP("userns", "no mount namespace can be made");
  CHECK(with_room == 0);
  CHECK(InChild([&] { return LookOnSmallDisk(ground, "4k", false); }) == 0);
}

TEST_CASE("a limit on the size of files costs the cache, and ends no program", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  const auto look = [&ground](rlim_t bytes, std::size_t files) {
    const rlimit limit = {bytes, bytes};
    fs::remove(ground.File());
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    if (ground.Look() != kAllFolders) return 2;
    return FilesIn(ground.folder) == files ? 0 : 3;
  };
  CHECK(InChild([&] { return look(1 << 20, 1); }) == 0);
  CHECK(InChild([&] { return look(1000, 0); }) == 0);
}

TEST_CASE("a folder that is not this user's, or cannot be read, is no cache", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  const std::string file = ground.File();
  const std::string kept = ReadFile(file);
  SECTION("another user's") {
    if (geteuid() != 0) CORDON_SKIP("root", "only root gives folders away");
    REQUIRE(chown(ground.folder.c_str(), 65534, 65534) == 0);
  }
  SECTION("unreadable") {
    if (geteuid() == 0) CORDON_SKIP("user", "root may read everything");
    fs::permissions(ground.folder, fs::perms(0));
  }
  CHECK(ground.Look() == kAllFolders);
  CHECK(ground.contents == ground.Fresh());
  if (geteuid() == 0) {
    CHECK(FilesIn(ground.folder) == 1);
    REQUIRE(chown(ground.folder.c_str(), 0, 0) == 0);
  }
  fs::permissions(ground.folder, fs::perms(0700));
  CHECK(ReadFile(file) == kept);
  CHECK(ground.Look() == 0);
}

TEST_CASE("a folder that may be read and not be written serves, and stays as it is", "[index]") {
  if (geteuid() == 0) CORDON_SKIP("user", "root may write everywhere");
  Ground ground;
  NEEDS_CACHE(ground);
  fs::permissions(ground.folder, fs::perms(0500));
  CHECK(ground.Look() == 0);
  for (int i = 0; i < 40; ++i) Write(ground.root / ("f" + std::to_string(i) + "/deep/.env"));
  CHECK(ground.Look() == 40);
  CHECK(ground.Found().size() == 40);
  CHECK(FilesIn(ground.folder) == 1);
  fs::permissions(ground.folder, fs::perms(0700));
}

TEST_CASE("a file that is larger than a program wants to read is not read", "[index]") {
  const testing::TemporaryFolder home;
  const UniqueFd folder = OpenOrMakeOwnFolder(home / "own");
  REQUIRE(folder.valid());
  WriteOwnFile(folder.get(), "file", "1234");
  CHECK(ReadOwnFile(folder.get(), "file", 4) == "1234");
  CHECK_FALSE(ReadOwnFile(folder.get(), "file", 3).has_value());
}

TEST_CASE("on a file system whose times need not tell, nothing is kept", "[index]") {
  Ground ground;
  NEEDS_CACHE(ground);
  fs::remove_all(ground.folder);
  const int result = InChild([&] {
    if (!EnterMountNamespace() || mount("none", ground.root.path().c_str(), "ramfs", 0, "") != 0 ||
        !KeepsKeys()) {
      return kNotHere;
    }
    for (int i = 0; i < 160; ++i) Write(ground.root / ("f" + std::to_string(i) + "/file"));
    LetAge();
    if (ground.Look() != kAllFolders) return 2;
    return ground.Look() == kAllFolders ? 0 : 3;
  });
  if (result == kNotHere) CORDON_SKIP("userns", "no mount namespace can be made");
  CHECK(result == 0);
}

}  // namespace
}  // namespace cordon::internal
