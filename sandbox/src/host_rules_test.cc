#include "host_rules.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "landlock_abi.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::TemporaryFolder;
namespace fs = std::filesystem;

constexpr int kAbi = 7;
constexpr std::uint64_t kReadOnly = kLandlockReadFile | kLandlockReadDir | kLandlockExecute;

class Tree {
 public:
  explicit Tree(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      fs::create_directories(fs::path(top_ / file).parent_path());
      std::ofstream(top_ / file) << "text";
    }
  }

  void Wants(const std::string& path, Shown shown, NodeType type = NodeType::kFolder) {
    Wish wish;
    wish.shown = shown;
    wish.type = type;
    wishes_[At(path)] = wish;
  }

  // The rights of each rule, by path below the top.
  std::map<std::string, std::uint64_t> Compile() {
    absl::StatusOr<HostRules> compiled = CompileHostRules(wishes_, kAbi);
    REQUIRE(compiled.ok());
    rules = *std::move(compiled);
    std::map<std::string, std::uint64_t> rights;
    for (const LandlockRule& rule : rules.rules) {
      REQUIRE(rule.path.rfind(top_.path(), 0) == 0);
      rights[rule.path.size() == top_.path().size() ? ""
                                                    : rule.path.substr(top_.path().size() + 1)] |=
          rule.access;
    }
    return rights;
  }

  [[nodiscard]] std::string At(const std::string& path) const {
    return path.empty() ? top_.path() : top_ / path;
  }

  HostRules rules;

 private:
  TemporaryFolder top_;
  Wishes wishes_;
};

TEST_CASE("a folder in which all is alike is one rule") {
  Tree tree({"ws/a/file", "ws/b"});
  tree.Wants("ws", Shown::kWritable);
  const auto rights = tree.Compile();
  REQUIRE(rights.size() == 1);
  CHECK(rights.at("ws") == LandlockRightsOf(kAbi));
  CHECK(tree.rules.fixed.empty());
}

TEST_CASE("what is protected below a writable folder takes the right to make names from it") {
  Tree tree({"ws/src/main", "ws/readme", "ws/.git/config", "ws/.git/objects/x"});
  tree.Wants("ws", Shown::kWritable);
  tree.Wants("ws/.git/config", Shown::kReadable, NodeType::kFile);
  const auto rights = tree.Compile();
  CHECK((rights.at("ws") & kReadOnly) == kReadOnly);
  CHECK((rights.at("ws") & (kLandlockWriteFile | kLandlockMakeReg | kLandlockRemoveFile |
                            kLandlockRemoveDir | kLandlockRefer | kLandlockTruncate)) == 0);
  CHECK(rights.at("ws/src") == LandlockRightsOf(kAbi));
  CHECK(rights.at("ws/readme") == LandlockRightsOf(kAbi));
  CHECK(rights.at("ws/.git/objects") == LandlockRightsOf(kAbi));
  CHECK(rights.count("ws/.git") == 0);
  CHECK(rights.count("ws/.git/config") == 0);
  CHECK(tree.rules.fixed == std::vector<std::string>{tree.At("ws"), tree.At("ws/.git")});
  CHECK(tree.rules.unlisted.empty());
}

TEST_CASE("a hidden folder keeps the folders above it from being listed, a hidden file does not") {
  Tree tree({"a/keep", "a/secret/key", "b/keep", "b/key"});
  tree.Wants("a", Shown::kReadable);
  tree.Wants("a/secret", Shown::kHidden);
  tree.Wants("b", Shown::kReadable);
  tree.Wants("b/key", Shown::kHidden, NodeType::kFile);
  const auto rights = tree.Compile();
  CHECK(rights.count("a") == 0);
  CHECK(rights.at("a/keep") == kReadOnly);
  CHECK(rights.count("a/secret") == 0);
  CHECK(rights.at("b") == kLandlockReadDir);
  CHECK(rights.at("b/keep") == kReadOnly);
  CHECK(rights.count("b/key") == 0);
  CHECK(tree.rules.unlisted == std::vector<std::string>{tree.At("a")});
}

TEST_CASE("an allowed folder inside a hidden one is given alone") {
  Tree tree({"ws/hidden/open/file", "ws/hidden/key", "ws/other"});
  tree.Wants("ws", Shown::kReadable);
  tree.Wants("ws/hidden", Shown::kHidden);
  tree.Wants("ws/hidden/open", Shown::kWritable);
  const auto rights = tree.Compile();
  CHECK(rights.size() == 2);
  CHECK(rights.at("ws/other") == kReadOnly);
  CHECK(rights.at("ws/hidden/open") == LandlockRightsOf(kAbi));
}

TEST_CASE("symbolic links and sockets in a folder get no rule, whatever they lead to") {
  Tree tree({"ws/file", "ws/secret/key", "outside"});
  fs::create_symlink(tree.At("outside"), tree.At("ws/link"));
  fs::create_symlink(tree.At("outside"), tree.At("ws/protected"));
  tree.Wants("ws", Shown::kWritable);
  tree.Wants("ws/secret", Shown::kHidden);
  tree.Wants("ws/protected", Shown::kReadable, NodeType::kSymlink);
  const auto rights = tree.Compile();
  CHECK(rights.size() == 1);
  CHECK(rights.count("ws/file") == 1);
}

TEST_CASE("a folder that is on the way to no rule of its own gives nothing") {
  Tree tree({"a/b/file", "a/other"});
  tree.Wants("a/b", Shown::kReadable);
  const auto rights = tree.Compile();
  CHECK(rights.size() == 1);
  CHECK(rights.at("a/b") == kReadOnly);
}

TEST_CASE("the nearest wish says whether a name may be made") {
  Wishes wishes;
  Wish writable;
  writable.shown = Shown::kWritable;
  wishes["/w"] = writable;
  wishes["/w/kept"] = {};
  CHECK(IsWritableOnHost(wishes, "/w/a/b"));
  CHECK_FALSE(IsWritableOnHost(wishes, "/w/kept/b"));
  CHECK_FALSE(IsWritableOnHost(wishes, "/elsewhere"));
}

}  // namespace
}  // namespace cordon::internal
