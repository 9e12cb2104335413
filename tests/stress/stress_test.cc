// Many commands at once and one after another, ended in every way: nothing of them may be left, and
// none of what they said may be lost. Bounded; two minutes on two cores.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sandbox/executor_set.h"
#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t Names(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

// What a leak of this process would show in.
struct Holdings {
  std::size_t descriptors = Names("/proc/self/fd");
  std::size_t threads = Names("/proc/self/task");
  std::string mounts = Contents("/proc/self/mountinfo");

  friend bool operator==(const Holdings&, const Holdings&) = default;
};

class Sandbox {
 public:
  explicit Sandbox(Backend backend = Backend::kAuto) {
    auto config = PresetConfig("workspace", ground_.workspace());
    REQUIRE(config.ok());
    config->home_root = ground_.home();
    const auto profile = Profile::Create(*config);
    REQUIRE(profile.ok());
    ExecutorSetOptions options;
    options.scratch_root = ground_.temporary();
    options.max_executors = 1;
    options.backend = backend;
    auto set = ExecutorSet::Create(*profile, options);
    if (!set.ok()) CORDON_SKIP("sandbox", std::string(set.status().message()));
    set_ = *std::move(set);
    const auto executor = set_->For("stress");
    REQUIRE(executor.ok());
    executor_ = *executor;
  }

  [[nodiscard]] absl::StatusOr<RunResult> Run(const std::string& text,
                                              const cordon::RunOptions& options = {}) {
    return executor_->RunCommand(ground_.workspace(), text, options);
  }

  [[nodiscard]] std::unique_ptr<Process> Start(const std::string& text) {
    const auto prepared = executor_->PrepareProcess(Command::Shell(text, ground_.workspace()), {});
    if (!prepared.ok()) return nullptr;
    auto process = (*prepared)->Start();
    return process.ok() ? *std::move(process) : nullptr;
  }

  // Whether all of it ends without a complaint and leaves its folder empty.
  [[nodiscard]] bool Close() {
    executor_.reset();
    const bool closed = set_->Close().ok();
    set_.reset();
    return closed && fs::is_empty(ground_.temporary());
  }

 private:
  const Ground ground_;
  std::unique_ptr<ExecutorSet> set_;
  std::shared_ptr<Executor> executor_;
};

// One command, ended by chance in one of the ways there are. Whether it ended as it was to.
bool RunAndEnd(Sandbox& sandbox, unsigned way, unsigned number, const std::string& mark) {
  const std::string stays = "setsid sleep " + mark + " & sleep " + mark + " & ";
  const std::string code = std::to_string(number % 200);
  cordon::RunOptions options;
  switch (way % 6) {
    case 0: {
      const auto result = sandbox.Run(stays + "exit " + code);
      return result.ok() && result->outcome.code == static_cast<int>(number % 200);
    }
    case 1: {
      options.timeout = milliseconds(5 + number % 20);
      const auto result = sandbox.Run("trap '' TERM; " + stays + "kill -KILL $$; wait", options);
      return result.ok();
    }
    case 2: {
      options.timeout = milliseconds(10 + number % 20);
      const auto result = sandbox.Run(stays + "exec sleep " + mark, options);
      return result.ok() && result->outcome.kind == Outcome::Kind::kTimedOut;
    }
    case 3: {
      std::stop_source stop;
      options.stop = stop.get_token();
      std::jthread stopping([&stop, number] {
        std::this_thread::sleep_for(milliseconds(number % 15));  // At any point of its life.
        stop.request_stop();
      });
      const auto result = sandbox.Run(stays + "exec sleep " + mark, options);
      return !result.ok() || result->outcome.kind == Outcome::Kind::kCancelled;
    }
    case 4: {
      const auto process = sandbox.Start(stays + "exec sleep " + mark);
      if (process == nullptr || !process->Signal(ProcessSignal::kKill).ok()) return false;
      const auto result = process->Wait();
      return result.ok() && result->outcome.kind == Outcome::Kind::kCancelled;
    }
    default: {
      const auto process = sandbox.Start(stays + "exec sleep " + mark);
      return process != nullptr && process->Close().ok();
    }
  }
}

std::size_t PeakBytes() {
  std::istringstream status(Contents("/proc/self/status"));
  for (std::string word; status >> word;) {
    std::size_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

TEST_CASE("500 commands in a row and 32 at once, ended in every way, leave nothing behind") {
  const Backend backend = GENERATE(Backend::kNamespaces, Backend::kLandlock);
  CAPTURE(static_cast<int>(backend));
  const std::string mark = SleepMark();
  { Sandbox warm_up(backend); }  // What stays for the whole process is there now.
  const Holdings before;
  {
    Sandbox sandbox(backend);
    std::minstd_rand chance(4711);
    for (unsigned i = 0; i < 500; ++i) {
      const auto way = static_cast<unsigned>(chance());
      if (RunAndEnd(sandbox, way, i, mark)) continue;
      FAIL_CHECK("way " << way % 6 << " of run " << i);
    }
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 32; ++i) {
      threads.emplace_back([&sandbox, &wrong, &mark, i] {
        for (unsigned j = 0; j < 4; ++j) {
          if (!RunAndEnd(sandbox, i + j, i * 4 + j, mark)) ++wrong;
        }
      });
    }
    threads.clear();
    CHECK(wrong == 0);
    CHECK(sandbox.Close());
  }
  CHECK(Within(seconds(5), [&] { return ProcessesWith(mark).empty(); }));
  CHECK(Within(seconds(5), [&] { return Holdings() == before; }));
}

TEST_CASE("no exit status of 2,000 short processes is lost, eight at a time") {
  Sandbox sandbox(GENERATE(Backend::kNamespaces, Backend::kLandlock));
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&sandbox, &wrong, i] {
      for (int j = 0; j < 250; ++j) {
        const int code = (i * 250 + j) % 256;
        const auto result =
            sandbox.Run("echo out-" + std::to_string(code) + "; exit " + std::to_string(code));
        const bool right = result.ok() && result->outcome.code == code &&
                           result->standard_output.head == "out-" + std::to_string(code) + "\n";
        if (!right) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK(sandbox.Close());
}

TEST_CASE("3 GiB of output are counted to the byte with at most 32 MiB more of memory") {
  Sandbox sandbox(GENERATE(Backend::kNamespaces, Backend::kLandlock));
  std::ofstream("/proc/self/clear_refs") << "5\n";  // Begins a new peak (proc(5)).
  const std::size_t before = PeakBytes();
  const auto result = sandbox.Run("head -c 3221225472 /dev/zero; echo; echo end");
  REQUIRE(result.ok());
  CHECK(result->standard_output.total_bytes == 3221225472U + 5);
  CHECK(result->standard_output.total_lines == 2);
  CHECK(result->standard_output.tail.ends_with("\nend\n"));
  INFO("peak before " << before << ", after " << PeakBytes());
  CHECK(PeakBytes() <= before + (32U << 20));
  CHECK(sandbox.Close());
}

namespace {

// Processes below this one that have not ended: each is, or descends from, a child of this process,
// to which orphans come while it is a subreaper.
std::vector<int> Survivors() {
  std::vector<int> alive;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid == 0) continue;
    const std::string stat = Contents(entry.path().string() + "/stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream fields(stat.substr(name_end + 1));
    char state = 0;
    int parent = 0;
    if (fields >> state >> parent && parent == getpid() && state != 'Z') alive.push_back(pid);
  }
  return alive;
}

milliseconds Since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

// How long it takes here, now, until a plain process that was killed is seen to be gone. What this
// machine is busy with must not look like a fault.
milliseconds PlainDeath(const Ground& ground) {
  const std::string mark = SleepMark();
  Child plain({"/bin/sleep", mark}, InsideOptions(ground));
  REQUIRE(Within(seconds(20), [&] { return ProcessesWith(mark).size() == 1; }));
  const auto begin = std::chrono::steady_clock::now();
  plain.Signal(SIGKILL);
  CHECK(Within(seconds(20), [&] { return ProcessesWith(mark).empty(); }));
  return Since(begin);
}

// Long before it is looked at, so that what does not end is told from what is slow.
constexpr milliseconds kLooking = seconds(20);
constexpr milliseconds kAllowed = seconds(1);

}  // namespace

TEST_CASE("a host that is killed at any of 20 points leaves nothing running, and nothing on disk") {
  const std::string backend = GENERATE("namespaces", "landlock");
  CAPTURE(backend);
  const Ground ground;
  if (RunText(ground, {"--backend", backend}, "true").status == 125) {
    CORDON_SKIP("backend", "this host has no " + backend + " tier");
  }
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  milliseconds slowest{0};
  for (int point = 0; point < 20; ++point) {
    CAPTURE(point);
    const std::string mark = SleepMark();
    Child host(InsideCommand(ground, {"--backend", backend, "-c",
                                      "setsid sleep " + mark + " & sleep " + mark}),
               InsideOptions(ground));
    if (point < 16) {
      std::this_thread::sleep_for(milliseconds(point * 3));  // From the start of the program on.
    } else {
      REQUIRE(Within(seconds(20), [&] { return ProcessesWith(mark).size() >= 4; }));
      std::this_thread::sleep_for(milliseconds((point - 16) * 5));
    }
    const auto begin = std::chrono::steady_clock::now();
    host.Signal(SIGKILL);
    // Until its last thread is gone, its children do not come to this process.
    CHECK(host.Finish({}, kLooking).in_time);
    CHECK(Within(kLooking, [&] { return ProcessesWith(mark).empty() && Survivors().empty(); }));
    const milliseconds took = Since(begin);
    CHECK(took < kAllowed + 10 * PlainDeath(ground));
    slowest = std::max(slowest, took);
  }
  INFO("the slowest took " << slowest.count() << " ms");
  Expect(RunText(ground, {"--backend", backend}, "true")).Status(0);
  CHECK(Within(seconds(10), [&] { return fs::is_empty(ground.temporary()); }));
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
  while (waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
  }
}

}  // namespace cordon::test
