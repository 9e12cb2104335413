// What does a confined /bin/true cost beside a bare one and beside bubblewrap? All rows are
// measured in one run, in a shuffled order, each from the spawn to the wait; read the ratios.
// Bubblewrap is skipped with a word when it is not installed.
//
//   bench_spawn_peers PATH-OF-CORDON [ROUNDS]

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/profile.h"

extern char** environ;

namespace {

namespace fs = std::filesystem;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr char kTrue[] = "/bin/true";
constexpr char kBubblewrap[] = "/usr/bin/bwrap";

struct Row {
  std::string name;
  std::function<bool()> act;
  std::vector<double> times;
};

bool SpawnAndWait(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return false;
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// As near as it gets: read-only system, one writable folder, private /tmp, /dev and /proc, the same
// namespaces. It has no Landlock and, without a program of one's own for it, no seccomp.
std::vector<std::string> BubblewrapWords(const std::string& workspace) {
  return {kBubblewrap, "--unshare-all", "--die-with-parent",  // the same namespaces
          "--ro-bind", "/usr",          "/usr",               //
          "--symlink", "usr/bin",       "/bin",               //
          "--symlink", "usr/lib",       "/lib",               //
          "--symlink", "usr/lib64",     "/lib64",             //
          "--ro-bind", "/etc",          "/etc",               //
          "--tmpfs",   "/tmp",          "--proc",
          "/proc",  //
          "--dev",     "/dev",          "--bind",
          workspace,  //
          workspace,   "--chdir",       workspace,
          kTrue};
}

void Print(std::vector<Row>& rows) {
  const auto quantile = [](std::vector<double>& times, double part) {
    std::sort(times.begin(), times.end());
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
  };
  const double bare = quantile(rows.front().times, 0.5);
  std::printf("%-28s %10s %10s %8s\n", "/bin/true", "median us", "p95 us", "x bare");
  for (Row& row : rows) {
    const double median = quantile(row.times, 0.5);
    std::printf("%-28s %10.0f %10.0f %8.2f\n", row.name.c_str(), median, quantile(row.times, 0.95),
                median / bare);
  }
}

int Measure(const std::string& program, int rounds) {
  const std::string folder =
      fs::temp_directory_path() / ("cordon-bench-" + std::to_string(getpid()));
  const std::string workspace = folder + "/workspace";
  const std::string scratch = folder + "/scratch";
  fs::create_directories(workspace);
  fs::create_directories(scratch);

  cordon::ProfileConfig config = cordon::PresetConfig("workspace", workspace).value();
  const auto profile = cordon::Profile::Create(config).value();
  cordon::ExecutorSetOptions options;
  options.scratch_root = scratch;
  options.max_executors = 1;
  const auto set = cordon::ExecutorSet::Create(profile, options).value();
  const auto executor = set->For("bench").value();

  std::vector<Row> rows;
  rows.push_back({"bare posix_spawn", [] { return SpawnAndWait({kTrue}); }, {}});
  rows.push_back({"cordon, library call",
                  [&] {
                    const auto result = executor->RunArgv(workspace, {kTrue});
                    return result.ok() && result->outcome.code == 0;
                  },
                  {}});
  rows.push_back({"cordon run -- /bin/true",
                  [&] {
                    return SpawnAndWait({program, "run", "-w", workspace, "--", kTrue});
                  },
                  {}});
  if (fs::exists(kBubblewrap)) {
    rows.push_back(
        {"bwrap, same namespaces", [&] { return SpawnAndWait(BubblewrapWords(workspace)); }, {}});
  } else {
    std::printf("bubblewrap is not installed: not measured\n");
  }

  std::mt19937 shuffle(1);
  bool ok = true;
  for (int round = 0; round < rounds && ok; ++round) {
    std::vector<Row*> order;
    for (Row& row : rows) order.push_back(&row);
    std::shuffle(order.begin(), order.end(), shuffle);
    for (Row* row : order) {
      const auto begin = std::chrono::steady_clock::now();
      if (!row->act()) {
        std::fprintf(stderr, "%s failed\n", row->name.c_str());
        ok = false;
      }
      row->times.push_back(Microseconds(std::chrono::steady_clock::now() - begin).count());
    }
  }
  (void)set->Close();
  fs::remove_all(folder);
  if (!ok) return 1;
  Print(rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_spawn_peers PATH-OF-CORDON [ROUNDS]\n");
    return 2;
  }
  return Measure(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 300);
}
