#include "probe_run.h"

#include <signal.h>
#include <string.h>

#include <filesystem>

#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;

// The probe is copied to the workspace, where both runs find it.
Words Located(const Ground& ground, Words probe) {
  const std::string name = "probe-" + probe.front();
  std::error_code error;
  fs::copy_file(std::string(CORDON_PROBES) + "/" + probe.front(), ground.PathOf(name),
                fs::copy_options::skip_existing, error);
  INFO(error.message());
  REQUIRE(ground.Exists(name));
  probe.front() = ground.PathOf(name);
  return probe;
}

std::string Word(int status, std::string out) {
  while (!out.empty() && out.back() == '\n') out.pop_back();
  if (!out.empty()) return out;
  if (status > 128) return std::string("SIG") + sigabbrev_np(status - 128);
  return "status-" + std::to_string(status);
}

std::string Joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

}  // namespace

std::string ProbeInside(const Ground& ground, const Words& policy, const Words& probe) {
  Words arguments = policy;
  arguments.emplace_back("--");
  const Words located = Located(ground, probe);
  arguments.insert(arguments.end(), located.begin(), located.end());
  const CordonRun run = RunInside(ground, arguments);
  INFO(run.err);
  REQUIRE(run.status != 125);
  REQUIRE(run.status != 126);
  REQUIRE(run.status != 127);
  return Word(run.status, run.out);
}

namespace {

std::string RunUnconfined(const Ground& ground, const Words& words) {
  ChildOptions options;
  options.directory = ground.workspace();
  options.environment = ground.environment();
  Child child(words, options);
  const Ended ended = child.Finish();
  INFO(ended.err);
  return Word(ended.status, ended.out);
}

}  // namespace

std::string ProbeOutside(const Ground& ground, const Words& probe) {
  return RunUnconfined(ground, Located(ground, probe));
}

std::string ProbeDisposable(const Ground& ground, const Words& probe) {
  // An ordinary user has no right over the machine that would have to be kept from it.
  if (!RunningAsRoot()) return ProbeOutside(ground, probe);
  Words words = {"unshare",      "--mount",      "--propagation", "private", "--pid", "--fork",
                 "--kill-child", "--mount-proc", "--net",         "--ipc",   "--uts", "--cgroup"};
  const Words located = Located(ground, probe);
  words.insert(words.end(), located.begin(), located.end());
  return RunUnconfined(ground, words);
}

void ExpectHeld(const Ground& ground, const Words& policy, const std::vector<Escape>& escapes) {
  for (const Escape& escape : escapes) {
    INFO(Joined(escape.probe));
    if (!escape.needs_root || RunningAsRoot()) {
      CHECK(ProbeDisposable(ground, escape.probe) == escape.outside);
    }
    CHECK(ProbeInside(ground, policy, escape.probe) == escape.inside);
  }
}

}  // namespace cordon::test
