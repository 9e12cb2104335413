#include "view_builder.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.h"

namespace cordon::internal {
namespace {

using Kind = ViewOp::Kind;

Wish Folder(Shown shown) {
  Wish wish;
  wish.shown = shown;
  return wish;
}

Wish File(Shown shown) {
  Wish wish = Folder(shown);
  wish.type = NodeType::kFile;
  return wish;
}

// "kind target" of each step, in order.
std::vector<std::string> Steps(const std::vector<ViewOp>& ops) {
  std::vector<std::string> steps;
  for (const ViewOp& op : ops) {
    std::string step;
    switch (op.kind) {
      case Kind::kBind:
        step = op.read_only ? "bind-ro " : "bind-rw ";
        break;
      case Kind::kProtect:
        step = "protect ";
        break;
      case Kind::kMask:
        step = "mask ";
        break;
      case Kind::kTmpfs:
        step = op.read_only ? "tmpfs-ro " : "tmpfs ";
        break;
      case Kind::kPin:
        step = "pin " + op.source + " ";
        break;
      case Kind::kDir:
      case Kind::kFile:
      case Kind::kSymlink:
      case Kind::kProc:
      case Kind::kDev:
      case Kind::kSocket:
        step = "other ";
        break;
    }
    steps.push_back(step + op.target);
  }
  return steps;
}

using Expected = std::vector<std::string>;

}  // namespace

TEST_CASE("nothing of the host is shown without a wish", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/home/u", Folder(Shown::kHidden));
  CHECK(builder.Build().empty());
  CHECK_FALSE(builder.IsShown("/home/u"));
}

TEST_CASE("folders inside a root that are shown alike need no step", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/a", Folder(Shown::kWritable));
  builder.Add("/r", Folder(Shown::kReadable));
  builder.Add("/r/b", Folder(Shown::kReadable));
  CHECK(Steps(builder.Build()) == Expected{"bind-ro /r", "bind-rw /w"});
  CHECK(builder.writable_roots() == std::vector<std::string>{"/w"});
}

TEST_CASE("a carve-out pins every folder between the root and itself", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/a/b/keep", Folder(Shown::kReadable));
  builder.Add("/w/a/c/secret", File(Shown::kHidden));
  CHECK(Steps(builder.Build()) == Expected{"bind-rw /w", "pin /w /w/a", "pin /w /w/a/b",
                                           "protect /w/a/b/keep", "pin /w /w/a/c",
                                           "mask /w/a/c/secret"});
  CHECK(builder.IsWritable("/w/a/b/new"));
  CHECK_FALSE(builder.IsWritable("/w/a/b/keep/new"));
  CHECK_FALSE(builder.IsShown("/w/a/c/secret"));
}

TEST_CASE("a mask in a read-only root needs no pins", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/r", Folder(Shown::kReadable));
  builder.Add("/r/a/b/secret", Folder(Shown::kHidden));
  CHECK(Steps(builder.Build()) == Expected{"bind-ro /r", "mask /r/a/b/secret"});
}

TEST_CASE("roots nest in any order", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/w/ro/rw/ro", Folder(Shown::kReadable));
  builder.Add("/w/ro/rw", Folder(Shown::kWritable));
  builder.Add("/w/ro", Folder(Shown::kReadable));
  builder.Add("/w", Folder(Shown::kWritable));
  CHECK(Steps(builder.Build()) ==
        Expected{"bind-rw /w", "protect /w/ro", "bind-rw /w/ro/rw", "protect /w/ro/rw/ro"});
  CHECK(builder.writable_roots() == std::vector<std::string>{"/w", "/w/ro/rw"});
}

TEST_CASE("what is allowed inside a denied folder is shown without its siblings",
          "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/secret", Folder(Shown::kHidden));
  builder.Add("/w/secret/a/open", Folder(Shown::kWritable));
  CHECK(Steps(builder.Build()) ==
        Expected{"bind-rw /w", "tmpfs-ro /w/secret", "bind-rw /w/secret/a/open"});
  CHECK_FALSE(builder.IsShown("/w/secret/a"));
}

TEST_CASE("no step follows below a masked path", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/secret", Folder(Shown::kHidden));
  builder.Add("/w/secret/a", File(Shown::kHidden));
  builder.AddPin("/w/secret/b");
  CHECK(Steps(builder.Build()) == Expected{"bind-rw /w", "mask /w/secret"});
}

TEST_CASE("of two wishes for one path the narrower counts, with the pins of both",
          "[view_builder]") {
  Wish floating = File(Shown::kHidden);
  floating.pinned_levels = 0;
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/a/f", File(Shown::kReadable));
  builder.Add("/w/a/f", floating);
  CHECK(Steps(builder.Build()) == Expected{"bind-rw /w", "pin /w /w/a", "mask /w/a/f"});
}

TEST_CASE("steps for what may vanish are optional, unless something else needs them",
          "[view_builder]") {
  Wish found = File(Shown::kHidden);
  found.may_vanish = true;
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/a/b/f", found);
  builder.Add("/w/a/g", File(Shown::kHidden));
  const std::vector<ViewOp> ops = builder.Build();
  REQUIRE(Steps(ops) ==
          Expected{"bind-rw /w", "pin /w /w/a", "pin /w /w/a/b", "mask /w/a/b/f", "mask /w/a/g"});
  CHECK_FALSE(ops[1].optional);
  CHECK(ops[2].optional);
  CHECK(ops[3].optional);
  CHECK_FALSE(ops[4].optional);
}

TEST_CASE("only as many folders are pinned as the wish asks for", "[view_builder]") {
  Wish wish = File(Shown::kHidden);
  wish.pinned_levels = 1;
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/a/b/c/f", wish);
  CHECK(Steps(builder.Build()) == Expected{"bind-rw /w", "pin /w /w/a/b/c", "mask /w/a/b/c/f"});
}

TEST_CASE("a protected link keeps its place and stays a link", "[view_builder]") {
  Wish wish = File(Shown::kReadable);
  wish.type = NodeType::kSymlink;
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/.git/hooks", wish);
  CHECK(Steps(builder.Build()) == Expected{"bind-rw /w", "pin /w /w/.git", "pin /w /w/.git/hooks"});
}

TEST_CASE("a pinned folder is pinned with all above it, but for mount points", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/a/b", Folder(Shown::kReadable));
  builder.AddPin("/w/a/c/d");
  builder.AddPin("/w");
  CHECK(Steps(builder.Build()) == Expected{"bind-rw /w", "pin /w /w/a", "protect /w/a/b",
                                           "pin /w /w/a/c", "pin /w /w/a/c/d"});
}

TEST_CASE("pins below a mount point of the host belong to it", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.AddMountPoint("/w/a/volume");
  builder.Add("/w/a/volume/b/keep", File(Shown::kReadable));
  CHECK(Steps(builder.Build()) == Expected{"bind-rw /w", "pin /w /w/a",
                                           "pin /w/a/volume /w/a/volume/b",
                                           "protect /w/a/volume/b/keep"});
}

TEST_CASE("what is bound deeper in a scratch folder leaves only its first folder there",
          "[view_builder]") {
  ViewBuilder builder;
  builder.AddScratch("/tmp", "/host/scratch");
  builder.Add("/tmp/a/w", Folder(Shown::kWritable));
  builder.Add("/tmp/file", File(Shown::kReadable));
  CHECK(Steps(builder.Build()) ==
        Expected{"bind-rw /tmp", "tmpfs-ro /tmp/a", "bind-rw /tmp/a/w", "bind-ro /tmp/file"});
  REQUIRE(builder.scratch_mount_points().size() == 2);
  CHECK(builder.scratch_mount_points()[0].scratch == "/host/scratch");
  CHECK(builder.scratch_mount_points()[0].relative == "a");
  CHECK(builder.scratch_mount_points()[0].is_folder);
  CHECK_FALSE(builder.scratch_mount_points()[1].is_folder);
}

TEST_CASE("a folder whose programs may not run is mounted noexec", "[view_builder]") {
  Wish data = Folder(Shown::kWritable);
  data.executable = false;
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kWritable));
  builder.Add("/w/data", data);
  const std::vector<ViewOp> ops = builder.Build();
  REQUIRE(Steps(ops) == Expected{"bind-rw /w", "bind-rw /w/data"});
  CHECK(ops[0].executable);
  CHECK_FALSE(ops[1].executable);
}

TEST_CASE("names that only begin alike do not belong together", "[view_builder]") {
  ViewBuilder builder;
  builder.Add("/w", Folder(Shown::kHidden));
  builder.Add("/w-x", Folder(Shown::kWritable));
  builder.Add("/w.d", Folder(Shown::kReadable));
  CHECK(Steps(builder.Build()) == Expected{"bind-rw /w-x", "bind-ro /w.d"});
}

}  // namespace cordon::internal
