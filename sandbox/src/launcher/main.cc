// The launcher: waits for requests and begins spawns until the process it serves is gone.

#include <linux/fcntl.h>
#include <linux/poll.h>
#include <linux/signal.h>
#include <linux/time_types.h>

#include "launcher/cgroup.h"
#include "launcher/fd.h"
#include "launcher/identity.h"
#include "launcher/mapping.h"
#include "launcher/message.h"
#include "launcher/network.h"
#include "launcher/noted_runs.h"
#include "launcher/plan_reader.h"
#include "launcher/process_limit.h"
#include "launcher/process_state.h"
#include "launcher/rulesets.h"
#include "launcher/spawn.h"
#include "launcher/supervisor.h"
#include "launcher/sweep.h"
#include "launcher/text.h"
#include "launcher/view_template.h"
#include "launcher_protocol.h"

namespace cordon::launcher {
namespace {

using internal::kLauncherHost;
using internal::kLauncherSocket;
using internal::LauncherReply;
using internal::LauncherRequest;

struct Message {
  LauncherRequest request;
  char command[internal::kMaxInlineBytes];
};

// What is not used of these costs no memory.
alignas(8) Message message;
Mapping plans[internal::kMaxPlans];

class Launcher {
 public:
  // From what the library has left to the state in which everything starts: see launcher.h.
  void CleanUp() {
    CloseFrom(kLauncherHost + 1);
    BlockAllSignals();
    ResetAllDispositions();
    SetDisposition(SIGCHLD, Disposition::kIgnore);  // Nothing is left to reap.
    Call(__NR_setsid);
    Call(__NR_chdir, "/");
    file_mode_mask_ = static_cast<unsigned>(Call(__NR_umask, 0));
    Call(__NR_setgroups, 0, nullptr);  // Where privileges allow; refused otherwise.
    identity_ = OwnIdentity();
    self_ = Fd(Call(__NR_pidfd_open, Call(__NR_getpid), 0));
  }

  [[noreturn]] void Serve() {
    if (!self_.ok()) Exit(1);
    for (;;) {
      if (!WaitForRequest()) Leave();
      Received received = Receive(kLauncherSocket, &message, sizeof(message));
      if (received.size <= 0) Leave();
      const bool whole = received.size >= static_cast<long>(sizeof(LauncherRequest));
      if (whole && message.request.kind == LauncherRequest::Kind::kPrepare) {
        Prepare(received);
      } else if (whole && message.request.kind == LauncherRequest::Kind::kRunTable) {
        if (received.descriptor_count == 1) runs_.Share(received.descriptors[0].get());
      } else {
        Answer(whole ? Handle(received) : Result{EINVAL});
      }
    }
  }

 private:
  struct Result {
    int error = 0;
    std::uint32_t plan_id = 0;
    Fd pidfd = {};
  };

  // What is made ahead waits until a command that was just begun is likely to have ended.
  static constexpr __kernel_timespec kBusy = {0, 2'000'000};

  // False once the process that is served is gone.
  bool WaitForRequest() {
    pollfd entries[] = {{kLauncherSocket, POLLIN, 0}, {kLauncherHost, POLLIN, 0}};
    for (;;) {
      const bool wants_spares = templates_.WantSpares();
      __kernel_timespec pause = {ViewTemplates::kIdleSeconds, 0};
      if (wants_spares) pause = kBusy;
      const bool has_work = wants_spares || !templates_.empty() || !rulesets_.empty();
      const long ready = Call(__NR_ppoll, entries, 2, has_work ? &pause : nullptr, nullptr, 0);
      if (ready > 0) return entries[1].revents == 0;
      if (ready != 0) continue;
      if (wants_spares) {
        templates_.MakeSpares();
      } else {
        templates_.ForgetIdle();
        rulesets_.ForgetIdle();
      }
    }
  }

  // With this process everything that it started ends. Its folder is removed after that, by a
  // child, if the host has died: when it only hung up it is about to kill this process and tidies
  // up itself.
  [[noreturn]] void Leave() {
    constexpr __kernel_timespec kDeathFollowsHangUp = {1, 0};
    if (!own_parent_.ok() || !BecomesReadable(kLauncherHost, kDeathFollowsHangUp)) Exit(0);
    if (Call(__NR_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) != 0) Exit(0);
    Call(__NR_setsid);
    constexpr __kernel_timespec kPatience = {5, 0};
    BecomesReadable(self_.get(), kPatience);
    if (own_cgroup_parent_.ok()) SweepCgroup(own_cgroup_parent_.get(), own_cgroup_.get());
    RemoveWhatMustBeAbsent();
    Sweep(own_parent_.get(), own_name_.get());
    Exit(0);
  }

  // Of the commands that ran when the host died, or had ended without being tidied up after.
  void RemoveWhatMustBeAbsent() {
    runs_.RemoveWhatIsLeft([](std::uint32_t plan_id) {
      if (!KnowsPlan(plan_id)) return;
      const Plan plan(plans[plan_id].start);
      const auto* absent = plan.Records<wire::Text>(plan.header->absent);
      for (std::uint32_t i = 0; i < plan.header->absent.count; ++i) {
        RemovePath(plan.Text(absent[i]));
      }
    });
  }

  static void Answer(const Result& result) {
    const LauncherReply reply = {result.error, result.plan_id};
    Send(kLauncherSocket, &reply, sizeof(reply), result.pidfd.get());
  }

  Result Handle(Received& received) {
    switch (message.request.kind) {
      case LauncherRequest::Kind::kAddPlan:
        return AddPlan(received);
      case LauncherRequest::Kind::kRemovePlan:
        return RemovePlan();
      case LauncherRequest::Kind::kSpawn:
        return BeginSpawn(received);
      case LauncherRequest::Kind::kOwnFolder:
        return Own(received, &own_parent_, &own_name_);
      case LauncherRequest::Kind::kOwnCgroup:
        return Own(received, &own_cgroup_parent_, &own_cgroup_);
      case LauncherRequest::Kind::kCheckCgroup:
        if (received.descriptor_count != 1) return {EINVAL};
        return {CheckCgroup(received.descriptors[0].get())};
      case LauncherRequest::Kind::kMakeNetwork:
        return MakeNetwork(received);
      case LauncherRequest::Kind::kCheckProcessLimit:
        return {CheckProcessLimit(identity_)};
      case LauncherRequest::Kind::kPrepare:
      case LauncherRequest::Kind::kRunTable:
        break;  // Have no reply.
    }
    return {EINVAL};
  }

  Result AddPlan(const Received& received) {
    if (received.descriptor_count != 1) return {EINVAL};
    std::uint32_t id = 0;
    while (id < internal::kMaxPlans && plans[id].start != nullptr) ++id;
    if (id == internal::kMaxPlans) return {ENOSPC};
    const Mapping mapping = Map(received.descriptors[0].get(), PROT_READ);
    if (mapping.start == nullptr) return {ENOMEM};
    if (!IsPlan(mapping.start, mapping.size)) {
      Unmap(mapping);
      return {EINVAL};
    }
    plans[id] = mapping;
    return {0, id};
  }

  Result RemovePlan() {
    const std::uint32_t id = message.request.plan_id;
    if (id >= internal::kMaxPlans) return {EINVAL};
    Unmap(plans[id]);
    plans[id] = {};
    templates_.Forget(id);
    rulesets_.Forget(id);
    return {};
  }

  using Name = TextBuffer<256>;

  static Result Own(Received& received, Fd* parent, Name* name) {
    if (received.descriptor_count != 1) return {EINVAL};
    *name = {};
    const auto size = static_cast<std::size_t>(received.size) - sizeof(LauncherRequest);
    name->Add(message.command, size);
    *parent = static_cast<Fd&&>(received.descriptors[0]);
    return {name->complete() ? 0 : ENAMETOOLONG};
  }

  static bool IsInNetwork() { return (message.request.flags & internal::kInNetwork) != 0; }
  static bool IsInCgroup() { return (message.request.flags & internal::kInCgroup) != 0; }

  // Takes what the flags say from `descriptors`, in the order of launcher_protocol.h.
  static void Place(const Fd* descriptors, Spawn* spawn) {
    if (IsInNetwork()) spawn->network = (descriptors++)->get();
    if (IsInCgroup()) spawn->cgroup = descriptors->get();
  }
  static int PlaceDescriptors() { return (IsInNetwork() ? 1 : 0) + (IsInCgroup() ? 1 : 0); }

  Result MakeNetwork(const Received& received) const {
    if (received.descriptor_count != 1) return {EINVAL};
    const bool with_gateway = (message.request.flags & internal::kWithGateway) != 0;
    Fd pidfd = BeginNetwork({received.descriptors[0].get(), self_.get(), identity_, with_gateway});
    const int error = pidfd.error();
    return {error, 0, static_cast<Fd&&>(pidfd)};
  }

  static bool KnowsPlan(std::uint32_t id) {
    return id < internal::kMaxPlans && plans[id].start != nullptr;
  }

  void Prepare(const Received& received) {
    if (received.descriptor_count != 1 + PlaceDescriptors()) return;
    Spawn spawn = NewSpawn(received.descriptors[0].get());
    Place(received.descriptors + 1, &spawn);
    if (!KnowsPlan(message.request.plan_id)) {
      ReportFailure(spawn.channel, At(internal::Step::kPlan, EINVAL));
      return;
    }
    spawn.plan = Plan(plans[message.request.plan_id].start);
    const Fd pidfd = BeginFromTemplateOrNot(spawn);
    if (pidfd.ok()) {
      runs_.Note(message.request, pidfd.get());
    } else {
      ReportFailure(spawn.channel, At(internal::Step::kNamespaces, pidfd.error()));
    }
  }

  Result BeginSpawn(const Received& received) {
    const LauncherRequest& request = message.request;
    if (!KnowsPlan(request.plan_id)) return {EINVAL};
    const bool is_inline = request.inline_bytes != 0;
    const int before_file = internal::kSpawnDescriptors + PlaceDescriptors();
    if (received.descriptor_count != before_file + (is_inline ? 0 : 1)) return {EINVAL};
    if (is_inline) {
      const auto follows = static_cast<std::uint64_t>(received.size) - sizeof(LauncherRequest);
      if (request.inline_bytes != follows) return {EINVAL};
      return BeginWith({message.command, follows}, received);
    }
    const int file = received.descriptors[before_file].get();
    const Mapping mapping = Map(file, PROT_READ | PROT_WRITE);
    if (mapping.start == nullptr) return {ENOMEM};
    Result result = BeginWith(mapping, received);
    Unmap(mapping);
    return result;
  }

  Result BeginWith(const Mapping& command, const Received& received) {
    if (!IsCommand(command.start, command.size)) return {EINVAL};
    MakeVectors(command.start);
    Spawn spawn = NewSpawn(received.descriptors[3].get());
    spawn.plan = Plan(plans[message.request.plan_id].start);
    spawn.command = Command(command.start);
    for (int i = 0; i < 3; ++i) spawn.standard[i] = received.descriptors[i].get();
    Place(received.descriptors + internal::kSpawnDescriptors, &spawn);
    Fd pidfd = BeginFromTemplateOrNot(spawn);
    const int error = pidfd.error();
    if (error == 0) runs_.Note(message.request, pidfd.get());
    return {error, 0, static_cast<Fd&&>(pidfd)};
  }

  Fd BeginFromTemplateOrNot(const Spawn& spawn) {
    const std::uint32_t id = message.request.template_plan - 1;
    if (message.request.template_plan == 0 || !KnowsPlan(id)) return Begin(spawn);
    if (spawn.plan.header->namespaces == 0) return BeginWithRuleset(spawn, id);
    // What a command adds to its view is the host's.
    const wire::CommandHeader* command = spawn.command.header;
    if (command != nullptr && command->extra_view.count != 0) return Begin(spawn);
    const Plan plan(plans[id].start);
    Spawn from_template = spawn;
    from_template.plan = plan;
    from_template.view = templates_.For(id, plan, spawn.network);
    if (from_template.view == nullptr) return Begin(spawn);
    const bool with_network = spawn.network < 0 && plan.header->host_network == 0;
    const SpareParts spare = templates_.TakeSpare(*from_template.view, with_network);
    if (spare.tree.ok()) from_template.spare = &spare;
    Fd pidfd = Begin(from_template);
    if (pidfd.ok()) return pidfd;
    templates_.Fail(*from_template.view);
    return Begin(spawn);
  }

  Fd BeginWithRuleset(const Spawn& spawn, std::uint32_t id) {
    Spawn restricted = spawn;
    restricted.plan = Plan(plans[id].start);
    restricted.ruleset = rulesets_.For(id, restricted.plan);
    return Begin(restricted.ruleset >= 0 ? restricted : spawn);
  }

  [[nodiscard]] Spawn NewSpawn(int channel) const {
    Spawn spawn;
    spawn.channel = channel;
    spawn.launcher = self_.get();
    spawn.file_mode_mask = file_mode_mask_;
    spawn.identity = identity_;
    return spawn;
  }

  NotedRuns runs_;
  Identity identity_;
  ViewTemplates templates_{identity_, self_};
  Rulesets rulesets_{self_};
  unsigned file_mode_mask_ = 022;
  Fd self_;
  Fd own_parent_;
  Name own_name_;
  Fd own_cgroup_parent_;
  Name own_cgroup_;
};

}  // namespace
}  // namespace cordon::launcher

// `stack` is what execve(2) leaves there: the number of arguments, then their addresses.
extern "C" [[noreturn]] void LauncherMain(const long* stack) {
  // As a command in a probe's sandbox, there is nothing to do.
  if (stack[0] > 1) cordon::launcher::Exit(0);
  cordon::launcher::Launcher launcher;
  launcher.CleanUp();
  launcher.Serve();
}
