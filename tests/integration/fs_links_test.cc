// Symbolic and hard links lead nowhere that their target's own path would not.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

// A secret outside, and links to it that the host made.
class LinkedGround : public Ground {
 public:
  LinkedGround() {
    MakeFile(outside() + "/secret", "CONFIDENTIAL");
    MakeFile(outside() + "/notes", "before");
    MakeLink("to-file", outside() + "/secret");
    MakeLink("to-folder", outside());
    MakeLink("climbing", "../outside/secret");
  }
};

TEST_CASE("a link out of the workspace shows nothing of its hidden target") {
  const LinkedGround ground;
  const std::string secret = ground.outside() + "/secret";
  for (const std::string& act : Words{
           "cat to-file",
           "cat to-folder/secret",
           "cat climbing",
           "cat ../outside/secret",
           "ln -sf " + secret + " own && cat own",
           "ln -sfn / root && cat root" + secret,
           "ln -sfn /proc/self/root root && cat root" + secret,
           "ln -sfn .. up && cat up/outside/secret",
           "cd to-folder && cat secret",
       }) {
    INFO(act);
    const CordonRun run = ExpectRefused(ground, {}, act, "rm -f own root up");
    Expect(run).NoOut("CONFIDENTIAL");
  }
}

TEST_CASE("a hidden file gets no second name in the workspace") {
  const LinkedGround ground;
  const CordonRun run = ExpectRefused(
      ground, {}, "ln " + ground.outside() + "/secret alias && cat alias", "rm -f alias");
  Expect(run).NoOut("CONFIDENTIAL");
  CHECK_FALSE(ground.Exists("alias"));
}

TEST_CASE("a link to a readable root is read through and never written through") {
  const LinkedGround ground;
  const std::string notes = ground.outside() + "/notes";
  const Words policy = {"--read", ground.outside()};
  ExpectAllowed(ground, policy, "grep -q CONFIDENTIAL to-file && grep -q before to-folder/notes");
  const std::string undo = "printf before >" + notes + "; rm -f own alias to-folder/made";
  for (const std::string& act : Words{
           "ln -s " + notes + " own && echo after >own",
           "echo after >to-folder/notes",
           "echo x >to-folder/made",
           "rm to-folder/notes",
           "ln " + notes + " alias && echo after >alias",
           "cd to-folder && echo after >notes",
       }) {
    INFO(act);
    ExpectRefused(ground, policy, act, undo);
    CHECK(ground.Read(notes) == "before");
  }
  CHECK_FALSE(ground.Exists(ground.outside() + "/made"));
}

TEST_CASE("links between files of the workspace work as ever") {
  const LinkedGround ground;
  ExpectAllowed(ground, {}, R"sh(set -e
    echo text >file
    ln -s file soft && ln file hard
    mkdir folder && ln -s ../file folder/soft
    test "$(cat soft hard folder/soft)" = "text
text
text"
    echo more >>soft && grep -q more hard)sh");
}

}  // namespace
}  // namespace cordon::test
