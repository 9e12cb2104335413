#include "execution.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/status.h"
#include "descriptor_message.h"

namespace cordon::internal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryPatience = std::chrono::seconds(1);

// glibc 2.36 is the first with a wrapper.
void SendSignal(int pidfd, int signal) {
  (void)syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

}  // namespace

Execution::Execution(SpawnedSandbox spawned, ExecutionContext context)
    : spawned_(std::move(spawned)),
      end_patience_(context.end_patience),
      context_(std::move(context)) {
  if (context_.tree != nullptr) context_.tree->Begin(exit_fd());
}

Execution::~Execution() { (void)Close(); }

absl::Status Execution::AwaitStart() {
  pollfd descriptors[] = {{channel_fd(), POLLIN, 0}, {exit_fd(), POLLIN, 0}};
  while (true) {
    (void)PollUntil(absl::MakeSpan(descriptors), SteadyTime::max());
    const std::lock_guard lock(mutex_);
    // Asked first: what a tree that has ended said before is there to be read then.
    const bool is_over = ReadableNow(exit_fd());
    ReadEventsLocked();
    if (history_.failed.has_value()) return SetupFailure(history_, CountLocked());
    if (history_.started.has_value()) return absl::OkStatus();
    if (is_over) return SetupFailure(history_, CountLocked());
    // Shut down from the other side, and the proof of the end is on its way.
    if (!channel_open_) descriptors[0].fd = -1;
  }
}

UniqueFd Execution::MakeEndFd() {
  const std::lock_guard lock(mutex_);
  if (context_.plan.cgroup != nullptr) return UniqueFd();  // See `OnEventLocked`.
  end_event_.Reset(eventfd(nothing_left_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (nothing_left_ || !end_event_.valid()) return std::move(end_event_);
  const SpawnControl control;
  const int descriptors[] = {end_event_.get()};
  const std::string_view bytes(reinterpret_cast<const char*>(&control), sizeof control);
  // When it ends meanwhile there is still the end of the first process.
  if (SendMessage(channel_fd(), bytes, {}, descriptors) != 0) return UniqueFd();
  return EitherReadable(end_event_.get(), exit_fd());
}

bool Execution::ReadEvents() {
  const std::lock_guard lock(mutex_);
  ReadEventsLocked();
  return channel_open_;
}

void Execution::ReadEventsLocked() {
  for (SaidEvent& said : std::exchange(spawned_.said, {})) {
    OnEventLocked(said.event, std::move(said.attached));
  }
  while (channel_open_) {
    SpawnEvent event;
    UniqueFd attached;
    const ssize_t size =
        ReceiveMessage(channel_fd(), &event, sizeof event, &attached, MSG_DONTWAIT);
    // Once, before what the first process said, when it ended without having read all that it was
    // sent.
    if (size < 0 && errno == ECONNRESET) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size != sizeof event) {
      channel_open_ = false;
      return;
    }
    OnEventLocked(event, std::move(attached));
  }
}

void Execution::OnEventLocked(const SpawnEvent& event, UniqueFd attached) {
  switch (event.kind) {
    case SpawnEvent::Kind::kStarted:
      history_.started = std::chrono::steady_clock::now();
      if (on_start_) on_start_();
      return;
    case SpawnEvent::Kind::kFailed:
      // What was seen first is the cause.
      if (!history_.failed.has_value()) history_.failed = event;
      return;
    case SpawnEvent::Kind::kEnded:
      history_.ended = event;
      channel_open_ = false;  // Nothing follows.
      // A cgroup cannot be removed while there is a process in it.
      nothing_left_ = event.nothing_left != 0 && context_.plan.cgroup == nullptr;
      return;
    case SpawnEvent::Kind::kReady:
      return;  // Said before there is an execution.
    case SpawnEvent::Kind::kObserved:
    case SpawnEvent::Kind::kUnobserved:
      return ObserveLocked(event, std::move(attached));
    case SpawnEvent::Kind::kTerminal:
      if (!attached.valid()) GiveUpLocked(Step::kTerminal, EMFILE);
      terminal_ = std::move(attached);
      return;
  }
}

// Without a listener the command runs unobserved. Where it has one and nobody can serve it, none of
// its calls would ever go on.
void Execution::ObserveLocked(const SpawnEvent& event, UniqueFd listener) {
  int error = event.error_number;
  if (event.kind == SpawnEvent::Kind::kObserved) {
    absl::StatusOr<std::unique_ptr<ObserverWatch>> watch = MakeErrnoError(EMFILE, "no descriptor");
    if (listener.valid() && context_.handler != nullptr) {
      watch = context_.observer->Watch(std::move(listener), context_.handler);
    }
    if (watch.ok()) {
      watch_ = *std::move(watch);
      return;
    }
    error = ErrorOf(watch.status()).value_or(Error{}).error_number;
    GiveUpLocked(Step::kSeccomp, error);
  }
  unobserved_ = UnobservedEntry(error);
  const bool is_led = context_.network != nullptr && context_.network->door() != nullptr;
  if (is_led) absl::StrAppend(&unobserved_->detail, "; and no target can be reached");
}

// What the set-up needs cannot be had here, so that it would never end.
void Execution::GiveUpLocked(Step step, int error_number) {
  history_.failed = SpawnEvent();
  history_.failed->step = step;
  history_.failed->error_number = error_number;
  DestroyLocked();
}

UniqueFd Execution::TakeTerminal() {
  const std::lock_guard lock(mutex_);
  return std::move(terminal_);
}

bool Execution::IsSettled() const {
  const std::lock_guard lock(mutex_);
  return settled_.has_value();
}

std::optional<SteadyTime> Execution::started() const {
  const std::lock_guard lock(mutex_);
  return history_.started;
}

bool Execution::IsOver() const { return nothing_left_ || ReadableNow(exit_fd()); }

bool Execution::has_ended() const {
  const std::lock_guard lock(mutex_);
  return history_.ended.has_value();
}

void Execution::EndingAs(Outcome::Kind kind) {
  const std::lock_guard lock(mutex_);
  ReadEventsLocked();
  if (history_.ended.has_value() || ReadableNow(exit_fd())) return;
  if (!history_.ending_as.has_value()) history_.ending_as = kind;
}

void Execution::SendControl(const SpawnControl& control) {
  const ssize_t sent = send(channel_fd(), &control, sizeof control, MSG_NOSIGNAL | MSG_DONTWAIT);
  // A queue that is full means that nobody takes orders any more. After the end it is no error.
  if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) Destroy();
}

void Execution::Interrupt() { SendControl({SIGINT, 0}); }

void Execution::Terminate() {
  if (terminated_.exchange(true)) return;
  SendControl({SIGTERM, static_cast<std::uint32_t>(Process::kGrace.count())});
}

void Execution::Kill() { SendControl({SIGKILL, 0}); }

void Execution::Destroy() {
  const std::lock_guard lock(mutex_);
  DestroyLocked();
}

void Execution::DestroyLocked() {
  history_.destroyed = true;
  // Elsewhere the first process is the one that ends the others: it must be able to.
  const bool dies_with_it = context_.report.lifetime == LifetimeContainment::kEnforced;
  SendSignal(exit_fd(), dies_with_it ? SIGKILL : SIGCONT);
  // Unlike a close, this reaches pid 1 also when a forked copy of this program holds the socket.
  (void)shutdown(channel_fd(), SHUT_WR);
}

bool Execution::IsOverUntil(SteadyTime deadline) {
  while (true) {
    const bool more = ReadEvents();
    if (IsOver()) return true;
    // What another thread takes in meanwhile is followed by the end of the first process.
    pollfd descriptors[] = {{exit_fd(), POLLIN, 0}, {more ? channel_fd() : -1, POLLIN, 0}};
    if (!PollUntil(absl::MakeSpan(descriptors), deadline)) return false;
  }
}

absl::StatusOr<RunResult> Execution::Wait(SteadyTime deadline) {
  if (!IsOverUntil(deadline)) return MakeError(ErrorCode::kTimeLimit, "the command still runs");
  const std::lock_guard lock(mutex_);
  if (!settled_.has_value()) SettleLocked();
  return *settled_;
}

absl::Status Execution::Close() {
  if (IsSettled()) return absl::OkStatus();
  EndingAs(Outcome::Kind::kCancelled);
  Destroy();
  // What did not end for that long is not waited for as long again.
  const milliseconds patience =
      is_quarantined() ? std::min(end_patience_, kRetryPatience) : end_patience_;
  const absl::StatusOr<RunResult> result = Wait(std::chrono::steady_clock::now() + patience);
  if (!Is(result.status(), ErrorCode::kTimeLimit)) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  QuarantineLocked();
  return MakeError(ErrorCode::kInternal,
                   "the end of a command's process tree cannot be proved; close again to retry");
}

RunResult Execution::Quarantine() {
  const std::lock_guard lock(mutex_);
  QuarantineLocked();
  RunResult result = KnownLocked();
  MarkUnproved(result);
  return result;
}

void Execution::Retry() {
  Destroy();
  if (IsOver()) (void)Wait(SteadyTime::max());
}

void Execution::QuarantineLocked() {
  if (quarantined_.exchange(true) || context_.log == nullptr) return;
  (void)context_.log->Append({"quarantined", context_.execution_id, {}});
}

// Nothing where it has no cgroup of its own.
TreeCount Execution::CountLocked() const {
  return context_.plan.cgroup == nullptr ? TreeCount() : context_.plan.cgroup->Count();
}

bool Execution::IsProvedByCgroupLocked() const {
  return context_.plan.cgroup != nullptr && context_.plan.cgroup->End();
}

RunResult Execution::KnownLocked() const {
  RunResult result;
  result.execution_id = context_.execution_id;
  result.outcome = OutcomeOf(history_, CountLocked());
  result.left_running = history_.ended.has_value() && history_.ended->left_running != 0;
  result.grants = context_.grants;
  result.report = context_.report;
  return result;
}

absl::StatusOr<RunResult> Execution::ResultLocked() {
  RunResult result = KnownLocked();
  TidyLocked(result);
  if (history_.is_set_up_failure()) return SetupFailure(history_, CountLocked());
  // A supervisor that is no pid 1 and gave no last word was killed before it had ended the others.
  const bool dies_with_it = context_.report.lifetime == LifetimeContainment::kEnforced;
  if (!dies_with_it && !history_.ended.has_value() && !IsProvedByCgroupLocked()) {
    MarkUnproved(result);
  }
  const std::optional<ReportEntry> limit = LimitEntry(history_, CountLocked());
  if (limit.has_value()) result.report.entries.push_back(*limit);
  TakeNetworkLocked(result);
  CollectDenialsLocked(result);
  return result;
}

void Execution::SettleLocked() {
  ReadEventsLocked();
  settled_ = ResultLocked();
  if (context_.log != nullptr) {
    // The command has ended whether or not that can be written down.
    (void)context_.log->Append(ExitRecord(context_.execution_id, *settled_));
  }
  watch_.reset();
  terminal_.Reset();
  context_.handler.reset();
  context_.tree.reset();
  context_.observation.reset();
  context_.plan = {};
  context_.network.reset();
  if (on_end_) on_end_();
}

void Execution::TidyLocked(RunResult& result) {
  result.changed_protected = context_.plan.ChangedProtected();
  if (context_.names == nullptr) return spawned_.run.Tidied();
  for (std::string& path : context_.names->UndoTakenOver()) {
    result.changed_protected.push_back(std::move(path));
  }
  context_.names->Finish(std::move(spawned_.run), context_.plan.registered);
}

void Execution::TakeNetworkLocked(RunResult& result) {
  if (context_.network == nullptr) return;
  CommandNetwork::Summary summary = context_.network->Finish();
  result.denials = std::move(summary.denials);
  for (const NetworkTarget& target : summary.approved) {
    result.grants.push_back(
        {GrantClass::kNetworkTarget, absl::StrCat("tcp:", NetworkTargetText(target))});
  }
  result.report.entries.insert(result.report.entries.end(), summary.entries.begin(),
                               summary.entries.end());
}

void Execution::CollectDenialsLocked(RunResult& result) {
  if (unobserved_.has_value()) result.report.entries.push_back(*unobserved_);
  if (context_.observation == nullptr) return;
  // What the proxy has seen it has counted.
  const std::vector<Denial> proxied = result.denials;
  for (Denial& denial : context_.observation->Denials()) {
    const auto is_same = [&denial](const Denial& other) {
      return other.kind == denial.kind && other.target == denial.target;
    };
    if (std::none_of(proxied.begin(), proxied.end(), is_same)) {
      result.denials.push_back(std::move(denial));
    }
  }
  const std::optional<ReportEntry> gap = context_.observation->Gap();
  if (gap.has_value()) result.report.entries.push_back(*gap);
}

}  // namespace cordon::internal
