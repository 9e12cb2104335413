// What the sandboxes of one plan have in common is made once, and copied for each of them.
//
// A template is three descriptors: a user namespace, a mount namespace of that in which there is
// nothing but the host's /proc, and the shared part of the view, a mount tree that is attached
// nowhere. The process that made them has ended: none ever runs in a template. A sandbox starts
// from those namespaces, in children of its own, with a copy of the tree (Linux 6.15), and makes
// the rest: /proc, terminals, and whatever can be written to and is not the host's.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_VIEW_TEMPLATE_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_VIEW_TEMPLATE_H_

#include <cstdint>

#include "launcher/fd.h"
#include "launcher/identity.h"
#include "launcher/mapping.h"
#include "launcher/plan_reader.h"
#include "launcher/spare_parts.h"
#include "launcher/view_roles.h"

namespace cordon::launcher {

struct ViewTemplate {
  // Those of a network have one that is a child of its user namespace, from where it is entered.
  bool is_in_network = false;
  Fd user;
  Fd mounts;
  Fd tree;
  const ViewRole* roles = nullptr;
};

// Enters the namespaces, from the network that it is for. For a process that shares neither its
// root nor its threads. Returns an errno.
[[nodiscard]] int EnterTemplate(const ViewTemplate& view_template);
// In there: a copy of the tree.
[[nodiscard]] Fd CopyTemplate(const ViewTemplate& view_template);
// Looks at a copy, whenever it was made: ESTALE when something of the host's was removed from under
// it since.
[[nodiscard]] int CheckTemplateCopy(const ViewTemplate& view_template, const Plan& plan, int copy);

// At most kMost, of which the one that was not used for longest makes room for another.
class ViewTemplates {
 public:
  // Both are of this program, its pidfd the second; they outlive this object.
  ViewTemplates(const Identity& identity, const Fd& launcher)
      : identity_(identity), launcher_(launcher) {}
  ViewTemplates(const ViewTemplates&) = delete;
  ViewTemplates& operator=(const ViewTemplates&) = delete;
  ~ViewTemplates() = default;

  // That of the plan in `network`, or in networks of its sandboxes' own when that is negative. Null
  // when there is none yet, in which case a process begins to make it that nobody waits for, or
  // when there cannot be one. For a network only from the second time on: some serve one command.
  [[nodiscard]] const ViewTemplate* For(std::uint32_t plan_id, const Plan& plan, int network);
  // One that could not be used: is made anew the next time, unless that was so too often.
  void Fail(const ViewTemplate& view_template);
  void Forget(std::uint32_t plan_id);

  // What one sandbox that starts from it needs for itself, if it is there by now; the next one's is
  // to be made, `with_network` or without.
  [[nodiscard]] SpareParts TakeSpare(const ViewTemplate& view_template, bool with_network);
  // Whether some are to be made, once nothing else is to be done; has them made.
  [[nodiscard]] bool WantSpares() const;
  void MakeSpares();

  // While there are any, what was not used for that long is to be given up: it holds file systems
  // that the host may want to be rid of.
  static constexpr int kIdleSeconds = 60;
  [[nodiscard]] bool empty() const;
  void ForgetIdle();

 private:
  enum class State { kNone, kSeen, kFailed, kBeingMade, kReady, kRefused };
  static constexpr int kMost = 8;
  static constexpr int kMostFailures = 3;

  struct Slot {
    State state = State::kNone;
    std::uint32_t plan_id = 0;
    const char* host_name = nullptr;  // In the plan, which is known as long as this one is.
    std::uint64_t network = 0;  // The inode of its user namespace, which the template keeps alive.
    int failures = 0;
    std::uint64_t used_at = 0;  // In microseconds.
    Fd answer;                  // What the process that makes it sends it on.
    Mapping roles;
    ViewTemplate made;
    SpareMaker spare;
    bool wants_spare = false;
    bool with_network = false;  // The spare that is wanted.
  };

  [[nodiscard]] Slot* Find(std::uint32_t plan_id, std::uint64_t network);
  [[nodiscard]] Slot& Room();  // An empty one.
  void Begin(Slot& slot, const Plan& plan, const Fd& parent);
  void LookForAnswer(Slot& slot);
  static void Clear(Slot& slot);

  const Identity& identity_;
  const Fd& launcher_;
  Slot slots_[kMost];
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_VIEW_TEMPLATE_H_
