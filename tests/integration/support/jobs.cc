#include "integration/support/jobs.h"

#include <utility>

#include "integration/support/cordon_run.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {

std::chrono::steady_clock::time_point Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

Jobs::Jobs(ProcessRegistryOptions options) { Open(std::move(options)); }

void Jobs::Open(ProcessRegistryOptions options) {
  options.folder = folder();
  auto opened = ProcessRegistry::Open(std::move(options));
  INFO(opened.status());
  REQUIRE(opened.ok());
  registry = *std::move(opened);
}

Command Jobs::Shell(const std::string& text) const {
  return Command::Shell(text, ground().workspace());
}

absl::StatusOr<JobInfo> Jobs::TryStart(const std::string& text, JobOptions options,
                                       std::string_view owner) {
  return registry->Start(owner, sandbox.shared_executor(), Shell(text), std::move(options));
}

std::string Jobs::Start(const std::string& text, JobOptions options, std::string_view owner) {
  const auto job = TryStart(text, std::move(options), owner);
  INFO(job.status());
  REQUIRE(job.ok());
  return job->handle;
}

JobInfo Jobs::Ended(const std::string& handle) const {
  const auto jobs = registry->Wait(kOwner, {handle}, WaitFor::kAnyEnd, Soon());
  REQUIRE(jobs.ok());
  CHECK(jobs->front().state == JobState::kEnded);
  return jobs->front();
}

std::string Jobs::All(const std::string& handle) const {
  const auto output = registry->Read(kOwner, handle, 0, kMuch);
  REQUIRE(output.ok());
  return output->bytes;
}

bool Jobs::Writes(const std::string& handle, std::string_view text) const {
  return Within(std::chrono::seconds(20), [&] { return Has(All(handle), text); });
}

}  // namespace cordon::test
