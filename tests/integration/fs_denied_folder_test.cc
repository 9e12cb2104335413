// A denied folder inside of a writable workspace stays denied, whatever is done to what is above
// it.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

struct Act {
  const char* name;
  const char* text;
};

// `top/locked` must not be written, `top/hidden` must not be read.
class CarvedGround : public Ground {
 public:
  CarvedGround() { Renew(); }

  void Renew() const {
    EmptyWorkspace();
    MakeFile("top/locked/file", "before");
    MakeFile("top/hidden/key", "CONFIDENTIAL");
    MakeFile("top/free/file", "free");
    MakeFolder("beside");
  }
  [[nodiscard]] Words policy() const {
    return {"--deny-write", PathOf("top/locked"), "--deny-read", PathOf("top/hidden")};
  }
};

TEST_CASE("beside a denied folder everything works") {
  const CarvedGround ground;
  ExpectAllowed(ground, ground.policy(), R"(set -e
    grep -q before top/locked/file
    echo changed >top/free/file && echo new >top/free/new && echo new >top/new
    mv top/new beside/new && rm top/free/new && mkdir -p top/free/deep)");
  CHECK(ground.Read("beside/new") == "new\n");
  CHECK(ground.Read("top/free/file") == "changed\n");
}

TEST_CASE("a write-denied folder keeps its files and its place") {
  const CarvedGround ground;
  const Act acts[] = {
      {"overwrite", "echo after >top/locked/file"},
      {"append", "echo after >>top/locked/file"},
      {"remove", "rm -f top/locked/file"},
      {"rename over it", "echo after >t && mv t top/locked/file"},
      {"link over it", "echo after >t && ln -f t top/locked/file"},
      {"move it out", "mv top/locked/file beside/"},
      {"move its folder out",
       "mv top/locked beside/ && mkdir top/locked && "
       "echo after >top/locked/file"},
      {"move its parent out", "mv top old && mkdir -p top/locked && echo after >top/locked/file"},
      {"swap the parent with a copy",
       "cp -r top new && echo after >new/locked/file && "
       "mv top old && mv new top"},
      {"exchange the parent with a copy",
       "cp -r top new && echo after >new/locked/file && python3 -c 'import ctypes\n"
       "if ctypes.CDLL(None).renameat2(-100, b\"top\", -100, b\"new\", 2): exit(1)'"},
      {"exchange the folder with another one",
       "mkdir new && echo after >new/file && python3 -c 'import ctypes\n"
       "if ctypes.CDLL(None).renameat2(-100, b\"top/locked\", -100, b\"new\", 2): exit(1)'"},
      {"a link in place of the parent",
       "mkdir -p new/locked && echo after >new/locked/file && "
       "mv top old && ln -s new top"},
      {"remove the tree", "rm -rf top"},
      {"by an open folder",
       "python3 -c 'import os\n"
       "d = os.open(\"top/locked\", os.O_RDONLY)\n"
       "os.write(os.open(\"file\", os.O_WRONLY | os.O_TRUNC, dir_fd=d), "
       "b\"x\")'"},
      {"by /proc/self/fd", "exec 5<top/locked/file && echo after >/proc/self/fd/5"},
  };
  for (const Act& act : acts) {
    INFO(act.name);
    ground.Renew();
    ground.RunUnconfined(act.text);
    CHECK(ground.Read("top/locked/file") != "before");  // The control.
    ground.Renew();
    const CordonRun run = Attempt(ground, ground.policy(), act.text);
    INFO(run.out << run.err);
    CHECK(ground.Read("top/locked/file") == "before");
    CHECK(Snapshot(ground.PathOf("top/locked")).size() == 1);
  }
}

TEST_CASE("no new file appears in a write-denied folder") {
  const CarvedGround ground;
  const std::string undo = "rm -rf top/locked/new t";
  for (const char* act : {": >top/locked/new", "mkdir top/locked/new", "ln -s x top/locked/new",
                          "echo x >t && mv t top/locked/new", "echo x >t && ln t top/locked/new"}) {
    INFO(act);
    ExpectRefused(ground, ground.policy(), act, undo);
    CHECK_FALSE(ground.Exists("top/locked/new"));
  }
}

TEST_CASE("a read-denied folder shows nothing by any way to it") {
  const CarvedGround ground;
  const Act acts[] = {
      {"read", "cat top/hidden/key"},
      {"list and read", "for f in top/hidden/*; do cat $f; done"},
      {"move the file", "mv top/hidden/key k && cat k"},
      {"link the file", "ln top/hidden/key k && cat k"},
      {"move the folder", "mv top/hidden h && cat h/key"},
      {"move the parent", "mv top t && cat t/hidden/key"},
      {"link to it", "ln -s top/hidden/key k && cat k"},
      {"copy the parent", "cp -r top t && cat t/hidden/key"},
      {"with noise", "cat top/free/.././//hidden/key"},
      {"archive", "tar cf - top | tar xOf - top/hidden/key"},
      {"from its parent opened",
       "python3 -c 'import os\n"
       "d = os.open(\"top\", os.O_RDONLY)\n"
       "print(open(os.open(\"hidden/key\", os.O_RDONLY, dir_fd=d)).read())'"},
      {"by the own root", "cat /proc/self/root$PWD/top/hidden/key"},
      {"by the own folder", "cat /proc/self/cwd/top/hidden/key"},
  };
  for (const Act& act : acts) {
    INFO(act.name);
    ground.Renew();
    CHECK(Has(ground.RunUnconfined(act.text).out, "CONFIDENTIAL"));  // The control.
    ground.Renew();
    Expect(Attempt(ground, ground.policy(), act.text), act.name).NoOut("CONFIDENTIAL");
  }
  ground.Renew();
}

TEST_CASE("what cannot be read cannot be written either") {
  const CarvedGround ground;
  ExpectRefused(ground, ground.policy(), "echo x >top/hidden/new && test -s top/hidden/new",
                "rm -f top/hidden/new");
  CHECK_FALSE(ground.Exists("top/hidden/new"));
}

TEST_CASE("a granted folder inside of a denied one is open and its neighbours are not") {
  const CarvedGround ground;
  ground.MakeFile("top/hidden/open/file", "free");
  const Words policy = {"--deny-read", ground.PathOf("top/hidden"), "--write",
                        ground.PathOf("top/hidden/open")};
  ExpectAllowed(ground, policy, "grep -q free top/hidden/open/file && echo x >top/hidden/open/new");
  CHECK(ground.Read("top/hidden/open/new") == "x\n");
  Expect(ExpectRefused(ground, policy, "cat top/hidden/key")).NoOut("CONFIDENTIAL");
}

TEST_CASE("a denied name that does not exist leaves nothing on the host whatever was made there") {
  const Ground ground;
  const Words policy = {"--deny-write", ground.PathOf("missing/deep")};
  const std::string act = "mkdir -p missing/deep && echo x >missing/deep/file";
  Control(ground, act);
  ground.EmptyWorkspace();
  Attempt(ground, policy, act);
  CHECK_FALSE(ground.Exists("missing/deep"));
  ground.EmptyWorkspace();
  Expect(RunText(ground, policy, "echo ran")).Status(0).Out("ran");
  CHECK(Snapshot(ground.workspace()).empty());
}

}  // namespace
}  // namespace cordon::test
