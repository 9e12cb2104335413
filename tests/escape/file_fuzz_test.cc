// Random changes by an attacker, in both tiers: whatever it does, nothing changes that the policy
// does not let it change. CORDON_FUZZ_SECONDS sets how long (default 4, for both tiers together);
// CORDON_FUZZ_SEED repeats one.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "integration/support/ground.h"
#include "integration/support/repository.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

constexpr int kRoundMilliseconds = 1000;

int Setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Victims outside, in a readable root, and in the workspace below what is denied or protected.
class Field : public Ground {
 public:
  Field() {
    for (const char* folder : {"/outside", "/readable"}) {
      for (const char* name : {"/kept", "/secret", "/sub/a"}) {
        MakeFile(root() + folder + name, "before");
      }
    }
    MakeRepository(*this, ".");
    MakeRepository(*this, "sub");
    for (const char* name : {"a", "b", "deny/key", "deep/er/file", ".envrc"}) {
      MakeFile(name, "before");
    }
    MakeLink("link", root() + "/outside");
    MakeLink("sub/link", root() + "/readable");
  }

  [[nodiscard]] Words Attack(int seed) const {
    return {"random_changes", std::to_string(seed), std::to_string(kRoundMilliseconds),
            workspace(),      root() + "/outside",  root() + "/readable"};
  }
  [[nodiscard]] Words Policy(const std::string& backend) const {
    return {"--backend", backend, "--read", root() + "/readable", "--deny-read", PathOf("deny")};
  }

  // All of that may be changed.
  [[nodiscard]] Words Permissive(const std::string& backend) const {
    return {"--backend", backend, "--write", root() + "/outside", "--write", root() + "/readable"};
  }

  // What must not change: everything of all that, with times and modes. What cordon itself keeps
  // for its next start is not the attacker's doing.
  [[nodiscard]] std::vector<std::string> Kept() const {
    std::vector<std::string> all;
    for (const std::string& folder :
         {root() + "/outside", root() + "/readable", home(), PathOf("deny"), PathOf(".git/hooks"),
          PathOf("sub/.git/hooks")}) {
      if (!std::filesystem::is_directory(std::filesystem::symlink_status(folder))) {
        all.push_back(folder + " is no folder any more");
        continue;
      }
      for (std::string& line : Snapshot(folder)) {
        if (line.rfind(home() + "/.cache", 0) != 0) all.push_back(folder + ": " + line);
      }
    }
    for (const char* file : {".git/config", "sub/.git/config", ".envrc"}) {
      all.push_back(std::string(file) + ": " + Read(file));
    }
    return all;
  }
};

bool CanRun(const std::string& backend) {
  const Ground ground;
  return RunText(ground, {"--backend", backend}, "true").status == 0;
}

TEST_CASE("random changes of files by an attacker stay within what the policy allows") {
  std::vector<std::string> backends;
  for (const std::string backend : {"namespaces", "landlock"}) {
    if (CanRun(backend)) backends.push_back(backend);
  }
  if (backends.empty()) CORDON_SKIP("userns,landlock", "this host can build no tier");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(Setting("CORDON_FUZZ_SECONDS", 4));
  int seed = Setting("CORDON_FUZZ_SEED", static_cast<int>(std::rand() % 100000));
  int rounds = 0;
  do {
    const std::string& backend = backends[static_cast<std::size_t>(rounds) % backends.size()];
    const Field field;
    const auto before = field.Kept();
    const std::string said = ProbeInside(field, field.Policy(backend), field.Attack(seed));
    INFO("seed " << seed << " backend " << backend << ": " << said);
    REQUIRE(Has(said, " of "));
    CHECK(said.rfind("0 of", 0) != 0);
    const auto after = field.Kept();
    REQUIRE(after == before);
    ++seed;
    ++rounds;
  } while (std::chrono::steady_clock::now() < end || rounds < static_cast<int>(backends.size()));
}

}  // namespace
}  // namespace cordon::test
