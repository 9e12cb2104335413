#include "tree_walk.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cordon/sdk/status.h"
#include "sandbox_testing.h"
#include "support/catch.h"
#include "workspace_index.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

// A workspace with so many folders that helpers are called, and what is to be found there.
class WideGround {
 public:
  static constexpr int kWidth = 14;
  static constexpr std::size_t kFolders = 1 + kWidth + kWidth * kWidth;

  WideGround() {
    for (int i = 0; i < kWidth; ++i) {
      for (int j = 0; j < kWidth; ++j) Fill("f" + std::to_string(i) + "/g" + std::to_string(j), j);
    }
    std::sort(expected.matches.begin(), expected.matches.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    std::sort(expected.git_files.begin(), expected.git_files.end());
    request.roots = {root.path()};
    request.patterns = {{root / "**/.env", true}};
    if (geteuid() == 0) fs::permissions(root.path(), fs::perms(0755));  // See `WalkAlone`.
  }

  const TemporaryFolder root;
  IndexRequest request;
  IndexContents expected;

 private:
  void Fill(const std::string& folder, int number) {
    fs::create_directories(root / folder);
    std::ofstream(root / folder + "/other");
    if (number % 3 == 0) {
      std::ofstream(root / folder + "/.env");
      expected.matches.push_back({root / folder + "/.env", 0, NodeType::kFile});
    }
    if (number % 5 == 0) {
      std::ofstream(root / folder + "/.git");
      expected.git_files.push_back(root / folder + "/.git");
    }
  }
};

// In a child that may start no thread. 0: as it should be.
int WalkAlone(const WideGround& ground) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) return 2;
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return 3;
  WorkspaceIndex index;
  if (!index.Refresh(ground.request).ok()) return 4;
  return index.contents() == ground.expected ? 0 : 5;
}

}  // namespace

TEST_CASE("a walk with helpers finds what is in every folder, and looks at each once", "[walk]") {
  const WideGround ground;
  for (int i = 0; i < 20; ++i) {
    WorkspaceIndex index;
    REQUIRE(index.Refresh(ground.request).ok());
    REQUIRE(index.folders_read() == WideGround::kFolders);
    REQUIRE(index.contents() == ground.expected);
    REQUIRE(index.RefreshAgain().ok());
    REQUIRE(index.contents() == ground.expected);
  }
}

TEST_CASE("a walk without helpers finds the same", "[walk]") {
  const WideGround ground;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(WalkAlone(ground));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("the names that all threads find count together", "[walk]") {
  WideGround ground;
  WorkspaceIndex all;
  REQUIRE(all.Refresh(ground.request).ok());
  std::size_t names = 0;
  for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(ground.root.path())) {
    ++names;
  }
  ground.request.max_names = names;
  WorkspaceIndex enough;
  CHECK(enough.Refresh(ground.request).ok());
  --ground.request.max_names;
  WorkspaceIndex too_many;
  CHECK(Is(too_many.Refresh(ground.request), ErrorCode::kBusy));
}

TEST_CASE("an optional root is given up at the same folder each time", "[walk]") {
  WideGround ground;
  ground.request.optional_roots = std::move(ground.request.roots);
  ground.request.roots.clear();
  ground.request.max_optional_names = 200;
  std::set<std::size_t> found;
  for (int i = 0; i < 20; ++i) {
    WorkspaceIndex index;
    REQUIRE(index.Refresh(ground.request).ok());
    REQUIRE(index.contents().incomplete == std::vector<std::string>{ground.root.path()});
    found.insert(index.contents().matches.size());
  }
  CHECK(found.size() == 1);
}

}  // namespace cordon::internal
