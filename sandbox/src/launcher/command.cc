#include "launcher/command.h"

#include <asm/ioctls.h>
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "launcher/exec.h"
#include "launcher/identity.h"
#include "launcher/landlock.h"
#include "launcher/latch.h"
#include "launcher/message.h"
#include "launcher/process_state.h"
#include "launcher/ready.h"
#include "launcher/seccomp.h"
#include "spawn_event.h"

namespace cordon::launcher {
namespace {

// Where the channel and the listener are kept until the command itself is executed, and where the
// listener is before that.
constexpr int kChannel = 3;
constexpr int kListener = 4;
constexpr int kAbove = 32;

alignas(16) char child_stack[64 * 1024];

}  // namespace

void CommandStart::Begin(const CallersPart& part) {
  // What stays when the child is killed before it gets further.
  result_.outcome = At(Step::kInit, ECHILD);
  child_ = CloneOnStack(CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD,
                        child_stack + sizeof(child_stack), RunChild, this, gone_.word());
  if (child_ < 0) return;
  own_ = part.enter_view(spawn_);
  has_failed_ = !own_.ok();
  in_view_.Open();
  if (own_.ok()) own_ = part.finish(spawn_);
  has_failed_ = !own_.ok();
  finished_.Open();
}

StartedCommand CommandStart::Await() {
  if (child_ < 0) return {At(Step::kInit, ErrorOf(child_))};
  gone_.Await();
  result_.pid = static_cast<int>(child_);
  if (!own_.ok()) result_.outcome = own_;
  if (!result_.outcome.ok()) Call(__NR_wait4, child_, nullptr, 0, nullptr);
  return result_;
}

void CommandStart::Kill() const {
  if (child_ > 0) Call(__NR_kill, child_, SIGKILL);
}

void CommandStart::RunChild(void* argument) {
  CommandStart& start = *static_cast<CommandStart*>(argument);
  Outcome outcome = start.Confine();
  const bool has_waited = start.spawn_.command.header == nullptr;
  if (outcome.ok() && has_waited) {
    start.AwaitCaller(start.finished_);
    outcome = start.WaitForCommand();
  }
  if (outcome.ok() && !has_waited) outcome = At(Step::kInit, start.EnterSession());
  start.result_.started_microseconds = NowMicroseconds();
  start.result_.outcome = outcome;
  if (outcome.ok()) start.result_.outcome = start.BecomeCommand();
  Exit(1);
}

// What takes rights away for good. None of the steps after it needs them.
Outcome CommandStart::Confine() {
  const wire::PlanHeader& plan = *spawn_.plan.header;
  if (plan.confined != 0) {
    if (const int error = DropBoundingSet(plan.namespaces != 0)) {
      return At(Step::kCapabilities, error);
    }
    if (Outcome o = GiveUpPrivileges(spawn_); !o.ok()) return o;
    if (const int error = EnterSeccomp(spawn_.plan)) return At(Step::kSeccomp, error);
    if (const int error = EnterObservationEarly()) return At(Step::kSeccomp, error);
  }
  const bool can_begin = plan.confined != 0 && spawn_.view_copy >= 0;
  Fd ruleset;
  if (can_begin) {
    Outcome o = BeginRuleset(spawn_.plan, spawn_.view->roles, spawn_.view_copy, &ruleset);
    if (!o.ok()) return o;
  }
  AwaitCaller(in_view_);
  if (plan.confined == 0) return {};
  const MadeRuleset made = can_begin ? MadeRuleset{ruleset.get(), spawn_.view->roles}
                                     : MadeRuleset{spawn_.ruleset, nullptr};
  return EnterLandlock(spawn_.plan, spawn_.command, made);
}

// One that has its command hands the listener over now, when it has to wait for its caller anyway:
// none of its calls is observed before it is that command.
int CommandStart::EnterObservationEarly() {
  if (!IsToBeObserved() || spawn_.plan.header->observes_early == 0) return 0;
  if (const int error = EnterObservationAt(kAbove)) return error;
  return spawn_.command.header == nullptr ? 0 : GiveListenerAway();
}

int CommandStart::GiveListenerAway() {
  if (const int error = HandOverListener(spawn_.channel)) return error;
  if (listener_ >= 0) Call(__NR_close, listener_);
  listener_ = -ENOSYS;
  spawn_.listener_is_given = true;
  return 0;
}

int CommandStart::EnterSession() const {
  Call(__NR_umask, spawn_.file_mode_mask);
  return ErrorOf(Call(__NR_setsid));
}

// Nothing that it does until the command has come is observed, and what it does then is answered as
// the command's calls are.
Outcome CommandStart::WaitForCommand() {
  if (const int error = EnterSession()) return At(Step::kInit, error);
  if (const int error = ReportReady(&spawn_)) return At(Step::kInit, error);
  if (spawn_.plan.header->observes_last != 0) return AwaitCommand(&spawn_);
  if (const int error = GiveListenerAway()) return At(Step::kSeccomp, error);
  return AwaitCommand(&spawn_);
}

Outcome CommandStart::BecomeCommand() {
  if (const int error = MoveDescriptors()) return At(Step::kInit, error);
  if (spawn_.command.header->terminal_rows != 0) {
    const int error = ErrorOf(Call(__NR_ioctl, 0, TIOCSCTTY, 0));
    if (error != 0) return At(Step::kInit, error);
  }
  const char* folder = spawn_.command.Text(spawn_.command.header->working_directory);
  if (const int error = ErrorOf(Call(__NR_chdir, folder))) {
    return At(Step::kWorkingDirectory, error, folder);
  }
  if (const int error = SetLimits(spawn_.plan)) return At(Step::kLimits, error);
  UnblockAllSignals();
  AwaitCaller(finished_);
  if (const int error = HandOverListener(kChannel)) return At(Step::kSeccomp, error);
  return At(Step::kExec, Execute(spawn_.command));
}

// Whether a listener is still to be handed over.
bool CommandStart::IsToBeObserved() const {
  const wire::PlanHeader& plan = *spawn_.plan.header;
  return plan.confined != 0 && plan.observer.size != 0 && !spawn_.listener_is_given;
}

// Its listener is not below `lowest`. Returns an errno where the command must not run without it.
int CommandStart::EnterObservationAt(int lowest) {
  const Fd listener = EnterObservation(spawn_.plan);
  listener_ = listener.ok() ? Call(__NR_fcntl, listener.get(), kDuplicateCloexec, lowest)
                            : -listener.error();
  return spawn_.plan.header->must_observe != 0 ? ErrorOf(listener_) : 0;
}

int CommandStart::MoveDescriptors() {
  for (int i = 0; i < 3; ++i) {
    if (const int error = MakeDescriptor(spawn_.standard[i], i)) return error;
  }
  if (!IsToBeObserved()) {
    CloseFrom(3);
    return 0;
  }
  const int error = ErrorOf(Call(__NR_dup3, spawn_.channel, kChannel, O_CLOEXEC));
  // The library never hands over one that lies there already.
  if (error != 0) return error;
  if (listener_ < 0) {
    CloseFrom(kChannel + 1);
    return 0;
  }
  listener_ = Call(__NR_dup3, listener_, kListener, O_CLOEXEC);
  CloseFrom(kListener + 1);
  return ErrorOf(listener_);
}

// What the host does not get it need not see, unless the listener is a part of the confinement.
int CommandStart::HandOverListener(int channel) {
  if (!IsToBeObserved()) return 0;
  if (spawn_.plan.header->observes_early == 0) {
    if (const int error = EnterObservationAt(kListener)) return error;
  }
  internal::SpawnEvent event;
  event.kind = listener_ >= 0 ? internal::SpawnEvent::Kind::kObserved
                              : internal::SpawnEvent::Kind::kUnobserved;
  event.error_number = ErrorOf(listener_);
  return Send(channel, &event, sizeof(event), static_cast<int>(listener_));
}

void CommandStart::AwaitCaller(const Latch& latch) const {
  latch.Await();
  if (has_failed_) Exit(1);
}

Outcome GiveUpPrivileges(const Spawn& spawn) {
  if (spawn.plan.header->confined == 0) return {};
  if (const int error = DropCapabilities()) return At(Step::kCapabilities, error);
  return At(Step::kNoNewPrivileges, SetNoNewPrivileges());
}

}  // namespace cordon::launcher
