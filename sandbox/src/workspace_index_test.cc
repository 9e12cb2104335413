#include "workspace_index.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cordon/sdk/status.h"
#include "random_places_testing.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using Paths = std::vector<std::string>;

void Write(const std::string& path, const std::string& text = "x") {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

IndexRequest Request(const std::string& root, std::vector<IndexPattern> patterns = {}) {
  IndexRequest request;
  request.roots = {root};
  request.patterns = std::move(patterns);
  return request;
}

Paths MatchedPaths(const IndexContents& contents) {
  Paths paths;
  for (const IndexMatch& match : contents.matches) paths.push_back(match.path);
  return paths;
}

}  // namespace

TEST_CASE("matches are found at every depth, and nothing below a hidden one", "[index]") {
  const TemporaryFolder root;
  Write(root / ".env");
  Write(root / "a/b/.env");
  Write(root / "a/b/.envrc");
  Write(root / "secret/deep/.env");
  WorkspaceIndex index;
  REQUIRE(index.Refresh(Request(root.path(), {{root / "**/.env", true}, {root / "secret", true}}))
              .ok());
  CHECK(MatchedPaths(index.contents()) == Paths{root / ".env", root / "a/b/.env", root / "secret"});
  CHECK(index.contents().matches[0].type == NodeType::kFile);
  CHECK(index.contents().matches[2].type == NodeType::kFolder);
}

TEST_CASE("a protected folder is searched for what is hidden in it", "[index]") {
  const TemporaryFolder root;
  Write(root / ".vscode/prod.key");
  WorkspaceIndex index;
  REQUIRE(
      index.Refresh(Request(root.path(), {{root / ".vscode", false}, {root / "**/*.key", true}}))
          .ok());
  CHECK(MatchedPaths(index.contents()) == Paths{root / ".vscode", root / ".vscode/prod.key"});
}

TEST_CASE("links are not followed", "[index]") {
  const TemporaryFolder root;
  const TemporaryFolder outside;
  Write(outside / ".env");
  fs::create_symlink(outside.path(), root / "link");
  fs::create_symlink(outside / ".env", root / ".env");
  WorkspaceIndex index;
  REQUIRE(index.Refresh(Request(root.path(), {{root / "**/.env", true}})).ok());
  REQUIRE(MatchedPaths(index.contents()) == Paths{root / ".env"});
  CHECK(index.contents().matches[0].type == NodeType::kSymlink);
}

TEST_CASE("repositories are found by name and by what git looks for", "[index]") {
  const TemporaryFolder root;
  Write(root / ".git/config");
  Write(root / ".git/objects/nested/.git/config");
  Write(root / "vendor/sub/.git", "gitdir: ../../.git/modules/sub\n");
  for (const char* bare : {"bare", ".git/modules/sub"}) {
    Write(root / bare + "/HEAD");
    fs::create_directories(root / bare + "/objects");
    fs::create_directories(root / bare + "/refs");
  }
  WorkspaceIndex index;
  IndexRequest request = Request(root.path());
  REQUIRE(index.Refresh(request).ok());
  CHECK(index.contents().git_directories ==
        Paths{root / ".git", root / ".git/modules/sub", root / "bare"});
  CHECK(index.contents().git_files == Paths{root / "vendor/sub/.git"});

  request.whole_repositories = true;
  REQUIRE(index.Refresh(request).ok());
  CHECK(index.contents().git_directories.size() == 4);
}

TEST_CASE("a refresh reads only the folders that changed", "[index]") {
  const TemporaryFolder root;
  for (int i = 0; i < 20; ++i) Write(root / "d" + std::to_string(i) + "/sub/file");
  const IndexRequest request = Request(root.path(), {{root / "**/*.key", true}});
  WorkspaceIndex index;
  // Fresh folders may change within one tick of the clock, and so are read again until they are
  // older than that.
  const auto deadline = std::chrono::steady_clock::now() + testing::kDeadline;
  do {
    REQUIRE(index.Refresh(request).ok());
  } while (index.folders_read() > 0 && std::chrono::steady_clock::now() < deadline);
  CHECK(index.folders_read() == 0);
  CHECK(index.contents().matches.empty());

  Write(root / "d7/sub/new.key");
  REQUIRE(index.Refresh(request).ok());
  CHECK(index.folders_read() == 1);
  CHECK(MatchedPaths(index.contents()) == Paths{root / "d7/sub/new.key"});

  fs::remove_all(root / "d7");
  REQUIRE(index.Refresh(request).ok());
  CHECK(index.contents().matches.empty());
}

TEST_CASE("a change right after a refresh is always seen", "[index]") {
  const TemporaryFolder root;
  WorkspaceIndex index;
  const IndexRequest request = Request(root.path(), {{root / "**/*.key", true}});
  for (int i = 0; i < 50; ++i) {
    REQUIRE(index.Refresh(request).ok());
    CHECK(index.contents().matches.size() == static_cast<std::size_t>(i));
    Write(root / std::to_string(i) + ".key");
  }
}

TEST_CASE("a folder that was moved is known under its new name only", "[index]") {
  const TemporaryFolder root;
  Write(root / "a/b/.env");
  const IndexRequest request = Request(root.path(), {{root / "**/.env", true}});
  WorkspaceIndex index;
  REQUIRE(index.Refresh(request).ok());
  fs::rename(root / "a", root / "z");
  REQUIRE(index.Refresh(request).ok());
  CHECK(MatchedPaths(index.contents()) == Paths{root / "z/b/.env"});
}

TEST_CASE("a folder replaced by a link is not entered", "[index]") {
  const TemporaryFolder root;
  const TemporaryFolder outside;
  Write(root / "a/.env");
  Write(outside / ".env");
  const IndexRequest request = Request(root.path(), {{root / "**/.env", true}});
  WorkspaceIndex index;
  REQUIRE(index.Refresh(request).ok());
  REQUIRE(index.contents().matches.size() == 1);
  fs::remove_all(root / "a");
  fs::create_directory_symlink(outside.path(), root / "a");
  REQUIRE(index.Refresh(request).ok());
  CHECK(index.contents().matches.empty());
}

TEST_CASE("too many names are an error that says where", "[index]") {
  const TemporaryFolder root;
  for (int i = 0; i < 30; ++i) Write(root / std::to_string(i));
  IndexRequest request = Request(root.path());
  request.max_names = 20;
  WorkspaceIndex index;
  const absl::Status status = index.Refresh(request);
  CHECK(Is(status, ErrorCode::kBusy));
  CHECK(std::string(status.message()).find(root.path()) != std::string::npos);
  request.max_names = 40;
  CHECK(index.Refresh(request).ok());
}

TEST_CASE("an optional root with too many names is given up and named", "[index]") {
  const TemporaryFolder root;
  for (int i = 0; i < 30; ++i) Write(root / "sub/" + std::to_string(i));
  IndexRequest request;
  request.optional_roots = {root.path()};
  request.max_optional_names = 20;
  WorkspaceIndex index;
  REQUIRE(index.Refresh(request).ok());
  CHECK(index.contents().incomplete == Paths{root.path()});
}

TEST_CASE("a folder that may not be listed is named", "[index]") {
  if (geteuid() == 0) CORDON_SKIP("user", "root may list everything");
  const TemporaryFolder root;
  Write(root / "closed/.env");
  fs::permissions(root / "closed", fs::perms::owner_exec);
  WorkspaceIndex index;
  REQUIRE(index.Refresh(Request(root.path(), {{root / "**/.env", true}})).ok());
  CHECK(index.contents().unlisted == Paths{root / "closed"});
  fs::permissions(root / "closed", fs::perms::owner_all);
}

TEST_CASE("skipped folders are not entered", "[index]") {
  const TemporaryFolder root;
  Write(root / "skipped/.env");
  Write(root / "seen/.env");
  IndexRequest request = Request(root.path(), {{root / "**/.env", true}});
  request.skip = {root / "skipped"};
  WorkspaceIndex index;
  REQUIRE(index.Refresh(request).ok());
  CHECK(MatchedPaths(index.contents()) == Paths{root / "seen/.env"});
}

TEST_CASE("sockets are found without being touched", "[index]") {
  const TemporaryFolder root;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  (root / "s.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(bind(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  WorkspaceIndex index;
  REQUIRE(index.Refresh(Request(root.path())).ok());
  CHECK(index.contents().sockets == Paths{root / "s.sock"});
}

TEST_CASE("every name of a linked file is found", "[index]") {
  const TemporaryFolder root;
  Write(root / "a/.env");
  Write(root / "other");
  fs::create_directories(root / "b/c");
  fs::create_hard_link(root / "a/.env", root / "b/c/alias");
  WorkspaceIndex index;
  REQUIRE(index.Refresh(Request(root.path())).ok());
  const NodeStatus status = StatusOf(root / "a/.env");
  CHECK(status.links == 2);
  CHECK(index.NamesOf({{status.stamp.device, status.stamp.inode}}) ==
        Paths{root / "a/.env", root / "b/c/alias"});
}

TEST_CASE("a root that is missing or a link has no contents", "[index]") {
  const TemporaryFolder root;
  Write(root / "real/.env");
  fs::create_directory_symlink(root / "real", root / "link");
  WorkspaceIndex index;
  IndexRequest request = Request(root / "missing", {{root / "**/.env", true}});
  request.roots.push_back(root / "link");
  REQUIRE(index.Refresh(request).ok());
  CHECK(index.contents() == IndexContents{});
}

// Enough folders for an index to watch them, refreshed until it does.
class WatchedGround {
 public:
  WatchedGround() {
    for (int i = 0; i < 80; ++i) Write(root / ("f" + std::to_string(i) + "/deep/file"));
    for (int i = 0; i < 4; ++i) REQUIRE(Refresh());
  }
  bool Refresh() { return index.Refresh(request).ok(); }
  [[nodiscard]] bool IsWatched() const { return index.folders_unwatched() == 0; }
  [[nodiscard]] Paths Matched() {
    REQUIRE(Refresh());
    return MatchedPaths(index.contents());
  }

  const TemporaryFolder root;
  const IndexRequest request = Request(root.path(), {{root / "**/.env", true}});
  WorkspaceIndex index;
};

#define NEEDS_WATCHES(ground)                                                      \
  if (!(ground).IsWatched()) {                                                     \
    CORDON_SKIP("inotify", "folders of this file system or user are not watched"); \
  }                                                                                \
  static_assert(true)

TEST_CASE("an index whose folders are watched reads only those that changed", "[index]") {
  WatchedGround ground;
  NEEDS_WATCHES(ground);
  CHECK(ground.Matched().empty());
  CHECK(ground.index.folders_read() == 0);
  Write(ground.root / "f7/deep/.env");
  CHECK(ground.Matched() == Paths{ground.root / "f7/deep/.env"});
  CHECK(ground.index.folders_read() == 1);
  Write(ground.root / "f8/new/newer/.env");
  CHECK(ground.Matched() == Paths{ground.root / "f7/deep/.env", ground.root / "f8/new/newer/.env"});
  fs::remove(ground.root / "f7/deep/.env");
  CHECK(ground.Matched() == Paths{ground.root / "f8/new/newer/.env"});
  CHECK(ground.Matched() == Paths{ground.root / "f8/new/newer/.env"});
  CHECK(ground.index.folders_read() == 0);
}

TEST_CASE("a folder that takes the place of a watched one is another one", "[index]") {
  WatchedGround ground;
  NEEDS_WATCHES(ground);
  const TemporaryFolder elsewhere;
  Write(elsewhere / "other/deep/.env");
  SECTION("moved in after the first was moved away") {
    fs::rename(ground.root / "f1", elsewhere / "away");
    fs::rename(elsewhere / "other", ground.root / "f1");
    CHECK(ground.Matched() == Paths{ground.root / "f1/deep/.env"});
    // What was moved away is no concern any more, and what is there now is.
    Write(elsewhere / "away/deep/.env");
    fs::remove(ground.root / "f1/deep/.env");
    CHECK(ground.Matched().empty());
  }
  SECTION("moved to another name, and changed there") {
    fs::rename(ground.root / "f1", ground.root / "f2/moved");
    CHECK(ground.Matched().empty());
    Write(ground.root / "f2/moved/deep/.env");
    CHECK(ground.Matched() == Paths{ground.root / "f2/moved/deep/.env"});
  }
  SECTION("the root itself") {
    const std::string aside = ground.root.path() + ".aside";
    fs::rename(ground.root.path(), aside);
    fs::create_directories(ground.root / "f1/deep");
    Write(ground.root / "f1/deep/.env");
    CHECK(ground.Matched() == Paths{ground.root / "f1/deep/.env"});
    fs::remove_all(aside);
  }
}

TEST_CASE("whatever happens to it, a watched index finds what a new one finds", "[index]") {
  WatchedGround ground;
  NEEDS_WATCHES(ground);
  testing::RandomPlaces random(ground.root.path(), 6, 12345);
  for (int step = 0; step < 400; ++step) {
    std::error_code ignored;
    switch (random.Below(6)) {
      case 0:
        fs::create_directories(random.Place(), ignored);
        break;
      case 1:
        std::ofstream(random.Place() + "/.env");
        break;
      case 2:
        std::ofstream(random.Place() + "/HEAD");
        break;
      case 3:
        fs::rename(random.Place(), random.Place(), ignored);
        break;
      case 4:
        fs::remove_all(random.Place(), ignored);
        break;
      case 5:
        fs::rename(random.Place() + "/.env", random.Place() + "/.git", ignored);
        break;
    }
    if (random.Below(3) == 0) continue;  // Several changes at a time.
    REQUIRE(ground.Refresh());
    WorkspaceIndex fresh;
    REQUIRE(fresh.Refresh(ground.request).ok());
    CAPTURE(step);
    REQUIRE(ground.index.contents() == fresh.contents());
  }
  CHECK(ground.IsWatched());
}

}  // namespace cordon::internal
