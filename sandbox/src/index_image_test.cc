#include "index_image.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/catch.h"

namespace cordon::internal {
namespace {

TEST_CASE("an image of an index is read as it was written, and nothing else is", "[index]") {
  IndexTrees trees;
  auto tree = std::make_unique<IndexTree>();
  tree->path = "/w";
  tree->keeps_times = true;
  tree->mount = 7;
  using State = FolderRecord::State;
  tree->top.state = State::kListed;
  tree->top.names = 3;
  tree->top.stamp = {1, 2, 3, 4};
  tree->top.listed_at_ns = 1000;
  tree->top.findings.push_back({FolderRecord::Finding::Kind::kMatch, NodeType::kFolder, 1, ".env"});
  for (const char* name : {"a", "b"}) {
    tree->top.children.push_back({name, std::make_unique<FolderRecord>()});
  }
  FolderRecord& below = *tree->top.children[1].record;
  below.state = State::kListed;
  below.stamp = {1, 3, 5, 995};  // Changed shortly before.
  below.listed_at_ns = 1000;
  trees.emplace("/w", std::move(tree));
  const std::string image = WriteIndexImage(trees, 10);

  const std::optional<IndexTrees> read = ReadIndexImage(image, 2);
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 1);
  const FolderRecord& top = read->at("/w")->top;
  CHECK(top.stamp == DirectoryStamp{1, 2, 3, 4});
  CHECK_FALSE(top.may_change_unnoticed);
  REQUIRE(top.children.size() == 2);
  CHECK(top.children[0].record->state == State::kUnread);
  CHECK(top.children[1].record->state == State::kListed);
  CHECK(top.children[1].record->may_change_unnoticed);
  read->at("/w")->keeps_times = true;
  CHECK(WriteIndexImage(*read, 10) == image);

  CHECK_FALSE(ReadIndexImage(image, 1).has_value());  // It speaks of a second pattern.
  for (std::size_t size = 0; size < image.size(); ++size) {
    REQUIRE_FALSE(ReadIndexImage(image.substr(0, size), 2).has_value());
  }
  CHECK_FALSE(ReadIndexImage(image + '\0', 2).has_value());
  for (const char bad : {'/', '\0'}) {
    std::string changed = image;
    changed[changed.find(".env")] = bad;
    CHECK_FALSE(ReadIndexImage(changed, 2).has_value());
  }
}

}  // namespace
}  // namespace cordon::internal
