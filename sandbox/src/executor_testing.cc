#include "executor_testing.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cordon/sdk/status.h"
#include "deadline_poll.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

absl::Status Mismatch(const GrantBinding& issued, const GrantBinding& expected) {
  const auto wrong = [](ErrorCode code) { return MakeError(code, "the grant is for another one"); };
  if (issued.executor_id != expected.executor_id) return wrong(ErrorCode::kGrantWrongExecutor);
  if (issued.execution_id != expected.execution_id) return wrong(ErrorCode::kGrantWrongExecution);
  if (issued.command_digest != expected.command_digest) return wrong(ErrorCode::kGrantWrongCommand);
  if (issued.working_directory != expected.working_directory) {
    return wrong(ErrorCode::kGrantWrongDirectory);
  }
  if (issued != expected) return wrong(ErrorCode::kGrantWrongProfile);
  return absl::OkStatus();
}

}  // namespace

class FakeRedemption final : public Redemption {
 public:
  FakeRedemption(FakeAuthority& authority, std::vector<std::size_t> numbers,
                 std::vector<GrantSubject> subjects)
      : authority_(authority), numbers_(std::move(numbers)), subjects_(std::move(subjects)) {}

  const std::vector<GrantSubject>& subjects() const override { return subjects_; }

  absl::Status Consume() override {
    const std::lock_guard lock(authority_.mutex_);
    if (authority_.closed_) return MakeError(ErrorCode::kClosed, "closed");
    for (const std::size_t number : numbers_) {
      if (authority_.issued_[number].spent) return MakeError(ErrorCode::kGrantReplayed, "spent");
    }
    for (const std::size_t number : numbers_) authority_.issued_[number].spent = true;
    return absl::OkStatus();
  }

 private:
  FakeAuthority& authority_;
  std::vector<std::size_t> numbers_;
  std::vector<GrantSubject> subjects_;
};

absl::StatusOr<Grant> FakeAuthority::Issue(const GrantBinding& binding, const GrantSubject& subject,
                                           std::chrono::milliseconds) {
  const std::lock_guard lock(mutex_);
  if (closed_) return MakeError(ErrorCode::kClosed, "closed");
  issued_.push_back({binding, subject, false});
  return Grant(std::to_string(issued_.size() - 1));
}

absl::StatusOr<std::unique_ptr<Redemption>> FakeAuthority::Verify(absl::Span<const Grant> grants,
                                                                  const GrantBinding& expected) {
  const std::lock_guard lock(mutex_);
  if (closed_) return MakeError(ErrorCode::kClosed, "closed");
  std::vector<std::size_t> numbers;
  std::vector<GrantSubject> subjects;
  for (const Grant& grant : grants) {
    const std::size_t number = std::strtoul(grant.token().c_str(), nullptr, 10);
    if (number >= issued_.size()) return MakeError(ErrorCode::kGrantForged, "never issued");
    if (issued_[number].spent) return MakeError(ErrorCode::kGrantReplayed, "spent");
    absl::Status status = Mismatch(issued_[number].binding, expected);
    if (!status.ok()) return status;
    numbers.push_back(number);
    subjects.push_back(issued_[number].subject);
  }
  return std::make_unique<FakeRedemption>(*this, std::move(numbers), std::move(subjects));
}

void FakeAuthority::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool FakeAuthority::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t FakeAuthority::spent() {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const Issued& grant : issued_) count += grant.spent ? 1 : 0;
  return count;
}

absl::Status FakeLog::Append(const LogRecord& record) {
  const std::lock_guard lock(mutex_);
  if (record.event == fail_at_) return MakeError(ErrorCode::kLogFailed, "the disk is full");
  records_.push_back(record);
  return absl::OkStatus();
}

void FakeLog::FailAt(std::string event) {
  const std::lock_guard lock(mutex_);
  fail_at_ = std::move(event);
}

std::vector<LogRecord> FakeLog::records() {
  const std::lock_guard lock(mutex_);
  return records_;
}

std::string FakeLog::events() {
  std::string events;
  for (const LogRecord& record : records()) events += (events.empty() ? "" : " ") + record.event;
  return events;
}

SandboxFixture::SandboxFixture() {
  config.workspace_root = workspace_.path();
  config.workspace_read = Access::kAllow;
  config.workspace_write = Access::kAllow;
  config.command = Access::kAllow;
  options.scratch_root = scratch_.path();
  options.max_executors = 4;
}

absl::StatusOr<std::unique_ptr<ExecutorSet>> SandboxFixture::Make() {
  const absl::StatusOr<Profile> profile = Profile::Create(config);
  if (!profile.ok()) return profile.status();
  return ExecutorSet::Create(*profile, options);
}

ExecutorSet& SandboxFixture::set() {
  if (set_ != nullptr) return *set_;
  absl::StatusOr<std::unique_ptr<ExecutorSet>> made = Make();
  INFO(made.status().ToString());
  REQUIRE(made.ok());
  set_ = *std::move(made);
  return *set_;
}

std::shared_ptr<Executor> SandboxFixture::executor(const std::string& key) {
  absl::StatusOr<std::shared_ptr<Executor>> executor = set().For(key);
  INFO(executor.status().ToString());
  REQUIRE(executor.ok());
  return *executor;
}

RunResult SandboxFixture::Shell(const std::string& text, const RunOptions& run_options) {
  absl::StatusOr<RunResult> result = executor()->RunCommand(workspace(), text, run_options);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  return *std::move(result);
}

bool Exists(const std::string& path) {
  return std::filesystem::exists(std::filesystem::symlink_status(path));
}

int ProcessesWith(const std::string& mark) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    // Read with read(2): a stream throws when the process ends in between.
    const UniqueFd file(open((entry.path() / "cmdline").c_str(), O_RDONLY | O_CLOEXEC));
    char line[4096];
    const ssize_t size = file.valid() ? read(file.get(), line, sizeof line) : -1;
    if (size <= 0) continue;
    const std::string_view words(line, static_cast<std::size_t>(size));
    if (words.find(mark) != std::string_view::npos) ++count;
  }
  return count;
}

bool ReadUntil(int fd, const std::string& text) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + kDeadline;
  std::string said;
  while (said.find(text) == std::string::npos) {
    if (!ReadableUntil(fd, deadline)) return false;
    char buffer[4096];
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size <= 0) return false;
    said.append(buffer, static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace cordon::internal::testing
