// Whether a copy of a shared view is still whole. A mount on an object of the host's is taken away,
// in every copy, when that object's name is removed there: so each is looked at in the very copy
// that a sandbox gets.

#include <asm/statfs.h>
#include <linux/magic.h>

#include "launcher/status.h"
#include "launcher/text.h"
#include "launcher/view.h"
#include "view_op_kind.h"

namespace cordon::launcher {
namespace {

using internal::ViewOpKind;

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x00002000  // Linux 5.8
#endif

// What the library writes for what was not there.
constexpr std::uint64_t kNoDevice = ~std::uint64_t{0};

// On these nobody else answers, and nothing is forgotten and looked up anew.
constexpr unsigned kLocal[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                               F2FS_SUPER_MAGIC, TMPFS_MAGIC};

bool IsMissing(int error) { return error == ENOENT || error == ENOTDIR; }

bool IsOnLocalFileSystem(int place) {
  struct statfs status;
  if (ErrorOf(Call(__NR_fstatfs, place, &status)) != 0) return false;
  for (const unsigned type : kLocal) {
    if (static_cast<unsigned>(status.f_type) == type) return true;
  }
  return false;
}

class CopyCheck {
 public:
  explicit CopyCheck(int tree) : tree_(tree), hidden_(OpenBeneath(tree, kHiddenPlace)) {}

  int Check(const Block& block, const wire::ViewOpRecord& op) {
    const char* target = Relative(block.Text(op.target));
    const auto kind = static_cast<ViewOpKind>(op.kind);
    const Fd place = OpenBeneath(tree_, target);
    const bool was_missing = op.optional != 0 && op.device == kNoDevice;
    if (was_missing) return IsMissing(place.error()) ? 0 : ESTALE;
    if (kind == ViewOpKind::kPin) {
      return CheckPin(place, target, Relative(block.Text(op.source)), op);
    }
    // What a mask or a tmpfs covers is another object than what is seen.
    const bool is_itself = kind != ViewOpKind::kMask && kind != ViewOpKind::kTmpfs;
    return IsMount(place, op, is_itself) ? 0 : ESTALE;
  }

 private:
  static bool IsMount(const Fd& place, const wire::ViewOpRecord& op, bool is_itself) {
    FileStatus status;
    return place.ok() && StatusOf(place.get(), &status) == 0 &&
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 &&
           (!is_itself || IsExpected(status, op));
  }

  // It is in one of the hidden binds, which were made in the order of the pins.
  int CheckPin(const Fd& visible, const char* target, const char* root,
               const wire::ViewOpRecord& op) {
    FileStatus status;
    if (!visible.ok() || StatusOf(visible.get(), &status) != 0 || !IsExpected(status, op)) {
      return ESTALE;
    }
    const char* below = target + Length(root);
    while (*below == '/') ++below;
    for (;; ++bind_number_, bind_ = {}) {
      if (!bind_.ok()) bind_ = OpenBind();
      if (!bind_.ok()) return ESTALE;
      const Fd pinned = OpenBeneath(bind_.get(), below);
      FileStatus found;
      if (IsMount(pinned, op, true) && StatusOf(pinned.get(), &found) == 0 &&
          SameObject(found, status)) {
        return 0;
      }
    }
  }

  [[nodiscard]] Fd OpenBind() const {
    TextBuffer<16> name;
    name.Add("root").AddNumber(bind_number_);
    return OpenBeneath(hidden_.get(), name.get());
  }

  const int tree_;
  const Fd hidden_;
  std::uint64_t bind_number_ = 0;
  Fd bind_;
};

}  // namespace

int View::CheckCopy(int tree, const Plan& plan, const ViewRole* roles) {
  CopyCheck check(tree);
  const auto* ops = plan.Records<wire::ViewOpRecord>(plan.header->view);
  for (std::uint32_t i = 0; i < plan.header->view.count; ++i) {
    if (roles[i] != ViewRole::kChecked) continue;
    if (const int error = check.Check(plan, ops[i])) return error;
  }
  return 0;
}

bool View::IsLocal(const Plan& plan) const {
  const auto* ops = plan.Records<wire::ViewOpRecord>(plan.header->view);
  for (std::uint32_t i = 0; i < plan.header->view.count; ++i) {
    if (roles_[i] != ViewRole::kChecked) continue;
    const char* target = Relative(plan.Text(ops[i].target));
    for (std::size_t length = 0; target[length] != '\0'; ++length) {
      if (target[length] != '/') continue;
      TextBuffer<4096> folder;
      folder.Add(target, length);
      if (!folder.complete()) return false;
      const Fd place = OpenBeneath(root_.get(), folder.get());
      // What is missing is a step that was left out.
      if (place.ok() ? !IsOnLocalFileSystem(place.get()) : !IsMissing(place.error())) return false;
    }
  }
  return true;
}

}  // namespace cordon::launcher
