#include "ready_sandboxes.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "cordon/sdk/status.h"
#include "deadline_poll.h"
#include "descriptor_message.h"
#include "launcher_protocol.h"
#include "plan_wire.h"

namespace cordon::internal {
namespace {

// Half of the time after which it ends by itself, so that no command is sent to one that does.
constexpr std::chrono::seconds kUsable{kReadySandboxSeconds / 2};
// For one that is being made. A new one would take as long.
constexpr std::chrono::seconds kPatience{5};

// The pidfd of its pid 1, once it is complete.
absl::StatusOr<UniqueFd> AwaitReady(int channel) {
  SpawnEvent event;
  UniqueFd pidfd;
  event.step = Step::kInit;
  event.error_number = ETIMEDOUT;
  if (ReadableUntil(channel, std::chrono::steady_clock::now() + kPatience)) {
    const ssize_t size = ReceiveMessage(channel, &event, sizeof(event), &pidfd);
    const bool is_ready = size == sizeof(event) && event.kind == SpawnEvent::Kind::kReady;
    if (is_ready && pidfd.valid()) return pidfd;
    if (size != sizeof(event) || is_ready) event.error_number = EPIPE;
  }
  return MakeSetupFailure(StepName(event.step), event.error_number, "cannot make a sandbox");
}

// False when it cannot be passed on like this.
bool HandOver(int channel, const std::string& block, std::vector<int> descriptors) {
  SpawnCommand head;
  std::string_view more;
  UniqueFd file;
  if (block.size() <= kMaxInlineBytes) {
    head.inline_bytes = static_cast<std::uint32_t>(block.size());
    more = block;
  } else {
    absl::StatusOr<UniqueFd> made = MemoryFile(block);
    if (!made.ok()) return false;
    file = *std::move(made);
    descriptors.push_back(file.get());
  }
  const std::string_view bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  return SendMessage(channel, bytes, more, descriptors) == 0;
}

}  // namespace

ReadySandboxes::ReadySandboxes(std::shared_ptr<Launcher> launcher, SandboxPlan plan,
                               std::size_t count, std::shared_ptr<CommandCgroups> cgroups)
    : launcher_(std::move(launcher)),
      plan_(std::move(plan)),
      count_(count),
      cgroups_(std::move(cgroups)) {}

std::optional<StartedInReady> ReadySandboxes::Start(const CommandPlan& command, int standard_input,
                                                    int standard_output, int standard_error,
                                                    const Network& network) {
  const absl::StatusOr<std::string> block = EncodeCommand(command);
  if (!block.ok() || !command.extra_view.empty() || !command.extra_landlock_rules.empty() ||
      command.terminal_rows != 0) {
    return std::nullopt;
  }
  while (std::optional<Waiting> one = Take(network)) {
    if (!one->pidfd.valid()) {
      absl::StatusOr<UniqueFd> pidfd = AwaitReady(one->channel.get());
      if (!pidfd.ok()) continue;
      one->pidfd = *std::move(pidfd);
    }
    one->run.Begin();
    if (!HandOver(one->channel.get(), *block, {standard_input, standard_output, standard_error})) {
      one->run.Tidied();
      continue;
    }
    return StartedInReady{
        {std::move(one->pidfd), std::move(one->channel), std::move(one->run), std::move(one->said)},
        std::move(one->plan),
        std::move(one->cgroup)};
  }
  return std::nullopt;
}

std::deque<ReadySandboxes::Waiting>::iterator ReadySandboxes::FindLocked(const Network& network) {
  // Whether it is the very same object, or for both none.
  const auto is_there = [&network](const Waiting& waiting) {
    return !waiting.network.owner_before(network) && !network.owner_before(waiting.network);
  };
  return std::find_if(waiting_.begin(), waiting_.end(), is_there);
}

std::optional<ReadySandboxes::Waiting> ReadySandboxes::Take(const Network& network) {
  const std::lock_guard lock(mutex_);
  const auto found = FindLocked(network);
  if (found == waiting_.end()) return std::nullopt;
  if (!sources_->StillHold(checked_)) {
    UnpinLocked();
    return std::nullopt;
  }
  Waiting one = std::move(*found);
  waiting_.erase(found);
  if (std::chrono::steady_clock::now() - one.since > kUsable) {
    waiting_.clear();  // The others are not much younger.
    return std::nullopt;
  }
  return one;
}

absl::Status ReadySandboxes::Begin(const Network& network) {
  const std::lock_guard lock(mutex_);
  return BeginLocked(network);
}

absl::Status ReadySandboxes::BeginLocked(const Network& network) {
  if (closed_) return MakeError(ErrorCode::kClosed, "the executor is closed");
  return MakeOneLocked(network, false);
}

absl::Status ReadySandboxes::Prove(const Network& network) {
  const std::lock_guard lock(mutex_);
  auto one = FindLocked(network);
  if (one == waiting_.end()) {
    absl::Status made = BeginLocked(network);
    if (!made.ok()) return made;
    one = std::prev(waiting_.end());
  }
  if (one->pidfd.valid()) return absl::OkStatus();
  absl::StatusOr<UniqueFd> pidfd = AwaitReady(one->channel.get());
  if (!pidfd.ok()) {
    waiting_.erase(one);
    return pidfd.status();
  }
  one->pidfd = *std::move(pidfd);
  return absl::OkStatus();
}

void ReadySandboxes::RefillIfFew() {
  {
    const std::lock_guard lock(mutex_);
    HearWaitingLocked();
  }
  if (AreFew()) Refill();
}

bool ReadySandboxes::AreFew() {
  const std::lock_guard lock(mutex_);
  return 2 * waiting_.size() < count_;
}

void ReadySandboxes::HearWaitingLocked() {
  for (Waiting& one : waiting_) {
    if (!one.pidfd.valid() && ReadableNow(one.channel.get())) {
      // One that failed says no more, and is given up when it is its turn.
      absl::StatusOr<UniqueFd> pidfd = AwaitReady(one.channel.get());
      if (pidfd.ok()) one.pidfd = *std::move(pidfd);
    }
    if (!one.pidfd.valid() || !one.said.empty() || !ReadableNow(one.channel.get())) continue;
    SaidEvent said;
    const ssize_t size =
        ReceiveMessage(one.channel.get(), &said.event, sizeof(said.event), &said.attached);
    if (size == sizeof(said.event)) one.said.push_back(std::move(said));
  }
}

void ReadySandboxes::Refill() {
  const std::lock_guard lock(mutex_);
  while (!closed_ && waiting_.size() < count_) {
    if (!MakeOneLocked(nullptr, true).ok()) return;
  }
}

std::shared_ptr<const RegisteredPlan> ReadySandboxes::TemplatePlan() {
  const std::lock_guard lock(mutex_);
  if (closed_) return nullptr;
  if (pinned_ != nullptr && !sources_->StillHold(checked_)) UnpinLocked();
  if (pause_ > 0) {
    --pause_;
    return nullptr;
  }
  if (pinned_ == nullptr && !PinLocked().ok()) return nullptr;
  ++asked_;
  return pinned_;
}

absl::Status ReadySandboxes::PinLocked() {
  SandboxPlan plan = plan_;
  sources_.emplace(plan);
  absl::StatusOr<std::shared_ptr<const RegisteredPlan>> pinned =
      RegisteredPlan::Create(launcher_, plan);
  if (!pinned.ok()) return pinned.status();
  pinned_ = *std::move(pinned);
  asked_ = 0;
  return absl::OkStatus();
}

void ReadySandboxes::UnpinLocked() {
  waiting_.clear();
  sources_.reset();
  pinned_.reset();
  next_pause_ = asked_ >= kWorthwhile ? kFirstPause : std::min(2 * next_pause_, kLongestPause);
  pause_ = next_pause_;
}

absl::Status ReadySandboxes::MakeOneLocked(const Network& network, bool from_template) {
  if (pinned_ == nullptr) {
    absl::Status pinned = PinLocked();
    if (!pinned.ok()) return pinned;
  }
  SpawnPlace place;
  if (network != nullptr) place.network = network->sandbox();
  if (from_template && cgroups_ == nullptr) place.template_plan = pinned_->id();
  std::shared_ptr<CommandCgroup> cgroup;
  if (cgroups_ != nullptr) {
    absl::StatusOr<std::shared_ptr<CommandCgroup>> made = cgroups_->Make();
    if (!made.ok()) return made.status();
    cgroup = *std::move(made);
    place.cgroup = cgroup->fd();
  }
  const auto now = std::chrono::steady_clock::now();
  absl::StatusOr<PreparedSandbox> one = launcher_->Prepare(pinned_->id(), place);
  if (!one.ok()) return one.status();
  waiting_.push_back({std::move(one->channel),
                      std::move(one->run),
                      network,
                      now,
                      {},
                      {},
                      pinned_,
                      std::move(cgroup)});
  return absl::OkStatus();
}

void ReadySandboxes::NoteChecked(CheckedFolders checked) {
  const std::lock_guard lock(mutex_);
  checked_ = std::move(checked);
}

void ReadySandboxes::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  waiting_.clear();
  sources_.reset();
  pinned_.reset();
}

}  // namespace cordon::internal
