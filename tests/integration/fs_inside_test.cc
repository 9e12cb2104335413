// A writable tree behaves as one file system, under every spelling of its name.

#include <filesystem>
#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/repository.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("files and folders are renamed and linked across the folders of the workspace") {
  const Ground ground;
  MakeRepository(ground, ".");  // Protected paths must not split the tree.
  ground.MakeFile("from/file", "text");
  ground.MakeFile("from/tree/leaf", "leaf");
  ground.MakeFolder("to");
  ExpectAllowed(ground, {}, R"(set -e
    mv from/file to/file
    ln to/file from/second-name
    ln to/file at-the-top
    mv from/tree to/tree
    echo new >from/new && mv -f from/new to/replaced
    python3 -c '
import os
os.link("to/file", "from/third-name")
open("temporary", "w").write("final")
os.replace("temporary", "to/replaced")
os.rename("to/tree", "tree-at-the-top")
')");
  for (const char* name : {"from/second-name", "at-the-top", "from/third-name"}) {
    INFO(name);
    CHECK(fs::equivalent(ground.PathOf(name), ground.PathOf("to/file")));
  }
  CHECK(ground.Read("to/replaced") == "final");
  CHECK(ground.Read("tree-at-the-top/leaf") == "leaf");
  CHECK_FALSE(ground.Exists("from/file"));
}

TEST_CASE("a rename into a second writable root works or says EXDEV as between file systems") {
  const Ground ground;
  ground.MakeFile("file", "text");
  ExpectAllowed(ground, {"--write", ground.outside()}, "mv file " + ground.outside() + "/file");
  CHECK(ground.Read(ground.outside() + "/file") == "text");
}

TEST_CASE("every spelling of the workspace means the folder behind it") {
  const Ground ground;
  ground.MakeFolder("sub");
  const std::string link = ground.MakeLink(ground.root() + "/link", ground.workspace());
  for (const std::string& spelling :
       {link, link + "/", link + "/sub/..", ground.workspace() + "/./sub/../",
        ground.root() + "/home/../link/."}) {
    INFO(spelling);
    const CordonRun run =
        RunCordon(ground, {"run", "-w", spelling, "-C", ground.workspace(), "--report",
                           ReportPath(ground), "-c", "pwd -P; echo here >made"});
    Expect(run).Status(0).OutIs(ground.workspace() + "\n");
    CHECK(ReadReport(ground)["workspace"] == ground.workspace());
    CHECK(ground.Read("made") == "here\n");
    ground.Remove("made");
  }
}

TEST_CASE("the current folder is the workspace also when it was entered through a link") {
  const Ground ground;
  const std::string link = ground.MakeLink(ground.root() + "/link", ground.workspace());
  RunOptions options;
  options.directory = link;
  Expect(RunCordon(ground, {"run", "-c", "pwd -P"}, options)).OutIs(ground.workspace() + "\n");
  options.directory = ground.root();
  Expect(RunCordon(ground, {"run", "-w", "link", "-c", "pwd -P"}, options))
      .OutIs(ground.workspace() + "\n");
}

TEST_CASE("a command starts in a folder of the workspace and -C chooses another one") {
  const Ground ground;
  const std::string sub = ground.MakeFolder("sub/sub");
  RunOptions options;
  options.directory = sub;
  Expect(RunText(ground, {}, "pwd", options)).OutIs(sub + "\n");
  Expect(RunText(ground, {"-C", sub}, "pwd")).OutIs(sub + "\n");
  options.directory = ground.outside();
  Expect(RunText(ground, {}, "pwd", options)).OutIs(ground.workspace() + "\n");
}

TEST_CASE("protection holds under a linked spelling of the workspace") {
  const Ground ground;
  MakeRepository(ground, ".");
  const std::string before = ground.Read(".git/config");
  const std::string link = ground.MakeLink(ground.root() + "/link", ground.workspace());
  const CordonRun run = RunCordon(
      ground, {"run", "-w", link, "-c",
               "echo began; echo x >.git/hooks/pre-commit; echo '[x]' >>.git/config; exit 0"});
  Expect(run).Status(0).Out("began");
  CHECK_FALSE(ground.Exists(".git/hooks/pre-commit"));
  CHECK(ground.Read(".git/config") == before);
}

TEST_CASE("a workspace that does not exist or is a file starts nothing") {
  const Ground ground;
  ground.MakeFile("file", "");
  for (const std::string& workspace : {ground.PathOf("missing"), ground.PathOf("file")}) {
    Expect(RunCordon(ground, {"run", "-w", workspace, "-c", "echo ran"})).NotStarted();
  }
}

}  // namespace
}  // namespace cordon::test
