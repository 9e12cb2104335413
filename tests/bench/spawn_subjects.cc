// What bench.py measures: makes executors and runs /bin/true in them, or spawns any other program,
// and says how long that took. One order per line, its words separated by tabs; one line of answer.
//
//   executor NAME FOLDER KEY=VALUE...  ready=N backend=NAME share_network=1 rules=N globs=N
//                                      -> ok | unavailable
//   run NAME                           once in that executor                 -> microseconds
//   spawn WORD...                      posix_spawn(3) and wait               -> microseconds
//   list THREADS FOLDER                list the folders in that folder       -> microseconds
//   loop SECONDS WORKERS run NAME | loop SECONDS WORKERS spawn WORD...       -> runs per second
//   bulk MIB THREADS                   memory and threads of the caller      -> ok
//   settle                             the kernel's clean-up has had a moment -> ok
//
// Ends at the end of its input.

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/profile.h"

extern char** environ;

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;
using Words = std::vector<std::string>;

constexpr char kTrue[] = "/bin/true";

Words Split(const std::string& line) {
  Words words;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = line.find('\t', begin);
    words.push_back(line.substr(begin, end - begin));
    if (end == std::string::npos) return words;
    begin = end + 1;
  }
}

bool SpawnAndWait(const Words& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return false;
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool ListFolder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  alignas(8) char names[64 * 1024];
  long bytes = 1;
  while (bytes > 0) bytes = syscall(SYS_getdents64, folder, names, sizeof names);
  close(folder);
  return bytes == 0;
}

// As little as anybody can do who looks at all names in the folders of a folder.
bool ListFolders(const std::string& path, int threads) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> ok = true;
  const auto list = [&] {
    for (std::size_t i = next++; i < folders.size(); i = next++) {
      if (!ListFolder(folders[i])) ok = false;
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(list);
  list();
  for (std::thread& other : others) other.join();
  return ok;
}

struct Subject {
  std::string workspace;
  std::unique_ptr<cordon::ExecutorSet> set;
  std::shared_ptr<cordon::Executor> executor;

  [[nodiscard]] bool Run() const {
    const auto result = executor->RunArgv(workspace, {kTrue});
    if (!result.ok()) std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    return result.ok() && result->outcome.code == 0;
  }
};

// Memory that is really there, in small pages, and threads that wait, for as long as it lives.
class Bulk {
 public:
  Bulk(std::size_t bytes, int threads) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < bytes; i += 4096) static_cast<char*>(memory)[i] = 1;
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return end_; });
      });
    }
    ok_ = true;
  }
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;
  ~Bulk() {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    ended_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool ok_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::vector<std::thread> threads_;
};

class Server {
 public:
  std::string Answer(const Words& words) {
    const std::string& order = words.front();
    if (order == "executor" && words.size() >= 3) return MakeExecutor(words);
    if (order == "run" || order == "spawn") return Time(ActOf(words, 0));
    if (order == "loop" && words.size() >= 5) {
      return Loop(std::stod(words[1]), std::stoi(words[2]), ActOf(words, 3));
    }
    if (order == "list" && words.size() == 3) {
      return Time([&] { return ListFolders(words[2], std::stoi(words[1])); });
    }
    if (order == "bulk" && words.size() == 3) {
      bulk_ = std::make_unique<Bulk>(std::stoull(words[1]) << 20, std::stoi(words[2]));
      return bulk_->ok() ? "ok" : "failed: no memory";
    }
    if (order == "settle") {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      return "ok";
    }
    return "failed: not understood";
  }

 private:
  using Act = std::function<bool()>;

  Act ActOf(const Words& words, std::size_t at) {
    const Words rest(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
    if (words[at] == "spawn") return [rest] { return SpawnAndWait(rest); };
    const auto found = subjects_.find(rest.front());
    if (found == subjects_.end()) return [] { return false; };
    return [subject = found->second] { return subject->Run(); };
  }

  static std::string Time(const Act& act) {
    const auto begin = Clock::now();
    if (!act()) return "failed";
    return std::to_string(Microseconds(Clock::now() - begin).count());
  }

  static std::string Loop(double seconds, int workers, const Act& act) {
    std::atomic<int> runs = 0;
    std::atomic<bool> ok = true;
    const auto begin = Clock::now();
    const auto end =
        begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back([&] {
        while (ok && Clock::now() < end) {
          if (!act()) ok = false;
          ++runs;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (!ok) return "failed";
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::to_string(runs / took);
  }

  std::string MakeExecutor(const Words& words) {
    auto subject = std::make_shared<Subject>();
    subject->workspace = words[2] + "/workspace";
    std::filesystem::create_directories(subject->workspace);
    std::filesystem::create_directories(words[2] + "/scratch");
    cordon::ProfileConfig config = cordon::PresetConfig("workspace", subject->workspace).value();
    cordon::ExecutorSetOptions options;
    options.scratch_root = words[2] + "/scratch";
    options.max_executors = 1;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      const std::string key = words[i].substr(0, equals);
      const std::string value = words[i].substr(equals + 1);
      if (key == "ready") options.ready_sandboxes = std::stoul(value);
      if (key == "share_network") options.share_network = value == "1";
      if (key == "backend" && value == "landlock") options.backend = cordon::Backend::kLandlock;
      if (key == "rules") {
        for (int rule = 0; rule < std::stoi(value); ++rule) {
          config.deny_write.push_back(subject->workspace + "/rule" + std::to_string(rule));
        }
      }
      if (key == "globs") {
        const char* const globs[] = {"**/.env", "**/*.pem", "**/secrets/**"};
        for (int glob = 0; glob < std::stoi(value); ++glob) {
          config.deny_read.emplace_back(globs[glob % 3]);
        }
      }
    }
    const auto profile = cordon::Profile::Create(config);
    if (!profile.ok()) return "unavailable " + std::string(profile.status().message());
    auto set = cordon::ExecutorSet::Create(*profile, options);
    if (!set.ok()) return "unavailable " + std::string(set.status().message());
    subject->set = *std::move(set);
    auto executor = subject->set->For("bench");
    if (!executor.ok()) return "unavailable " + std::string(executor.status().message());
    subject->executor = *std::move(executor);
    subjects_[words[1]] = std::move(subject);
    return "ok";
  }

  std::map<std::string, std::shared_ptr<Subject>> subjects_;
  std::unique_ptr<Bulk> bulk_;
};

}  // namespace

int main() {
  Server server;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << server.Answer(Split(line)) << std::endl;
  }
  return 0;
}
