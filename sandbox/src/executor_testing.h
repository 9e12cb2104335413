// For tests: a workspace with an executor set over it, and an authority and a log that are fakes.

#ifndef CORDON_SANDBOX_SRC_EXECUTOR_TESTING_H_
#define CORDON_SANDBOX_SRC_EXECUTOR_TESTING_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/profile.h"
#include "sandbox_testing.h"

namespace cordon::internal::testing {

// Leaves the test case when this host has no namespaces tier.
#define CORDON_NEED_NAMESPACES()                                            \
  do {                                                                      \
    const std::string why = ::cordon::internal::testing::WhyNoNamespaces(); \
    if (!why.empty()) CORDON_SKIP("userns", why);                           \
  } while (false)

// Grants by number, checked like real ones but signed by nobody.
class FakeAuthority final : public GrantAuthority {
 public:
  explicit FakeAuthority(std::string executor_id) : executor_id_(std::move(executor_id)) {}

  const std::string& executor_id() const override { return executor_id_; }
  absl::StatusOr<Grant> Issue(const GrantBinding& binding, const GrantSubject& subject,
                              std::chrono::milliseconds ttl) override;
  absl::StatusOr<std::unique_ptr<Redemption>> Verify(absl::Span<const Grant> grants,
                                                     const GrantBinding& expected) override;
  void Close() override;

  [[nodiscard]] bool closed();
  [[nodiscard]] std::size_t spent();

 private:
  friend class FakeRedemption;
  struct Issued {
    GrantBinding binding;
    GrantSubject subject;
    bool spent = false;
  };

  const std::string executor_id_;
  std::mutex mutex_;
  std::vector<Issued> issued_;
  bool closed_ = false;
};

class FakeLog final : public LogSink {
 public:
  absl::Status Append(const LogRecord& record) override;

  // From now on records of this event cannot be kept.
  void FailAt(std::string event);
  [[nodiscard]] std::vector<LogRecord> records();
  // "event event event", in their order.
  [[nodiscard]] std::string events();

 private:
  std::mutex mutex_;
  std::string fail_at_;
  std::vector<LogRecord> records_;
};

// A workspace, a scratch root, and what is made in them. Everything is allowed inside the
// workspace, the network is closed.
class SandboxFixture {
 public:
  SandboxFixture();

  // Fails the test when it cannot be made.
  ExecutorSet& set();
  std::shared_ptr<Executor> executor(const std::string& key = "test");
  [[nodiscard]] std::string workspace() const { return workspace_.path(); }
  [[nodiscard]] std::string scratch() const { return scratch_.path(); }

  // Runs `text` in the workspace; fails the test when that is an error.
  RunResult Shell(const std::string& text, const RunOptions& options = {});

  absl::StatusOr<std::unique_ptr<ExecutorSet>> Make();
  void DropSet() { set_.reset(); }

  // To be changed before the set is made.
  ProfileConfig config;
  ExecutorSetOptions options;

 private:
  TemporaryFolder workspace_;
  TemporaryFolder scratch_;
  std::unique_ptr<ExecutorSet> set_;
};

// Whether `path` exists.
[[nodiscard]] bool Exists(const std::string& path);

// How many processes of this host have `mark` in their command line.
[[nodiscard]] int ProcessesWith(const std::string& mark);

// Waits until the pipe or file behind `fd` has said `text`, at most kDeadline.
[[nodiscard]] bool ReadUntil(int fd, const std::string& text);

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_EXECUTOR_TESTING_H_
