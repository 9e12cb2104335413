// What `cordon why` says holds, and what it proposes changes the answer.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

// The option that `why` proposes, as typed in a shell; "" when it proposes none.
std::string ProposalIn(const std::string& text) {
  constexpr std::string_view kLabel = "to change it: ";
  const std::size_t at = text.find(kLabel);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kLabel.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

struct Question {
  std::string axis;
  std::string path;  // Below the workspace, or absolute.
  Words policy;
};

}  // namespace

TEST_CASE("the option that why proposes opens the path, in what it says and in a run") {
  const Ground ground;
  ground.MakeFile(ground.PathOf("private/key"), "CONFIDENTIAL");
  ground.MakeFile(ground.PathOf(".envrc"), "x");
  ground.MakeFile(ground.outside() + "/file", "CONFIDENTIAL");
  for (const Question& question :
       {Question{"read", ground.PathOf("private/key"), {"--deny-read", "private"}},
        Question{"read", ground.outside() + "/file", {}},
        Question{"write", ground.PathOf(".envrc"), {}}}) {
    INFO(question.axis << " " << question.path);
    Words words = {"why", question.axis, "-w", ground.workspace()};
    words.insert(words.end(), question.policy.begin(), question.policy.end());
    Words asked = words;
    asked.push_back(question.path);
    const CordonRun denied = RunCordon(ground, asked);
    Expect(denied).Status(2);
    const std::string act = question.axis == "read" ? "cat " + question.path + " >/dev/null"
                                                    : "echo y >>" + question.path;
    Expect(RunText(ground, question.policy, act + " || exit 9")).Status(9);

    const std::string proposal = ProposalIn(denied.out);
    const std::size_t blank = proposal.find(' ');
    REQUIRE(blank != std::string::npos);
    const Words more = {proposal.substr(0, blank), proposal.substr(blank + 1)};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(question.path);
    Expect(RunCordon(ground, words)).Status(0);
    Words policy = question.policy;
    policy.insert(policy.end(), more.begin(), more.end());
    Expect(RunText(ground, policy, act + " || exit 9")).Status(0);
  }
}

TEST_CASE("why proposes to leave a deny glob out, since no option is over it") {
  const Ground ground;
  ground.MakeFile(ground.PathOf("a/.env"), "CONFIDENTIAL");
  const std::string path = ground.PathOf("a/.env");
  const Words policy = {"--deny-read", "**/.env", "--read", path};
  const CordonRun denied = RunCordon(ground, {"why", "read", "-w", ground.workspace(),
                                              "--deny-read", "**/.env", "--read", path, path});
  Expect(denied).Status(2);
  CHECK(ProposalIn(denied.out).find("without --deny-read ") == 0);
  Expect(RunText(ground, policy, "cat a/.env")).NoOut("CONFIDENTIAL");
  Expect(RunText(ground, {"--read", path}, "cat a/.env")).Out("CONFIDENTIAL");
}

}  // namespace cordon::test
