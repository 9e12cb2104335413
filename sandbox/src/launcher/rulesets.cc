#include "launcher/rulesets.h"

#include <linux/prctl.h>
#include <linux/signal.h>

#include "launcher/message.h"
#include "launcher/process_state.h"

namespace cordon::launcher {
namespace {

constexpr int kAnswer = 3;

// What a message of the process that makes a ruleset brings: objects to be held, or, as the last
// one, the ruleset.
enum class Brought : char { kHeld = 1, kRuleset = 2 };

// In few messages, since only some ten can wait to be received.
int BringAll(const HeldObjects& held) {
  constexpr Brought kKind = Brought::kHeld;
  int descriptors[kMaxDescriptors];
  int count = 0;
  for (int i = 0; i < held.count; ++i) {
    descriptors[count++] = held.all[i].get();
    if (count < kMaxDescriptors && i + 1 < held.count) continue;
    const int error = SendAll(kAnswer, &kKind, sizeof(kKind), descriptors, count);
    if (error != 0) return error;
    count = 0;
  }
  return 0;
}

}  // namespace

int Rulesets::For(std::uint32_t plan_id, const Plan& plan) {
  Slot* slot = Find(plan_id);
  if (slot == nullptr) {
    slot = &Room();
    slot->plan_id = plan_id;
    Begin(*slot, plan);
  }
  slot->used_at = NowMicroseconds();
  while (slot->state == State::kBeingMade && IsReadable(slot->answer.get())) LookForAnswer(*slot);
  return slot->state == State::kReady ? slot->ruleset.get() : -1;
}

void Rulesets::Forget(std::uint32_t plan_id) {
  if (Slot* slot = Find(plan_id)) *slot = {};
}

bool Rulesets::empty() const {
  for (const Slot& slot : slots_) {
    if (slot.state != State::kNone) return false;
  }
  return true;
}

void Rulesets::ForgetIdle() {
  const std::uint64_t now = NowMicroseconds();
  for (Slot& slot : slots_) {
    const bool is_idle = now - slot.used_at >= std::uint64_t{kIdleSeconds} * 1'000'000;
    if (slot.state != State::kNone && is_idle) slot = {};
  }
}

Rulesets::Slot* Rulesets::Find(std::uint32_t plan_id) {
  for (Slot& slot : slots_) {
    if (slot.state != State::kNone && slot.plan_id == plan_id) return &slot;
  }
  return nullptr;
}

Rulesets::Slot& Rulesets::Room() {
  Slot* oldest = &slots_[0];
  for (Slot& slot : slots_) {
    if (slot.state == State::kNone) return slot;
    if (slot.used_at < oldest->used_at) oldest = &slot;
  }
  *oldest = {};
  return *oldest;
}

void Rulesets::Begin(Slot& slot, const Plan& plan) const {
  slot.state = State::kRefused;
  Fd theirs;
  if (MakeSocketPair(&slot.answer, &theirs) != 0) return;
  // A place on a file system that does not answer holds up this process alone.
  const long maker = Call(__NR_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (maker == 0) Make(plan, theirs.get());
  if (maker > 0) slot.state = State::kBeingMade;
}

void Rulesets::Make(const Plan& plan, int answer) const {
  Call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (IsReadable(launcher_.get()) || MakeDescriptor(answer, kAnswer) != 0) Exit(1);
  CloseFrom(kAnswer + 1);
  HeldObjects held;
  Fd ruleset;
  if (!MakeRuleset(plan, &held, &ruleset).ok() || BringAll(held) != 0) Exit(1);
  constexpr Brought kKind = Brought::kRuleset;
  Exit(Send(kAnswer, &kKind, sizeof(kKind), ruleset.get()));
}

void Rulesets::LookForAnswer(Slot& slot) {
  Brought kind = Brought::kHeld;
  Received received = Receive(slot.answer.get(), &kind, sizeof(kind));
  const bool is_whole = received.size == sizeof(kind) && received.descriptor_count > 0;
  const bool has_room = slot.held.count + received.descriptor_count <= HeldObjects::kMost;
  if (is_whole && has_room && kind == Brought::kHeld) {
    for (int i = 0; i < received.descriptor_count; ++i) {
      slot.held.all[slot.held.count++] = static_cast<Fd&&>(received.descriptors[i]);
    }
    return;
  }
  slot.answer = {};
  slot.state = State::kRefused;
  if (!is_whole || kind != Brought::kRuleset) return;
  slot.ruleset = static_cast<Fd&&>(received.descriptors[0]);
  slot.state = State::kReady;
}

}  // namespace cordon::launcher
