// The mount view: a tmpfs that holds only what the plan puts there, and becomes the root.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_VIEW_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_VIEW_H_

#include <cstdint>

#include "launcher/identity.h"
#include "launcher/mount.h"
#include "launcher/outcome.h"
#include "launcher/plan_reader.h"
#include "launcher/status.h"
#include "launcher/view_roles.h"

namespace cordon::launcher {

inline constexpr char kHiddenPlace[] = ".cordon";  // See view_masks.cc.

// Beneath the view's root, so without the leading slash.
[[nodiscard]] inline const char* Relative(const char* target) {
  while (*target == '/') ++target;
  return *target == '\0' ? "." : target;
}

// Of the mounts of a step that binds.
[[nodiscard]] inline std::uint64_t AttributesOf(const wire::ViewOpRecord& op) {
  return kPlainAttributes | (op.read_only != 0 ? MOUNT_ATTR_RDONLY : 0) |
         (op.executable != 0 ? 0 : MOUNT_ATTR_NOEXEC);
}

// Whether the step is meant for that object.
[[nodiscard]] inline bool IsExpected(const FileStatus& status, const wire::ViewOpRecord& op) {
  if (op.device == 0 && op.inode == 0) return true;
  return DeviceNumber(status) == op.device && status.stx_ino == op.inode;
}

// What of a view is made: see view_template.h.
enum class ViewPart {
  kWhole,
  kShared,  // What all sandboxes of the plan can share.
  kOwn,     // The rest, in a copy of that.
};

class View {
 public:
  explicit View(const Identity& identity) : identity_(identity) {}
  // `roles` has one of each step of the plan's view.
  View(const Identity& identity, ViewPart part, const ViewRole* roles)
      : identity_(identity), part_(part), roles_(roles) {}

  // A fresh tmpfs over the host's root, which stays the root of this process.
  [[nodiscard]] int Begin();
  // In its place the copy `tree` of a shared part, detached.
  [[nodiscard]] int BeginWith(int tree);
  // Performs the steps in `list` of `block`, in their order.
  [[nodiscard]] Outcome Perform(const Block& block, wire::List list);
  // Closes what the steps needed: the hidden place, and the tmpfs for writing.
  [[nodiscard]] int Finish();
  // Makes it the root and the working directory; to be followed by `LeaveOldRoot`.
  [[nodiscard]] int Enter();

  // A detached copy of all of a finished shared part.
  [[nodiscard]] Fd Copy() const;
  // Whether in the copy `tree` every mount still is where the plan's checked steps have put it.
  // Returns an errno: ESTALE when the host has removed one.
  [[nodiscard]] static int CheckCopy(int tree, const Plan& plan, const ViewRole* roles);
  // Whether all of the checked steps' places are in local file systems, where such a look ends.
  [[nodiscard]] bool IsLocal(const Plan& plan) const;

 private:
  static constexpr int kMaxOwn = 64;

  struct Device {
    std::uint32_t major;
    std::uint32_t minor;
    bool operator==(const Device&) const = default;
  };

  struct Row {
    const wire::ViewOpRecord* first = nullptr;
    Fd host;    // The folder of the host.
    Fd copy;    // A copy of it with the attributes of the row, attached nowhere.
    Fd target;  // The folder of the view.
  };
  static constexpr int kMaxPastRows = 8;

  // Whether the step with this index belongs to the part that is made.
  [[nodiscard]] bool IsInPart(std::uint32_t index, const wire::ViewOpRecord& op) const;
  int PerformOne(const Block& block, const wire::ViewOpRecord& op);
  // Whether what is at `target` is what the step is meant for. Returns an errno.
  [[nodiscard]] int CheckPlace(const char* target, const wire::ViewOpRecord& op) const;
  int MakeFolder(const char* target, std::uint32_t mode);
  int MakeFile(const char* target, const char* data, std::uint32_t size, std::uint32_t mode);
  int MakeLink(const char* target, const char* text);
  int Bind(const char* target, const char* source, const wire::ViewOpRecord& op,
           std::uint64_t attributes);
  int BindInRow(const char* target, const char* source, const wire::ViewOpRecord& op);
  // Before each step, `ops[0]` of those that are left: keeps the row that it belongs to, begins one
  // where that is worth it, ends one that it would make wrong.
  void FindRow(const Block& block, const wire::ViewOpRecord* ops, std::uint32_t left);
  void BeginRow(const Block& block, const wire::ViewOpRecord& first);
  void EndRow();
  [[nodiscard]] Row RowOf(const char* entry, std::uint64_t attributes) const;
  // Puts the copies where the host's tree is taken down with them.
  void LeaveRowsToHost();
  int Protect(const char* target);
  int Mask(const char* target);
  int MountTmpfs(const char* target, const wire::ViewOpRecord& op);
  int Pin(const char* target, const char* root);
  int MountProc(const char* target);
  int MaskInProc(int proc, const char* const* names);
  int MountDev(const char* target, std::uint64_t shared_memory_bytes);
  int MakeDevFolder(int dev);
  int MountOwnPartOfDev(int dev, std::uint64_t shared_memory_bytes);
  int MountSharedMemory(int dev, std::uint64_t bytes);

  // The place `target`, made as a folder or an empty file where it is missing and may be made.
  Fd Place(const char* target, bool folder);
  // The folder that `target` is in, made where it is missing; `name` becomes the last component.
  Fd ParentOf(const char* target, const char** name);
  // A detached, read-only, mode 000 folder or file, for putting over `place`.
  Fd MaskFor(int place);
  // A second, hidden bind of the view's folder `root`, the same for the same folder.
  Fd HiddenBind(const char* root);
  int MakeHiddenPlace();
  Fd CloseOver(const char* name);

  // Whether `place` lies in a tmpfs that was made here.
  [[nodiscard]] bool IsOwn(int place) const;
  int AddOwn(int place);

  Identity identity_;
  ViewPart part_ = ViewPart::kWhole;
  const ViewRole* roles_ = nullptr;
  Fd root_;
  // The tmpfs that were made here: only in those is anything made.
  Device own_[kMaxOwn] = {};
  int own_count_ = 0;
  // Those of them that lose the right to be written in the end.
  Fd read_only_later_[kMaxOwn];
  int read_only_later_count_ = 0;
  // The present row, none without a first step; and those before, which are kept to the end.
  Row row_;
  bool is_in_row_ = false;  // The present step.
  Row past_rows_[kMaxPastRows];
  int past_row_count_ = 0;
  bool has_rows_ = true;  // Until the kernel refuses.
  Fd hidden_;
  Fd mask_folder_;
  Fd mask_file_;
  int hidden_binds_ = 0;
  const char* last_pin_root_ = nullptr;
  Fd last_hidden_bind_;
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_VIEW_H_
