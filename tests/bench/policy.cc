// What deciding costs, and how that grows: microseconds of making a profile, compiling its view,
// matching stored rules, reading shell text, and issuing and redeeming a grant.
//
//   bench_policy [ROUNDS [TEXT]]    what, size, microseconds; of lines that begin with TEXT
//
// Processor time, user and system, of the thread; the median of ROUNDS (default 200), in warm
// caches.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cordon/gate/grants.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/request.h"
#include "landlock_abi.h"
#include "shell_words.h"
#include "view.h"

namespace {

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "bench_policy: %s\n", what.c_str());
  std::exit(1);
}

void Expect(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

double ThreadMicroseconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

class Bench {
 public:
  Bench(int rounds, std::string wanted) : rounds_(rounds), wanted_(std::move(wanted)) {}

  void Measure(const std::string& name, int size, const std::function<void()>& act) const {
    const std::string line = name + "\t" + std::to_string(size) + "\t";
    if (!line.starts_with(wanted_)) return;
    act();
    std::vector<double> times;
    for (int i = 0; i < rounds_; ++i) {
      const double begin = ThreadMicroseconds();
      act();
      times.push_back(ThreadMicroseconds() - begin);
    }
    std::nth_element(times.begin(), times.begin() + rounds_ / 2, times.end());
    std::printf("%s%.2f\n", line.c_str(), times[static_cast<std::size_t>(rounds_ / 2)]);
    std::fflush(stdout);
  }

 private:
  const int rounds_;
  const std::string wanted_;
};

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "cordon-bench-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) Fail("no temporary folder");
    path_ = std::filesystem::canonical(name);
    for (const char* below : {"workspace", "home", "tmp", "cache"}) {
      std::filesystem::create_directory(path_ / below);
    }
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  [[nodiscard]] std::string At(const char* below) const { return path_ / below; }

 private:
  std::filesystem::path path_;
};

cordon::ProfileConfig ConfigOf(const Folder& folder, int rules) {
  auto config = cordon::PresetConfig("workspace", folder.At("workspace"));
  Expect(config.status());
  for (int i = 0; i < rules; ++i) {
    config->deny_write.push_back(folder.At("workspace") + "/rule" + std::to_string(i));
  }
  config->deny_read = {"**/.env", "**/*.pem", "**/secrets/**"};
  return *std::move(config);
}

void MeasureProfiles(const Bench& bench, const Folder& folder) {
  for (const int rules : {0, 200, 2000}) {
    const cordon::ProfileConfig config = ConfigOf(folder, rules);
    bench.Measure("make a profile (rules)", rules,
                  [&] { Expect(cordon::Profile::Create(config).status()); });
    const cordon::Profile profile = *cordon::Profile::Create(config);
    cordon::internal::ScratchFolders scratch;
    scratch.home = folder.At("home");
    scratch.temporary = folder.At("tmp");
    scratch.cache = folder.At("cache");
    cordon::internal::ViewCompiler compiler(profile, scratch, cordon::internal::QueryLandlockAbi());
    bench.Measure("compile its view again (rules)", rules,
                  [&] { Expect(compiler.Compile(profile.paths()).status()); });
    bench.Measure("look whether it holds (rules)", rules,
                  [&] { Expect(compiler.Compile().status()); });
  }
}

void MeasureRules(const Bench& bench, const Folder& folder) {
  const cordon::Command command =
      cordon::Command::Shell("git status --short && make -j2 test", folder.At("workspace"));
  cordon::Request request;
  request.tool = "bench";
  request.command = command;
  const cordon::Requirement requirement = cordon::RequireCommand(command);
  for (const int count : {0, 200, 2000}) {
    const auto rules = cordon::RuleSet::InMemory();
    std::vector<cordon::Rule> stored;
    for (int i = 0; i < count; ++i) {
      const bool exact = i % 2 == 0;
      auto rule = cordon::MakeRule(
          i % 4 < 2 ? cordon::RuleEffect::kAllow : cordon::RuleEffect::kDeny,
          exact ? cordon::RuleMatch::kExactCommand : cordon::RuleMatch::kCommandFamily,
          (exact ? "make part" : "tool") + std::to_string(i));
      Expect(rule.status());
      stored.push_back(*std::move(rule));
    }
    Expect(rules->Add(std::move(stored), /*persist=*/false));
    bench.Measure("match stored rules (rules)", count,
                  [&] { Expect(rules->Decide(requirement, request).status()); });
  }
}

void MeasureLexing(const Bench& bench) {
  for (const int commands : {1, 10, 100}) {
    std::string text;
    for (int i = 0; i < commands; ++i) {
      text += "CI=1 make -j2 \"target " + std::to_string(i) + "\" 2>&1 | tail -n 20 && ";
    }
    text += "true";
    bench.Measure("read shell text (pipelines)", commands, [&] {
      if (cordon::internal::ReadShellText(text).opaque) Fail("the text is opaque");
    });
  }
}

void MeasureGrants(const Bench& bench) {
  for (const int grants : {1, 16}) {
    const auto authority = cordon::NewHmacGrantAuthority("bench", {{}, {}, 1 << 20});
    Expect(authority.status());
    cordon::GrantBinding binding;
    binding.executor_id = "bench";
    binding.execution_id = "0123456789abcdef";
    binding.working_directory = "/w";
    binding.route_fingerprint = "direct";
    bench.Measure("issue and redeem (grants)", grants, [&] {
      std::vector<cordon::Grant> issued;
      for (int i = 0; i < grants; ++i) {
        cordon::GrantSubject subject;
        if (i > 0) {
          subject.grant_class = cordon::GrantClass::kNetworkTarget;
          subject.target = "tcp:host" + std::to_string(i) + ".test:443";
        }
        auto grant = (*authority)->Issue(binding, subject, cordon::GrantAuthority::kDefaultTtl);
        Expect(grant.status());
        issued.push_back(*std::move(grant));
      }
      auto redemption = (*authority)->Verify(issued, binding);
      Expect(redemption.status());
      Expect((*redemption)->Consume());
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Bench bench(argc > 1 ? std::max(1, std::atoi(argv[1])) : 200, argc > 2 ? argv[2] : "");
  const Folder folder;
  MeasureProfiles(bench, folder);
  MeasureRules(bench, folder);
  MeasureLexing(bench);
  MeasureGrants(bench);
  return 0;
}
