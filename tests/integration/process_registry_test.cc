// Background jobs in real sandboxes.

#include "cordon/bash/process_registry.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "integration/support/cordon_run.h"
#include "integration/support/gated_sandbox.h"
#include "integration/support/jobs.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

TEST_CASE("a job outlives the call that started it, and its output is read from a cursor") {
  Jobs jobs;
  const auto started = steady_clock::now();
  const std::string job = jobs.Start(
      "echo first; echo second >&2; while [ ! -e go ]; do sleep 0.05; done; echo third; "
      "exit 3");
  CHECK(steady_clock::now() - started < seconds(10));
  REQUIRE(jobs.Writes(job, "first\nsecond\n"));
  CHECK(jobs.registry->Find(kOwner, job)->state == JobState::kRunning);
  const auto part = jobs.registry->Read(kOwner, job, 6, 4);
  REQUIRE(part.ok());
  CHECK(part->bytes == "seco");
  CHECK(part->next_cursor == 10);
  CHECK_FALSE(part->at_end);

  jobs.ground().MakeFile("go", "");
  const JobInfo ended = jobs.Ended(job);
  CHECK(ended.outcome->kind == Outcome::Kind::kExited);
  CHECK(ended.outcome->code == 3);
  CHECK(ended.output_bytes == 19);
  const auto rest = jobs.registry->Read(kOwner, job, 13, kMuch);
  CHECK(rest->bytes == "third\n");
  CHECK(rest->at_end);
}

TEST_CASE("the end of a job is told once, by an event and to its owner") {
  std::atomic<int> events = 0;
  ProcessRegistryOptions options;
  options.on_end = [&events](const std::string& owner, const JobInfo& job) {
    if (owner == kOwner && job.outcome->code == 7) ++events;
  };
  Jobs jobs(std::move(options));
  CHECK(jobs.registry->TakeEnded(kOwner).empty());
  const std::string job = jobs.Start("exit 7");
  (void)jobs.Ended(job);
  CHECK(Within(seconds(5), [&] { return events == 1; }));
  CHECK(jobs.registry->TakeEnded("somebody").empty());
  const std::vector<JobInfo> told = jobs.registry->TakeEnded(kOwner);
  REQUIRE(told.size() == 1);
  CHECK(told[0].handle == job);
  CHECK(jobs.registry->TakeEnded(kOwner).empty());
}

TEST_CASE("a handle is unguessable and good for its owner only") {
  Jobs jobs;
  const std::string mine = jobs.Start("sleep 30");
  const std::string other = jobs.Start("sleep 30");
  CHECK(mine != other);
  CHECK(mine.size() == 4 + kJobHandleDigits);
  CHECK(jobs.registry->Find(kOwner, mine).ok());
  const std::vector<absl::Status> refusals = {
      jobs.registry->Find("you", mine).status(),
      jobs.registry->Read("you", mine, 0, 10).status(),
      jobs.registry->Wait("you", {mine}, WaitFor::kAnyEnd, Soon()).status(),
      jobs.registry->WriteInput("you", mine, "x", Soon()).status(),
      jobs.registry->CloseInput("you", mine),
      jobs.registry->Stop("you", mine).status()};
  for (const absl::Status& refusal : refusals) {
    CHECK(CodeOf(refusal) == "not_found");
    CHECK_FALSE(Has(std::string(refusal.message()), other));
  }
  CHECK(jobs.registry->List("you").empty());
  CHECK(jobs.registry->List(kOwner).size() == 2);
  CHECK(jobs.registry->Find(kOwner, mine)->state == JobState::kRunning);
}

TEST_CASE("input reaches a job, and the end of it too") {
  Jobs jobs;
  const std::string job = jobs.Start("while read line; do echo got-$line; done; echo done");
  CHECK(jobs.registry->WriteInput(kOwner, job, "one\n", Soon()).value() == 4);
  REQUIRE(jobs.Writes(job, "got-one"));
  CHECK(jobs.registry->WriteInput(kOwner, job, "two\n", Soon()).value() == 4);
  CHECK(jobs.registry->CloseInput(kOwner, job).ok());
  CHECK(jobs.Ended(job).outcome->code == 0);
  CHECK(jobs.All(job) == "got-one\ngot-two\ndone\n");
  CHECK(CodeOf(jobs.registry->WriteInput(kOwner, job, "x", Soon()).status()) == "closed");
}

TEST_CASE("a job that does not read takes what a pipe holds and no more") {
  Jobs jobs;
  const std::string job = jobs.Start("sleep 30");
  const std::string much(1 << 20, 'x');
  const auto taken =
      jobs.registry->WriteInput(kOwner, job, much, steady_clock::now() + milliseconds(200));
  REQUIRE(taken.ok());
  CHECK(*taken > 0);
  CHECK(*taken < much.size());
}

TEST_CASE("input for a job that has closed its own raises no signal here") {
  Jobs jobs;
  const std::string job = jobs.Start("exec <&-; echo closed; sleep 30");
  REQUIRE(jobs.Writes(job, "closed"));
  CHECK(jobs.registry->WriteInput(kOwner, job, "x\n", steady_clock::now()).ok());
}

TEST_CASE("stopping ends the whole tree of a job, also one that ignores the request") {
  Jobs jobs;
  const std::string mark = SleepMark();
  const std::string polite = jobs.Start("sleep " + mark);
  const std::string rude = jobs.Start("trap '' TERM; setsid sleep " + mark + " & echo up; sleep " +
                                      mark + "; sleep " + mark);
  REQUIRE(jobs.Writes(rude, "up"));
  CHECK(jobs.registry->Stop(kOwner, polite)->outcome->kind == Outcome::Kind::kCancelled);
  const auto begin = steady_clock::now();
  const auto stopped = jobs.registry->Stop(kOwner, rude);
  REQUIRE(stopped.ok());
  CHECK(stopped->state == JobState::kEnded);
  CHECK(steady_clock::now() - begin < seconds(8));
  CHECK(ProcessesWith(mark).empty());
  CHECK(jobs.registry->Stop(kOwner, rude).ok());
}

TEST_CASE("a job's own time limit ends it") {
  Jobs jobs;
  JobOptions options;
  options.timeout = milliseconds(200);
  const std::string job = jobs.Start("sleep 30", std::move(options));
  CHECK(jobs.Ended(job).outcome->kind == Outcome::Kind::kTimedOut);
}

TEST_CASE("waiting ends with any job, with all, with output, in time, and when it is withdrawn") {
  Jobs jobs;
  const std::string quick = jobs.Start("true");
  const std::string slow = jobs.Start("read x; echo $x");
  const auto any = jobs.registry->Wait(kOwner, {slow, quick}, WaitFor::kAnyEnd, Soon());
  REQUIRE(any.ok());
  CHECK((*any)[0].state == JobState::kRunning);
  CHECK((*any)[1].state == JobState::kEnded);
  const auto late = jobs.registry->Wait(kOwner, {slow, quick}, WaitFor::kAllEnd,
                                        steady_clock::now() + milliseconds(50));
  REQUIRE(late.ok());
  CHECK((*late)[0].state == JobState::kRunning);

  std::stop_source stop;
  std::jthread withdraws([&stop] { stop.request_stop(); });
  const auto begin = steady_clock::now();
  CHECK(jobs.registry->Wait(kOwner, {slow}, WaitFor::kAnyEnd, Soon(), stop.get_token()).ok());
  CHECK(steady_clock::now() - begin < seconds(10));

  std::jthread types(
      [&] { CHECK(jobs.registry->WriteInput(kOwner, slow, "hello\n", Soon()).ok()); });
  CHECK(jobs.registry->Wait(kOwner, {slow}, WaitFor::kOutput, Soon()).ok());
  const auto all = jobs.registry->Wait(kOwner, {slow, quick}, WaitFor::kAllEnd, Soon());
  CHECK((*all)[0].state == JobState::kEnded);
  CHECK(jobs.All(slow) == "hello\n");
}

TEST_CASE("quotas hold per owner and for all, and spend nothing") {
  ProcessRegistryOptions options;
  options.max_running_per_owner = 2;
  options.max_running = 3;
  Jobs jobs(std::move(options));
  const std::string first = jobs.Start("sleep 30");
  (void)jobs.Start("sleep 30");
  const auto third = jobs.TryStart("sleep 30");
  CHECK(CodeOf(third.status()) == "busy");
  CHECK(Has(std::string(third.status().message()), first));
  (void)jobs.Start("sleep 30", {}, "you");
  CHECK(CodeOf(jobs.TryStart("sleep 30", {}, "they").status()) == "busy");
  CHECK(jobs.registry->Stop(kOwner, first).ok());
  CHECK(jobs.TryStart("true").ok());
}

TEST_CASE("ended jobs are kept up to a number, the first to go being the oldest") {
  ProcessRegistryOptions options;
  options.max_ended = 2;
  Jobs jobs(std::move(options));
  std::vector<std::string> handles;
  for (int i = 0; i < 4; ++i) {
    handles.push_back(jobs.Start("echo " + std::to_string(i)));
    REQUIRE(jobs.registry->Wait(kOwner, {handles.back()}, WaitFor::kAnyEnd, Soon()).ok());
  }
  CHECK(Within(seconds(5), [&] { return jobs.registry->List(kOwner).size() == 2; }));
  CHECK(CodeOf(jobs.registry->Find(kOwner, handles[0]).status()) == "not_found");
  CHECK(jobs.All(handles[3]) == "3\n");
  CHECK_FALSE(fs::exists(jobs.folder() + "/" + handles[0]));
}

TEST_CASE("endless output stays within its cap and keeps its beginning and its newest part") {
  ProcessRegistryOptions options;
  options.segment_bytes = 64 * 1024;
  options.max_output_bytes = 512 * 1024;
  Jobs jobs(std::move(options));
  const std::string job = jobs.Start("echo the-first-line; seq 1 1000000; echo the-last-line");
  const JobInfo ended = jobs.Ended(job);
  CHECK(ended.output_bytes > 6'000'000);
  CHECK(ended.lost_output_bytes == 0);
  std::uint64_t on_disk = 0;
  for (const auto& entry : fs::directory_iterator(jobs.folder() + "/" + job)) {
    on_disk += entry.file_size();
  }
  CHECK(on_disk <= 512 * 1024);
  const auto head = jobs.registry->Read(kOwner, job, 0, kMuch);
  CHECK(head->bytes.starts_with("the-first-line\n1\n2\n"));
  const auto tail = jobs.registry->Read(kOwner, job, head->next_cursor, kMuch);
  CHECK(tail->skipped_bytes > 1'000'000);
  CHECK(tail->bytes.ends_with("1000000\nthe-last-line\n"));
  CHECK(tail->at_end);
}

TEST_CASE("a job that cannot start leaves no trace") {
  Jobs jobs;
  const auto refused =
      jobs.registry->Start(kOwner, jobs.sandbox.shared_executor(),
                           Command::Argv({"no-such-program"}, jobs.ground().workspace()), {});
  CHECK_FALSE(refused.ok());
  CHECK(jobs.registry->List(kOwner).empty());
  for (const auto& entry : fs::directory_iterator(jobs.folder())) {
    CHECK(entry.path().filename() == "journal");
  }
}

TEST_CASE("a folder that commands may write to keeps no jobs") {
  Jobs jobs;
  ProcessRegistryOptions options;
  options.folder = jobs.ground().PathOf("inside");
  auto inside = ProcessRegistry::Open(std::move(options));
  REQUIRE(inside.ok());
  const auto refused =
      (*inside)->Start(kOwner, jobs.sandbox.shared_executor(), jobs.Shell("true"), {});
  CHECK(CodeOf(refused.status()) == "invalid_option");
  CHECK(jobs.TryStart("true").ok());
}

}  // namespace
}  // namespace cordon::test
