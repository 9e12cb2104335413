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

// Of both processes: the child shares the memory until it executes the command, but not the
// descriptors, so nothing in here owns one.
struct Start {
  Spawn* spawn = nullptr;
  StartedCommand result;  // The child's.
  Latch in_view;          // Both opened by the caller.
  Latch finished;
  bool has_failed = false;  // In what opens one of them.
  Latch gone;               // Opened by the kernel.
  long listener = -ENOSYS;  // The child's, once it is observed, or a negated errno.
};

// Where the channel and the listener are kept until the command itself is executed, and where the
// listener is before that.
constexpr int kChannel = 3;
constexpr int kListener = 4;
constexpr int kAbove = 32;

// Whether a listener is still to be handed over.
bool IsToBeObserved(const Spawn& spawn) {
  return spawn.plan.header->confined != 0 && spawn.plan.header->observer.size != 0 &&
         !spawn.listener_is_given;
}

// Its listener is not below `lowest`. Returns an errno where the command must not run without it.
int EnterObservationAt(int lowest, Start& start) {
  const Fd listener = EnterObservation(start.spawn->plan);
  start.listener = listener.ok() ? Call(__NR_fcntl, listener.get(), kDuplicateCloexec, lowest)
                                 : -listener.error();
  return start.spawn->plan.header->must_observe != 0 ? ErrorOf(start.listener) : 0;
}

int MoveDescriptors(Start& start) {
  const Spawn& spawn = *start.spawn;
  for (int i = 0; i < 3; ++i) {
    if (const int error = MakeDescriptor(spawn.standard[i], i)) return error;
  }
  if (!IsToBeObserved(spawn)) {
    CloseFrom(3);
    return 0;
  }
  const int error = ErrorOf(Call(__NR_dup3, spawn.channel, kChannel, O_CLOEXEC));
  // The library never hands over one that lies there already.
  if (error != 0) return error;
  if (start.listener < 0) {
    CloseFrom(kChannel + 1);
    return 0;
  }
  start.listener = Call(__NR_dup3, start.listener, kListener, O_CLOEXEC);
  CloseFrom(kListener + 1);
  return ErrorOf(start.listener);
}

// What the host does not get it need not see, unless the listener is a part of the confinement.
int HandOverListener(Start& start, int channel) {
  const Spawn& spawn = *start.spawn;
  if (!IsToBeObserved(spawn)) return 0;
  if (spawn.plan.header->observes_early == 0) {
    if (const int error = EnterObservationAt(kListener, start)) return error;
  }
  internal::SpawnEvent event;
  event.kind = start.listener >= 0 ? internal::SpawnEvent::Kind::kObserved
                                   : internal::SpawnEvent::Kind::kUnobserved;
  event.error_number = ErrorOf(start.listener);
  return Send(channel, &event, sizeof(event), static_cast<int>(start.listener));
}

int EnterSession(const Command& command) {
  if (const int error = ErrorOf(Call(__NR_setsid))) return error;
  if (command.header->terminal_rows == 0) return 0;
  return ErrorOf(Call(__NR_ioctl, 0, TIOCSCTTY, 0));
}

void AwaitCaller(const Start& start, const Latch& latch) {
  latch.Await();
  if (start.has_failed) Exit(1);
}

// What takes rights away for good. None of the steps after it needs them.
Outcome Confine(Start& start) {
  const Spawn& spawn = *start.spawn;
  const bool confined = spawn.plan.header->confined != 0;
  if (confined) {
    const bool must = spawn.plan.header->namespaces != 0;
    if (const int error = DropBoundingSet(must)) return At(Step::kCapabilities, error);
    if (Outcome o = GiveUpPrivileges(spawn); !o.ok()) return o;
    if (const int error = EnterSeccomp(spawn.plan)) return At(Step::kSeccomp, error);
    if (IsToBeObserved(spawn) && spawn.plan.header->observes_early != 0) {
      if (const int error = EnterObservationAt(kAbove, start)) return At(Step::kSeccomp, error);
    }
  }
  AwaitCaller(start, start.in_view);
  return confined ? EnterLandlock(spawn.plan, spawn.command, spawn.ruleset) : Outcome();
}

Outcome BecomeCommand(Start& start) {
  const Spawn& spawn = *start.spawn;
  if (const int error = MoveDescriptors(start)) return At(Step::kInit, error);
  if (const int error = EnterSession(spawn.command)) return At(Step::kInit, error);
  Call(__NR_umask, spawn.file_mode_mask);
  const char* folder = spawn.command.Text(spawn.command.header->working_directory);
  if (const int error = ErrorOf(Call(__NR_chdir, folder))) {
    return At(Step::kWorkingDirectory, error, folder);
  }
  if (const int error = SetLimits(spawn.plan)) return At(Step::kLimits, error);
  UnblockAllSignals();
  AwaitCaller(start, start.finished);
  if (const int error = HandOverListener(start, kChannel)) return At(Step::kSeccomp, error);
  return At(Step::kExec, Execute(spawn.command));
}

// Nothing that it does until the command has come is observed, and what it does then is answered as
// the command's calls are.
Outcome WaitForCommand(Start& start) {
  Spawn* spawn = start.spawn;
  if (const int error = ReportReady(spawn)) return At(Step::kInit, error);
  if (spawn->plan.header->observes_last != 0) return AwaitCommand(spawn);
  if (const int error = HandOverListener(start, spawn->channel)) return At(Step::kSeccomp, error);
  if (start.listener >= 0) Call(__NR_close, start.listener);
  start.listener = -ENOSYS;
  spawn->listener_is_given = true;
  return AwaitCommand(spawn);
}

void RunChild(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  Outcome outcome = Confine(start);
  if (outcome.ok() && start.spawn->command.header == nullptr) {
    AwaitCaller(start, start.finished);
    outcome = WaitForCommand(start);
  }
  start.result.started_microseconds = NowMicroseconds();
  start.result.outcome = outcome;
  if (outcome.ok()) start.result.outcome = BecomeCommand(start);
  Exit(1);
}

alignas(16) char child_stack[64 * 1024];

}  // namespace

StartedCommand StartCommand(Spawn& spawn, const CallersPart& part) {
  Start start;
  start.spawn = &spawn;
  // What stays when the child is killed before it gets further.
  start.result.outcome = At(Step::kInit, ECHILD);
  const long child =
      CloneOnStack(CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, child_stack + sizeof(child_stack),
                   RunChild, &start, start.gone.word());
  if (child < 0) return {At(Step::kInit, ErrorOf(child))};
  Outcome own = part.enter_view(spawn);
  start.has_failed = !own.ok();
  start.in_view.Open();
  if (own.ok()) own = part.finish(spawn);
  start.has_failed = !own.ok();
  start.finished.Open();
  start.gone.Await();
  start.result.pid = static_cast<int>(child);
  if (!own.ok()) start.result.outcome = own;
  if (!start.result.outcome.ok()) Call(__NR_wait4, child, nullptr, 0, nullptr);
  return start.result;
}

Outcome GiveUpPrivileges(const Spawn& spawn) {
  if (spawn.plan.header->confined == 0) return {};
  if (const int error = DropCapabilities()) return At(Step::kCapabilities, error);
  return At(Step::kNoNewPrivileges, SetNoNewPrivileges());
}

}  // namespace cordon::launcher
