#include "launcher/spawn.h"

#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "launcher/cgroup.h"
#include "launcher/command.h"
#include "launcher/identity.h"
#include "launcher/loopback.h"
#include "launcher/mount.h"
#include "launcher/network.h"
#include "launcher/process_limit.h"
#include "launcher/process_state.h"
#include "launcher/ready.h"
#include "launcher/supervisor.h"
#include "launcher/terminal.h"
#include "launcher/text.h"
#include "launcher/view.h"

namespace cordon::launcher {
namespace {

bool HasSpareNetwork(const Spawn& spawn) {
  return spawn.spare != nullptr && spawn.spare->network.ok();
}

// Whether the sandbox makes a network namespace of its own.
bool MakesNetwork(const Spawn& spawn) {
  return spawn.plan.header->host_network == 0 && spawn.network < 0 && !HasSpareNetwork(spawn);
}

unsigned long CloneFlags(const Spawn& spawn) {
  unsigned long flags = CLONE_PIDFD | SIGCHLD;
  if (spawn.plan.header->namespaces == 0) return flags;
  flags |= CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWCGROUP;
  if (spawn.spare == nullptr) flags |= CLONE_NEWIPC | CLONE_NEWUTS;
  return MakesNetwork(spawn) ? flags | CLONE_NEWNET : flags;
}

// From a copy of what all sandboxes of the plan share.
Outcome CompleteView(const Spawn& spawn, const Identity& identity) {
  View view(identity, ViewPart::kOwn, spawn.view->roles);
  if (const int error = view.BeginWith(spawn.view_copy)) return At(Step::kView, error);
  if (Outcome o = view.Perform(spawn.plan, spawn.plan.header->view); !o.ok()) return o;
  if (const int error = view.Finish()) return At(Step::kView, error);
  return At(Step::kPivot, view.Enter());
}

Outcome BuildView(const Spawn& spawn, const Identity& identity) {
  View view(identity);
  if (const int error = view.Begin()) return At(Step::kView, error);
  if (Outcome o = view.Perform(spawn.plan, spawn.plan.header->view); !o.ok()) return o;
  if (const wire::CommandHeader* command = spawn.command.header) {
    if (Outcome o = view.Perform(spawn.command, command->extra_view); !o.ok()) return o;
  }
  if (const int error = view.Finish()) return At(Step::kView, error);
  return At(Step::kPivot, view.Enter());
}

// The ladder of the namespaces, in the order of the confinement, but for the view.
Outcome EnterNamespaces(const Spawn& spawn) {
  const wire::PlanHeader& plan = *spawn.plan.header;
  // The ids of before: inside, until they are mapped, everybody is nobody.
  if (const int error = WriteIdMaps(spawn.identity)) return At(Step::kIdMaps, error);
  if (spawn.cgroup >= 0) {
    // The one that it was made with starts at this program's cgroup, and names others.
    if (const int error = ErrorOf(Call(__NR_unshare, CLONE_NEWCGROUP))) {
      return At(Step::kNamespaces, error);
    }
  }
  if (MakesNetwork(spawn)) {
    if (const int error = RaiseLoopback()) return At(Step::kLoopback, error);
  }
  if (spawn.spare == nullptr) {
    const int error = SetHostName(spawn.plan.Text(plan.host_name));
    if (error != 0) return At(Step::kHostName, error);
  }
  return At(Step::kLimits, LimitProcesses(plan.process_limit));
}

// No path leads to anything of the host's after this but to what the plan shows.
Outcome EnterView(const Spawn& spawn) {
  if (spawn.plan.header->namespaces == 0) return {};
  if (spawn.view != nullptr) return CompleteView(spawn, spawn.identity);
  if (const int error = MakeAllPrivate()) return At(Step::kPropagation, error);
  return BuildView(spawn, spawn.identity);
}

// And nothing of the rest of it is there.
Outcome LeaveHost(const Spawn& spawn) {
  if (spawn.plan.header->namespaces != 0) {
    if (const int error = LeaveOldRoot()) return At(Step::kPivot, error);
  }
  return GiveUpPrivileges(spawn);
}

Outcome NothingMore(const Spawn&) { return {}; }

// What makes the first process a good parent of everything below it.
Outcome BecomeSupervisor(bool is_init, int launcher) {
  int error = ErrorOf(Call(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0));
  SetDisposition(SIGCHLD, Disposition::kDefault);
  if (error == 0 && is_init) {
    // Kept across the steps before, which change no identity, and not needed by a supervisor that
    // has to end its tree itself and watches the launcher for that.
    error = ErrorOf(Call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
  } else if (error == 0) {
    Call(__NR_setsid);
    error = ErrorOf(Call(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
  }
  // It may have ended before that was set; its pid is not visible from a pid namespace.
  if (error == 0 && IsReadable(launcher)) Exit(1);
  return At(Step::kInit, error);
}

Outcome SetUp(const Spawn& spawn) {
  const wire::PlanHeader& plan = *spawn.plan.header;
  const bool namespaces = plan.namespaces != 0;
  if (namespaces) {
    if (Outcome o = EnterNamespaces(spawn); !o.ok()) return o;
  }
  if (plan.confined != 0 && !namespaces) {
    // Without it no descendant could be found and ended.
    const Fd own(Call(__NR_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC));
    if (!own.ok()) return At(Step::kInit, own.error(), "/proc");
  }
  return BecomeSupervisor(namespaces, spawn.launcher);
}

// For a command that has not come yet, or needs a terminal of the view, which stays open as
// `terminal`.
Outcome MakeViewFirst(Spawn& spawn, Fd* terminal) {
  if (Outcome o = EnterView(spawn); !o.ok()) return o;
  spawn.view_copy = -1;  // It is the root.
  if (spawn.command.header == nullptr) {
    HoldOnlyWhatWaitingNeeds(&spawn);
    return {};
  }
  if (Outcome o = MakeTerminal(spawn, terminal); !o.ok()) return o;
  for (int& standard : spawn.standard) standard = terminal->get();
  return {};
}

// Kept open across the view, in which there is none.
Fd OpenCpuTime(const Spawn& spawn) {
  if (spawn.cgroup < 0) return {};
  return Fd(Call(__NR_openat, spawn.cgroup, "cpu.stat", O_RDONLY | O_CLOEXEC));
}

[[noreturn]] void FailToStart(int channel, const Outcome& outcome) {
  ReportFailure(channel, outcome);
  Exit(1);
}

[[noreturn]] void RunFirstProcess(Spawn spawn) {
  Fd cpu_time = OpenCpuTime(spawn);
  Outcome set_up;
  if (spawn.cgroup >= 0) set_up = At(Step::kLimits, cpu_time.error());
  spawn.cpu_time = cpu_time.Release();  // As long as this process.
  if (set_up.ok()) set_up = SetUp(spawn);
  const wire::CommandHeader* command = spawn.command.header;
  const bool needs_view_first = command == nullptr || command->terminal_rows != 0;
  Fd terminal;
  if (set_up.ok() && needs_view_first) set_up = MakeViewFirst(spawn, &terminal);
  if (!set_up.ok()) FailToStart(spawn.channel, set_up);

  CommandStart start(spawn);
  start.Begin({needs_view_first ? NothingMore : EnterView, LeaveHost});
  Supervised supervised;
  supervised.held = {spawn.channel, spawn.launcher, spawn.cpu_time};
  if (HoldForSupervision(&supervised.held) != 0) {
    start.Kill();
    Exit(1);
  }
  const StartedCommand started = start.Await();
  if (!started.outcome.ok()) FailToStart(supervised.held.channel, started.outcome);
  supervised.limits = spawn.plan.header->watched;
  supervised.command = started.pid;
  supervised.started_microseconds = started.started_microseconds;
  supervised.is_init = spawn.plan.header->namespaces != 0;
  supervised.keeps_orphans = spawn.plan.header->confined != 0;
  Supervise(supervised);
}

Fd CloneFirstProcess(const Spawn& spawn, unsigned long more_flags) {
  int pidfd = -1;
  const unsigned long flags = CloneFlags(spawn) | more_flags;
  const long pid = spawn.cgroup >= 0 ? CloneIntoCgroup(flags, &pidfd, spawn.cgroup)
                                     : Call(__NR_clone, flags, nullptr, &pidfd, nullptr, nullptr);
  if (pid == 0) RunFirstProcess(spawn);
  return pid < 0 ? Fd(pid) : Fd(pidfd);
}

struct Entrance {
  Spawn spawn;
  Fd view_copy;  // When it was not made ahead.
  Fd pidfd;
};

int EnterSpare(const SpareParts& spare) {
  if (const int error = ErrorOf(Call(__NR_setns, spare.ipc.get(), CLONE_NEWIPC))) return error;
  if (const int error = ErrorOf(Call(__NR_setns, spare.host_name.get(), CLONE_NEWUTS))) {
    return error;
  }
  if (!spare.network.ok()) return 0;
  return ErrorOf(Call(__NR_setns, spare.network.get(), CLONE_NEWNET));
}

int EnterWhatWasMade(Entrance* entrance) {
  Spawn& spawn = entrance->spawn;
  if (spawn.network >= 0) {
    if (const int error = EnterNetwork(spawn.network)) return error;
  }
  if (spawn.view == nullptr) return 0;
  if (const int error = EnterTemplate(*spawn.view)) return error;
  if (spawn.spare != nullptr) {
    if (const int error = EnterSpare(*spawn.spare)) return error;
    spawn.view_copy = spawn.spare->tree.get();
  } else {
    entrance->view_copy = CopyTemplate(*spawn.view);
    if (!entrance->view_copy.ok()) return entrance->view_copy.error();
    spawn.view_copy = entrance->view_copy.get();
  }
  return CheckTemplateCopy(*spawn.view, spawn.plan, spawn.view_copy);
}

// Runs in a process between, with this program's memory and descriptors: a namespace can be entered
// for one child without entering it oneself. The sandbox's user namespace thus becomes a child of
// the network's or the template's, over which it has no power.
void BeginInside(void* argument) {
  auto* entrance = static_cast<Entrance*>(argument);
  const int error = EnterWhatWasMade(entrance);
  entrance->pidfd = error != 0 ? Fd(-error) : CloneFirstProcess(entrance->spawn, CLONE_PARENT);
  Exit(0);
}

// For the process between and, in its own copy of this memory, for the sandbox's first process.
alignas(16) char entrance_stack[64 * 1024];

}  // namespace

Fd Begin(const Spawn& spawn) {
  if (spawn.network < 0 && spawn.view == nullptr) return CloneFirstProcess(spawn, 0);
  Entrance entrance = {spawn, {}, {}};
  const long between =
      CloneOnStack(CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
                   entrance_stack + sizeof(entrance_stack), BeginInside, &entrance);
  if (between < 0) return Fd(between);
  // The compiler does not see the process between write.
  __asm__ volatile("" ::: "memory");
  return static_cast<Fd&&>(entrance.pidfd);
}

}  // namespace cordon::launcher
