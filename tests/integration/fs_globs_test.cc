// Deny globs: what they match is out of reach under every name, and costs nothing.

#include <algorithm>
#include <string>
#include <vector>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

class SecretsGround : public Ground {
 public:
  SecretsGround() { Renew(); }

  void Renew() const {
    EmptyWorkspace();
    for (const char* name : {".env", "app/.env", "app/deep/.env", "app/server.pem"}) {
      MakeFile(name, "CONFIDENTIAL");
    }
    for (const char* name : {"app/my.env", "app/.env.example", "app/.Env", "app/server.pem.txt"}) {
      MakeFile(name, "harmless");
    }
    MakeFolder("empty");
  }
  Words policy = {"--deny-read", "**/.env", "--deny-read", "**/*.pem"};
};

TEST_CASE("names that only resemble a denied one are read and written") {
  const SecretsGround ground;
  ExpectAllowed(ground, ground.policy,
                "grep -q harmless app/my.env && grep -q harmless app/.env.example && "
                "grep -q harmless app/.Env && grep -q harmless app/server.pem.txt && "
                "echo more >>app/my.env && echo new >app/new");
  CHECK(ground.Read("app/new") == "new\n");
}

TEST_CASE("a file that a deny glob matches is read by no detour") {
  const SecretsGround ground;
  for (const char* act : {
           "cat .env",
           "cat app/.env",
           "cat app/deep/.env",
           "cat app/server.pem",
           "cat app/../app/./deep//.env",
           "find . -name .env -exec cat {} +",
           "cat $(find . -name '*.pem')",
           "mv app/.env app/plain && cat app/plain",
           "ln app/deep/.env plain && cat plain",
           "ln -s app/.env plain && cat plain",
           "mv app other && cat other/.env other/deep/.env other/server.pem",
           "mv app/deep deep && cat deep/.env",
           "cp -a app other && cat other/.env",
           "tar cf - app | tar xOf -",
           "cd app/deep && cat .env",
           "python3 -c 'import os\nd = os.open(\"app\", os.O_RDONLY)\n"
           "print(open(os.open(\".env\", os.O_RDONLY, dir_fd=d)).read())'",
       }) {
    INFO(act);
    ground.Renew();
    CHECK(Has(ground.RunUnconfined(act).out, "CONFIDENTIAL"));  // The control.
    ground.Renew();
    Expect(Attempt(ground, ground.policy, act)).NoOut("CONFIDENTIAL");
  }
}

TEST_CASE("a glob that denies writing keeps matching files as they are") {
  const SecretsGround ground;
  ground.MakeFile("app/package.lock", "before");
  const Words policy = {"--deny-write", "**/*.lock"};
  ExpectAllowed(ground, policy, "grep -q before app/package.lock && echo x >app/new");
  const std::string undo = "rm -rf t other; printf before >app/package.lock";
  for (const char* act : {"echo after >app/package.lock", "rm app/package.lock",
                          "echo after >t && mv t app/package.lock"}) {
    INFO(act);
    ExpectRefused(ground, policy, act, undo);
    CHECK(ground.Read("app/package.lock") == "before");
  }
}

TEST_CASE("a glob covers the tree of a folder that it matches") {
  const Ground ground;
  ground.MakeFile("a/secrets/deep/file", "CONFIDENTIAL");
  const Words policy = {"--deny-read", "**/secrets"};
  Expect(ExpectRefused(ground, policy, "cat a/secrets/deep/file")).NoOut("CONFIDENTIAL");
}

TEST_CASE("a glob wins over a more specific allow") {
  const SecretsGround ground;
  Words policy = ground.policy;
  policy.insert(policy.end(), {"--read", ground.PathOf("app/.env")});
  Expect(ExpectRefused(ground, policy, "cat app/.env")).NoOut("CONFIDENTIAL");
}

TEST_CASE("a matching file that the host makes between two runs is covered by the second one") {
  const SecretsGround ground;
  const std::string act = "echo began; cat empty/.env late/key.pem; exit 0";
  Expect(RunText(ground, ground.policy, act)).Out("began");
  ground.MakeFile("empty/.env", "CONFIDENTIAL");
  ground.MakeFile("late/key.pem", "CONFIDENTIAL");
  Expect(RunText(ground, ground.policy, act)).Out("began").NoOut("CONFIDENTIAL");
  CHECK(ground.Read("empty/.env") == "CONFIDENTIAL");
}

std::int64_t MedianOfThree(const Ground& ground, Words arguments) {
  arguments.insert(arguments.end(), {"-c", "echo ran"});
  std::vector<std::int64_t> times;
  for (int i = 0; i < 3; ++i) {
    const CordonRun run = RunCordon(ground, arguments);
    Expect(run).Status(0).OutIs("ran\n");
    times.push_back(run.elapsed.count());
  }
  std::sort(times.begin(), times.end());
  return times[1];
}

TEST_CASE("thousands of matching files are all denied and cost little time") {
  const Ground ground;
  for (int i = 0; i < 5000; ++i) {
    ground.MakeFile("data/" + std::to_string(i) + ".bin", "CONFIDENTIAL");
  }
  ground.MakeFile("data/readme", "harmless");
  const std::string few = ground.MakeFolder(ground.outside() + "/few");
  const Words policy = {"--deny-read", "**/*.bin", "--deny-write", "**/*.lock"};
  Control(ground, "grep -q CONFIDENTIAL data/0.bin && grep -q CONFIDENTIAL data/4999.bin");
  Expect(RunText(ground, policy,
                 "cat data/readme; cat data/0.bin data/2500.bin data/4999.bin; "
                 "cat data/*.bin; exit 0"))
      .Out("harmless")
      .NoOut("CONFIDENTIAL");

  Words many_run = {"run", "-w", ground.workspace()};
  Words few_run = {"run", "-w", few};
  many_run.insert(many_run.end(), policy.begin(), policy.end());
  few_run.insert(few_run.end(), policy.begin(), policy.end());
  const std::int64_t with_few = MedianOfThree(ground, few_run);
  const std::int64_t with_many = MedianOfThree(ground, many_run);
  INFO(with_many << " ms with 5,000 matches, " << with_few << " ms with none");
  CHECK(with_many < 4 * with_few + 500);
}

}  // namespace
}  // namespace cordon::test
