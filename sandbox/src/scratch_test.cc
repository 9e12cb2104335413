#include "scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "descriptor_testing.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

UniqueFd Open(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void Write(const std::string& path, const std::string& text = "x") { std::ofstream(path) << text; }

std::size_t Entries(const std::string& path) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

mode_t ModeOf(const std::string& path) {
  struct stat status = {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::unique_ptr<ScratchFolder> Made(const std::string& root) {
  absl::StatusOr<std::unique_ptr<ScratchFolder>> folder = ScratchFolder::Create(root);
  REQUIRE(folder.ok());
  (*folder)->RemoveAbandoned();
  return *std::move(folder);
}

TEST_CASE("a scratch folder is private, and is removed with all below it and nothing else") {
  const DescriptorGuard guard;
  const TemporaryFolder root;
  Write(root / "the caller's own");
  const mode_t before = umask(0);
  {
    const std::unique_ptr<ScratchFolder> folder = Made(root.path());
    const absl::StatusOr<ScratchFolders> one =
        folder->MakeExecutorFolders("1", HomeMode::kIsolated);
    const absl::StatusOr<ScratchFolders> two = folder->MakeExecutorFolders("2", HomeMode::kReal);
    REQUIRE(one.ok());
    REQUIRE(two.ok());
    for (const std::string& path :
         {folder->path(), one->home, one->temporary, two->temporary, two->cache}) {
      CHECK(ModeOf(path) == 0700);
    }
    CHECK(one->cache.empty());  // It is in the home.
    CHECK(two->home.empty());   // It is the real one.
    CHECK(one->temporary != two->temporary);
    Write(one->home + "/left");
    CHECK(folder->RemoveExecutorFolders("2").ok());
    CHECK_FALSE(fs::exists(two->temporary));
    CHECK(fs::exists(one->home + "/left"));
  }
  umask(before);
  CHECK(Entries(root.path()) == 1);
  CHECK(fs::exists(root / "the caller's own"));
}

TEST_CASE("removing a scratch folder twice is fine, and using it then is not") {
  const TemporaryFolder root;
  const std::unique_ptr<ScratchFolder> folder = Made(root.path());
  CHECK(folder->Remove().ok());
  CHECK(folder->Remove().ok());
  CHECK(Is(folder->MakeExecutorFolders("1", HomeMode::kIsolated).status(), ErrorCode::kClosed));
  CHECK(Entries(root.path()) == 0);
}

TEST_CASE("a scratch root that is no folder is an option that is not valid") {
  const TemporaryFolder root;
  Write(root / "file");
  for (const std::string& path : {root / "file", root / "missing"}) {
    CHECK(Is(ScratchFolder::Create(path).status(), ErrorCode::kInvalidOption));
  }
  CHECK(Entries(root.path()) == 1);
}

TEST_CASE("removal does not follow links") {
  const DescriptorGuard guard;
  const TemporaryFolder root;
  fs::create_directories(root / "outside/kept");
  Write(root / "outside/file");
  fs::create_directories(root / "tree/deep");
  fs::create_directory_symlink(root / "outside", root / "tree/link");
  fs::create_directory_symlink(root / "outside", root / "tree/deep/link");
  fs::create_directory_symlink("../..", root / "tree/deep/up");
  fs::create_symlink(root / "outside/file", root / "tree/file");
  CHECK(RemoveTree(Open(root.path()).get(), "tree").ok());
  CHECK_FALSE(fs::exists(root / "tree"));
  CHECK(fs::exists(root / "outside/kept"));
  CHECK(fs::exists(root / "outside/file"));

  fs::create_directory_symlink(root / "outside", root / "tree");
  CHECK_FALSE(RemoveTree(Open(root.path()).get(), "tree").ok());
  CHECK(Entries(root / "outside") == 2);
}

TEST_CASE("removal copes with folders that a command closed to its owner") {
  const TemporaryFolder root;
  fs::create_directories(root / "tree/a/b/c");
  Write(root / "tree/a/b/file");
  for (const char* path : {"tree/a/b/c", "tree/a/b", "tree/a", "tree"}) {
    REQUIRE(chmod((root / path).c_str(), 0) == 0);
  }
  CHECK(RemoveTree(Open(root.path()).get(), "tree").ok());
  CHECK_FALSE(fs::exists(root / "tree"));
}

// Far longer than PATH_MAX, with fewer descriptors than levels.
TEST_CASE("removal copes with a tree deeper than a path can say, and needs two descriptors") {
  const DescriptorGuard guard;
  const TemporaryFolder root;
  const std::string name(200, 'd');
  REQUIRE(mkdirat(AT_FDCWD, (root / "tree").c_str(), 0700) == 0);
  UniqueFd folder = Open(root / "tree");
  for (int i = 0; i < 200; ++i) {
    REQUIRE(mkdirat(folder.get(), name.c_str(), 0700) == 0);
    folder.Reset(openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(folder.valid());
  }
  folder.Reset();
  const UniqueFd parent = Open(root.path());
  rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few = {static_cast<rlim_t>(parent.get()) + 8, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const absl::Status removed = RemoveTree(parent.get(), "tree");
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(removed.ok());
  CHECK_FALSE(fs::exists(root / "tree"));
}

TEST_CASE("removal copes with many names and with names like its own") {
  const TemporaryFolder root;
  fs::create_directories(root / "tree/removing-0/removing-0");
  for (int i = 0; i < 3000; ++i) Write(root / ("tree/removing-0/" + std::to_string(i)));
  CHECK(RemoveTree(Open(root.path()).get(), "tree").ok());
  CHECK_FALSE(fs::exists(root / "tree"));
  CHECK(RemoveTree(Open(root.path()).get(), "tree").ok());
}

// Makes a scratch folder and dies without removing it.
std::string AbandonedSet(const std::string& root) {
  const pid_t child = fork();
  if (child == 0) {
    const absl::StatusOr<std::unique_ptr<ScratchFolder>> folder = ScratchFolder::Create(root);
    if (folder.ok()) (void)(*folder)->MakeExecutorFolders("1", HomeMode::kIsolated);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(Entries(root) == 1);
  return fs::directory_iterator(root)->path();
}

TEST_CASE("what a killed process left is removed by the next one, what a living one has is not") {
  const TemporaryFolder root;
  const std::string abandoned = AbandonedSet(root.path());
  Write(abandoned + "/1-home/file");
  fs::create_directory(root / "cordon-own-is-somebody's-file.d");
  const std::unique_ptr<ScratchFolder> first = Made(root.path());
  CHECK_FALSE(fs::exists(abandoned));
  const std::unique_ptr<ScratchFolder> second = Made(root.path());
  CHECK(fs::exists(first->path()));
  CHECK(fs::exists(second->path()));
}

TEST_CASE(
    "what was killed while it made its folder leaves it to the next one, not while others make "
    "theirs") {
  const TemporaryFolder root;
  fs::create_directory(root / "cordon-new-unfinished");
  {
    const UniqueFd maker(open(root.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(flock(maker.get(), LOCK_SH) == 0);
    const std::unique_ptr<ScratchFolder> beside = Made(root.path());
    CHECK(fs::exists(root / "cordon-new-unfinished"));
  }
  const std::unique_ptr<ScratchFolder> next = Made(root.path());
  CHECK_FALSE(fs::exists(root / "cordon-new-unfinished"));
}

TEST_CASE("a root that somebody has locked is used all the same") {
  const TemporaryFolder root;
  const UniqueFd somebody(open(root.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(flock(somebody.get(), LOCK_EX) == 0);
  CHECK(fs::exists(Made(root.path())->path()));
}

TEST_CASE("a link named like a set is neither followed nor removed") {
  const TemporaryFolder root;
  fs::create_directories(root / "outside/kept");
  fs::create_directories(root / "scratch");
  fs::create_directory_symlink(root / "outside", root / "scratch/cordon-own-link");
  const std::unique_ptr<ScratchFolder> folder = Made(root / "scratch");
  CHECK(fs::exists(root / "outside/kept"));
  CHECK_FALSE(fs::exists(root / "outside/lock"));
}

TEST_CASE("where folders cannot be locked, a file in them says whether their owner lives") {
  const TemporaryFolder root;
  fs::create_directory(root / "cordon-own-by-a-file");
  Write(root / "cordon-own-by-a-file/lock");
  {
    const UniqueFd owner(open((root / "cordon-own-by-a-file/lock").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(flock(owner.get(), LOCK_EX) == 0);
    (void)Made(root.path());
    CHECK(fs::exists(root / "cordon-own-by-a-file"));
  }
  (void)Made(root.path());
  CHECK_FALSE(fs::exists(root / "cordon-own-by-a-file"));
}

TEST_CASE("sets that start at the same time in one root do not remove each other") {
  const TemporaryFolder root;
  constexpr int kSets = 16;
  std::vector<std::unique_ptr<ScratchFolder>> folders(kSets);
  std::vector<std::thread> threads;
  for (auto& folder : folders) {
    threads.emplace_back([&root, &folder] {
      absl::StatusOr<std::unique_ptr<ScratchFolder>> made = ScratchFolder::Create(root.path());
      if (!made.ok()) return;
      folder = *std::move(made);
      folder->RemoveAbandoned();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& folder : folders) {
    REQUIRE(folder != nullptr);
    CHECK(folder->MakeExecutorFolders("1", HomeMode::kIsolated).ok());
  }
  CHECK(Entries(root.path()) == kSets);
}

}  // namespace
}  // namespace cordon::internal
