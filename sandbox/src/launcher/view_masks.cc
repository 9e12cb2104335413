// Masks and pins: what is laid over a name so that it cannot be read, or cannot be moved.
//
// Both need a place of their own in the view: a folder in its root with an empty folder and an
// empty file, both mode 000, whose read-only binds are the masks. Without CAP_DAC_OVERRIDE nobody
// inside can open them, and chmod(2) fails with EROFS.

#include "launcher/status.h"
#include "launcher/text.h"
#include "launcher/view.h"

namespace cordon::launcher {
namespace {

constexpr std::uint64_t kMaskAttributes = kPlainAttributes | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC;

}  // namespace

int View::MakeHiddenPlace() {
  if (hidden_.ok()) return 0;
  if (const int error = ErrorOf(Call(__NR_mkdirat, root_.get(), kHiddenPlace, 0755))) return error;
  hidden_ = OpenBeneath(root_.get(), kHiddenPlace);
  if (!hidden_.ok()) return hidden_.error();
  if (const int error = ErrorOf(Call(__NR_mkdirat, hidden_.get(), "folder", 0))) return error;
  if (const int error = ErrorOf(Call(__NR_mknodat, hidden_.get(), "file", kRegularType, 0))) {
    return error;
  }
  mask_folder_ = CloseOver("folder");
  mask_file_ = CloseOver("file");
  return mask_folder_.ok() ? mask_file_.error() : mask_folder_.error();
}

// Mounted over itself once with the attributes of a mask, so that its copies have them already.
Fd View::CloseOver(const char* name) {
  const Fd place = OpenBeneath(hidden_.get(), name);
  if (!place.ok()) return Fd(-place.error());
  Fd mask = CloneTree(place.get(), kMaskAttributes);
  if (!mask.ok()) return mask;
  if (const int error = Attach(mask.get(), place.get())) return Fd(-error);
  return mask;
}

Fd View::MaskFor(int place) {
  if (const int error = MakeHiddenPlace()) return Fd(-error);
  return CloneTree(IsFolder(place) ? mask_folder_.get() : mask_file_.get(), 0);
}

int View::Mask(const char* target) {
  const Fd place = OpenBeneath(root_.get(), target);
  if (!place.ok()) return place.error();
  const Fd mask = MaskFor(place.get());
  if (!mask.ok()) return mask.error();
  return Attach(mask.get(), place.get());
}

Fd View::HiddenBind(const char* root) {
  if (const int error = MakeHiddenPlace()) return Fd(-error);
  const Fd visible = OpenBeneath(root_.get(), root, O_DIRECTORY);
  if (!visible.ok()) return Fd(-visible.error());
  Fd tree = CloneTree(visible.get(), kMaskAttributes);
  if (!tree.ok()) return tree;
  TextBuffer<16> name;
  name.Add("root").AddNumber(static_cast<std::uint64_t>(hidden_binds_++));
  const long made = Call(__NR_mkdirat, hidden_.get(), name.get(), 0755);
  if (ErrorOf(made) != 0) return Fd(made);
  if (const int error = AttachAt(tree.get(), hidden_.get(), name.get())) return Fd(-error);
  return tree;
}

int View::Pin(const char* target, const char* root) {
  const std::size_t root_length = Length(root);
  const char* below = target + root_length;
  if (!StartsWith(target, root) || *below != '/') return EINVAL;
  while (*below == '/') ++below;

  const Fd visible = OpenBeneath(root_.get(), target);
  if (!visible.ok()) return visible.error();
  FileStatus wanted;
  if (const int error = StatusOf(visible.get(), &wanted)) return error;
  // The bind that was made for the last pin serves again, unless the view has changed below it.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0 || last_pin_root_ == nullptr || !Equal(last_pin_root_, root)) {
      last_hidden_bind_ = HiddenBind(root);
      if (!last_hidden_bind_.ok()) return last_hidden_bind_.error();
      last_pin_root_ = root;
    }
    const Fd same = OpenBeneath(last_hidden_bind_.get(), below);
    FileStatus found;
    if (!same.ok() || StatusOf(same.get(), &found) != 0 || !SameObject(found, wanted)) continue;
    // Itself over itself, so that pins further down can still be reached through it.
    const Fd tree = CloneTree(same.get(), kMaskAttributes);
    if (!tree.ok()) return tree.error();
    return Attach(tree.get(), same.get());
  }
  return ESTALE;
}

}  // namespace cordon::launcher
