#include "launcher/view_template.h"

#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "launcher/message.h"
#include "launcher/mount.h"
#include "launcher/network.h"
#include "launcher/process_state.h"
#include "launcher/status.h"
#include "launcher/view.h"

namespace cordon::launcher {
namespace {

constexpr int kAnswer = 3;
constexpr int kTemplateDescriptors = 3;

// The process that makes a template, in namespaces that are new.
class Maker {
 public:
  Maker(const Plan& plan, const Identity& identity, const ViewRole* roles)
      : plan_(plan), identity_(identity), view_(identity_, ViewPart::kShared, roles) {}

  // Says nothing when it fails: the socket is closed then.
  [[noreturn]] void Run(int answer, int launcher) {
    Call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (IsReadable(launcher) || MakeDescriptor(answer, kAnswer) != 0) Exit(1);
    CloseFrom(kAnswer + 1);
    if (!MakeView() || !LeaveHost()) Exit(1);
    const Fd user(Call(__NR_openat, AT_FDCWD, "/proc/self/ns/user", O_RDONLY | O_CLOEXEC));
    const Fd mounts(Call(__NR_openat, AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    if (!user.ok() || !mounts.ok()) Exit(1);
    const int descriptors[kTemplateDescriptors] = {user.get(), mounts.get(), tree_.get()};
    constexpr char kMade = 1;
    Exit(SendAll(kAnswer, &kMade, sizeof(kMade), descriptors, kTemplateDescriptors));
  }

 private:
  bool MakeView() {
    if (WriteIdMaps(identity_) != 0 || MakeAllPrivate() != 0 || view_.Begin() != 0) return false;
    if (!view_.Perform(plan_, plan_.header->view).ok() || !view_.IsLocal(plan_)) return false;
    if (view_.Finish() != 0) return false;
    tree_ = view_.Copy();
    return tree_.ok();
  }

  // Nothing is left but a root with the host's /proc, without which no other can be mounted.
  bool LeaveHost() {
    constexpr const char* kOptions[] = {"mode", "0755", nullptr};
    const Fd root = NewFileSystem("tmpfs", kOptions, kPlainAttributes);
    const Fd host_root(Call(__NR_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC));
    const Fd proc = CloneTree(OpenHost("/proc").get(), 0);
    return root.ok() && host_root.ok() && proc.ok() &&
           ErrorOf(Call(__NR_mkdirat, root.get(), "proc", 0755)) == 0 &&
           Attach(root.get(), host_root.get()) == 0 &&
           AttachAt(proc.get(), root.get(), "proc") == 0 &&
           SetAttributes(root.get(), MOUNT_ATTR_RDONLY) == 0 && EnterRoot(root.get()) == 0 &&
           LeaveOldRoot() == 0;
  }

  const Plan& plan_;
  const Identity identity_;
  View view_;
  Fd tree_;
};

constexpr unsigned long kMakerFlags = CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD;

struct MakerStart {
  const Plan& plan;
  const Identity& identity;
  const ViewRole* roles;
  int answer;
  int launcher;
  int parent;  // The user namespace to start in; negative: this one.
  long pid = -ECHILD;
};

void StartHere(MakerStart* start, unsigned long more_flags) {
  start->pid = Call(__NR_clone, kMakerFlags | more_flags, nullptr, nullptr, nullptr, nullptr);
  if (start->pid != 0) return;
  Maker(start->plan, start->identity, start->roles).Run(start->answer, start->launcher);
}

// Runs in a process between: see spawn.cc.
void StartInParent(void* argument) {
  auto* start = static_cast<MakerStart*>(argument);
  const int error = ErrorOf(Call(__NR_setns, start->parent, CLONE_NEWUSER));
  start->pid = -error;
  if (error == 0) StartHere(start, CLONE_PARENT);
  Exit(0);
}

alignas(16) char between_stack[64 * 1024];

// Returns an errno.
int StartMaker(MakerStart* start) {
  if (start->parent < 0) {
    StartHere(start, 0);
    return ErrorOf(start->pid);
  }
  const long between = CloneOnStack(CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
                                    between_stack + sizeof(between_stack), StartInParent, start);
  // The compiler does not see the process between write.
  __asm__ volatile("" ::: "memory");
  return between < 0 ? ErrorOf(between) : ErrorOf(start->pid);
}

}  // namespace

int EnterTemplate(const ViewTemplate& view_template) {
  if (!view_template.is_in_network) {
    const int user = view_template.user.get();
    if (const int error = ErrorOf(Call(__NR_setns, user, CLONE_NEWUSER))) return error;
  }
  return ErrorOf(Call(__NR_setns, view_template.mounts.get(), CLONE_NEWNS));
}

Fd CopyTemplate(const ViewTemplate& view_template) {
  return CloneTree(view_template.tree.get(), 0);
}

int CheckTemplateCopy(const ViewTemplate& view_template, const Plan& plan, int copy) {
  return View::CheckCopy(copy, plan, view_template.roles);
}

const ViewTemplate* ViewTemplates::For(std::uint32_t plan_id, const Plan& plan, int network) {
  const Fd parent = network < 0 ? Fd() : UserNamespaceOf(network);
  FileStatus status = {};
  if (network >= 0 && (!parent.ok() || StatusOf(parent.get(), &status) != 0)) return nullptr;
  Slot* slot = Find(plan_id, status.stx_ino);
  if (slot == nullptr) {
    slot = &Room();
    slot->plan_id = plan_id;
    slot->network = status.stx_ino;
    slot->made.is_in_network = network >= 0;
    slot->state = network < 0 ? State::kFailed : State::kSeen;
  } else if (slot->state == State::kSeen) {
    slot->state = State::kFailed;
  }
  slot->host_name = plan.Text(plan.header->host_name);
  if (slot->state == State::kFailed) Begin(*slot, plan, parent);
  slot->used_at = NowMicroseconds();
  if (slot->state == State::kBeingMade) LookForAnswer(*slot);
  return slot->state == State::kReady ? &slot->made : nullptr;
}

void ViewTemplates::Fail(const ViewTemplate& view_template) {
  for (Slot& slot : slots_) {
    if (&slot.made != &view_template) continue;
    const std::uint32_t plan_id = slot.plan_id;
    const std::uint64_t network = slot.network;
    const int failures = slot.failures + 1;
    Clear(slot);
    slot.plan_id = plan_id;
    slot.network = network;
    slot.made.is_in_network = network != 0;
    slot.failures = failures;
    slot.state = failures < kMostFailures ? State::kFailed : State::kRefused;
  }
}

void ViewTemplates::Forget(std::uint32_t plan_id) {
  for (Slot& slot : slots_) {
    if (slot.plan_id == plan_id) Clear(slot);
  }
}

SpareParts ViewTemplates::TakeSpare(const ViewTemplate& view_template, bool with_network) {
  for (Slot& slot : slots_) {
    if (&slot.made != &view_template) continue;
    slot.wants_spare = true;
    slot.with_network = with_network;
    return slot.spare.Take();
  }
  return {};
}

bool ViewTemplates::WantSpares() const {
  for (const Slot& slot : slots_) {
    if (slot.wants_spare && slot.spare.is_missing()) return true;
  }
  return false;
}

void ViewTemplates::MakeSpares() {
  for (Slot& slot : slots_) {
    if (!slot.wants_spare || !slot.spare.is_missing()) continue;
    slot.wants_spare = false;
    if (slot.spare.is_refused()) continue;
    const ViewTemplate& made = slot.made;
    slot.spare.Begin(
        {made.user.get(), made.mounts.get(), made.tree.get(), slot.with_network, slot.host_name},
        launcher_.get());
  }
}

bool ViewTemplates::empty() const {
  for (const Slot& slot : slots_) {
    if (slot.state != State::kNone) return false;
  }
  return true;
}

void ViewTemplates::ForgetIdle() {
  const std::uint64_t now = NowMicroseconds();
  for (Slot& slot : slots_) {
    const bool is_idle = now - slot.used_at >= std::uint64_t{kIdleSeconds} * 1'000'000;
    if (slot.state != State::kNone && is_idle) Clear(slot);
  }
}

ViewTemplates::Slot* ViewTemplates::Find(std::uint32_t plan_id, std::uint64_t network) {
  for (Slot& slot : slots_) {
    const bool is_it = slot.plan_id == plan_id && slot.network == network;
    if (slot.state != State::kNone && is_it) return &slot;
  }
  return nullptr;
}

ViewTemplates::Slot& ViewTemplates::Room() {
  Slot* oldest = &slots_[0];
  for (Slot& slot : slots_) {
    if (slot.state == State::kNone) return slot;
    if (slot.used_at < oldest->used_at) oldest = &slot;
  }
  Clear(*oldest);
  return *oldest;
}

void ViewTemplates::Begin(Slot& slot, const Plan& plan, const Fd& parent) {
  slot.state = State::kRefused;
  const long size = plan.header->view.count;
  if (size == 0) return;
  const long memory =
      Call(__NR_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (ErrorOf(memory) != 0) return;
  slot.roles = {reinterpret_cast<char*>(memory), static_cast<std::uint64_t>(size)};
  auto* roles = reinterpret_cast<ViewRole*>(memory);
  if (!AssignRoles(plan, roles)) return;
  Fd theirs;
  if (MakeSocketPair(&slot.answer, &theirs) != 0) return;
  MakerStart start = {plan, identity_, roles, theirs.get(), launcher_.get(), parent.get()};
  if (StartMaker(&start) != 0) return;
  slot.made.roles = roles;
  slot.state = State::kBeingMade;
}

void ViewTemplates::LookForAnswer(Slot& slot) {
  if (!IsReadable(slot.answer.get())) return;
  char made = 0;
  Received received = Receive(slot.answer.get(), &made, sizeof(made));
  slot.answer = {};
  if (received.size != sizeof(made) || received.descriptor_count != kTemplateDescriptors) {
    slot.state = State::kRefused;
    return;
  }
  slot.made.user = static_cast<Fd&&>(received.descriptors[0]);
  slot.made.mounts = static_cast<Fd&&>(received.descriptors[1]);
  slot.made.tree = static_cast<Fd&&>(received.descriptors[2]);
  slot.state = State::kReady;
}

void ViewTemplates::Clear(Slot& slot) {
  Unmap(slot.roles);
  slot = {};
}

}  // namespace cordon::launcher
