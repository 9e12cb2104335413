#include "launcher/view.h"

#include "launcher/status.h"
#include "launcher/text.h"
#include "view_op_kind.h"

namespace cordon::launcher {
namespace {

using internal::ViewOpKind;

bool IsMissing(int error) { return error == ENOENT || error == ENOTDIR; }

}  // namespace

int View::Begin() {
  constexpr const char* kOptions[] = {"mode", "0755", nullptr};
  root_ = NewFileSystem("tmpfs", kOptions, kPlainAttributes);
  if (!root_.ok()) return root_.error();
  const Fd host_root(Call(__NR_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC));
  if (!host_root.ok()) return host_root.error();
  if (const int error = Attach(root_.get(), host_root.get())) return error;
  return AddOwn(root_.get());
}

int View::BeginWith(int tree) {
  const Fd host_root(Call(__NR_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC));
  if (!host_root.ok()) return host_root.error();
  if (const int error = Attach(tree, host_root.get())) return error;
  root_ = OpenBeneath(tree, ".");
  hidden_ = OpenBeneath(tree, kHiddenPlace);
  if (!hidden_.ok()) return hidden_.error();
  mask_folder_ = OpenBeneath(hidden_.get(), "folder");
  mask_file_ = OpenBeneath(hidden_.get(), "file");
  return root_.error();
}

Fd View::Copy() const { return CloneTree(root_.get(), 0); }

bool View::IsInPart(std::uint32_t index, const wire::ViewOpRecord& op) const {
  if (part_ == ViewPart::kWhole) return true;
  const ViewRole role = roles_[index];
  if (part_ == ViewPart::kOwn) return role == ViewRole::kOwn || role == ViewRole::kDivided;
  // Of a mount that each makes for itself, the place is shared.
  const auto kind = static_cast<ViewOpKind>(op.kind);
  return role != ViewRole::kOwn || kind == ViewOpKind::kProc || kind == ViewOpKind::kTmpfs;
}

Outcome View::Perform(const Block& block, wire::List list) {
  const auto* ops = block.Records<wire::ViewOpRecord>(list);
  for (std::uint32_t i = 0; i < list.count; ++i) {
    if (!IsInPart(i, ops[i])) continue;
    FindRow(block, ops + i, list.count - i);
    const int error = PerformOne(block, ops[i]);
    if (error == 0 || (ops[i].optional != 0 && IsMissing(error))) continue;
    const bool is_proc = static_cast<ViewOpKind>(ops[i].kind) == ViewOpKind::kProc;
    return At(is_proc ? Step::kProc : Step::kView, error, block.Text(ops[i].target));
  }
  EndRow();
  return {};
}

int View::PerformOne(const Block& block, const wire::ViewOpRecord& op) {
  const char* target = Relative(block.Text(op.target));
  const char* source = block.Text(op.source);
  switch (static_cast<ViewOpKind>(op.kind)) {
    case ViewOpKind::kDir:
      return MakeFolder(target, op.mode);
    case ViewOpKind::kFile:
      return MakeFile(target, block.Data(op.data), op.data.size, op.mode);
    case ViewOpKind::kSymlink:
      return MakeLink(target, block.Data(op.data));
    case ViewOpKind::kBind:
      if (is_in_row_) return BindInRow(target, source, op);
      return Bind(target, source, op, AttributesOf(op));
    case ViewOpKind::kSocket:
      // Connecting is possible through a read-only mount, changing the socket's mode is not.
      return Bind(target, source, op, kPlainAttributes | MOUNT_ATTR_RDONLY);
    case ViewOpKind::kProtect:
      if (const int error = CheckPlace(target, op)) return error;
      return Protect(target);
    case ViewOpKind::kMask:
      if (const int error = CheckPlace(target, op)) return error;
      return Mask(target);
    case ViewOpKind::kTmpfs:
      return MountTmpfs(target, op);
    case ViewOpKind::kPin:
      if (const int error = CheckPlace(target, op)) return error;
      return Pin(target, Relative(source));
    case ViewOpKind::kProc:
      return MountProc(target);
    case ViewOpKind::kDev:
      return MountDev(target, op.size_bytes);
  }
  return EINVAL;
}

int View::CheckPlace(const char* target, const wire::ViewOpRecord& op) const {
  if (op.device == 0 && op.inode == 0) return 0;
  const Fd place = OpenBeneath(root_.get(), target);
  FileStatus status;
  if (!place.ok()) return place.error();
  if (const int error = StatusOf(place.get(), &status)) return error;
  return IsExpected(status, op) ? 0 : ESTALE;
}

int View::MakeFolder(const char* target, std::uint32_t mode) {
  const char* name;
  const Fd parent = ParentOf(target, &name);
  if (!parent.ok()) return parent.error();
  const Fd present = OpenBeneath(parent.get(), name);
  if (present.ok()) return IsFolder(present.get()) ? 0 : ENOTDIR;
  if (!IsOwn(parent.get())) return present.error();
  return ErrorOf(Call(__NR_mkdirat, parent.get(), name, mode));
}

int View::MakeFile(const char* target, const char* data, std::uint32_t size, std::uint32_t mode) {
  const char* name;
  const Fd parent = ParentOf(target, &name);
  if (!parent.ok()) return parent.error();
  if (!IsOwn(parent.get())) return EROFS;
  const Fd file(Call(__NR_openat, parent.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                     static_cast<int>(mode)));
  if (!file.ok()) return file.error();
  while (size > 0) {
    const long written = Call(__NR_write, file.get(), data, size);
    if (ErrorOf(written) != 0) return ErrorOf(written);
    data += written;
    size -= static_cast<std::uint32_t>(written);
  }
  return 0;
}

int View::MakeLink(const char* target, const char* text) {
  const char* name;
  const Fd parent = ParentOf(target, &name);
  if (!parent.ok()) return parent.error();
  if (!IsOwn(parent.get())) return EROFS;
  return ErrorOf(Call(__NR_symlinkat, text, parent.get(), name));
}

int View::Bind(const char* target, const char* source, const wire::ViewOpRecord& op,
               std::uint64_t attributes) {
  const Fd from = OpenHost(source);
  if (!from.ok()) return from.error();
  FileStatus status;
  if (const int error = StatusOf(from.get(), &status)) return error;
  if (!IsExpected(status, op)) return ESTALE;
  const Fd tree = CloneTree(from.get(), attributes);
  if (!tree.ok()) return tree.error();
  const Fd place = Place(target, (status.stx_mode & kTypeMask) == kFolderType);
  if (!place.ok()) return place.error();
  return Attach(tree.get(), place.get());
}

int View::Protect(const char* target) {
  const Fd place = OpenBeneath(root_.get(), target);
  if (!place.ok()) return place.error();
  const Fd tree = CloneTree(place.get(), kPlainAttributes | MOUNT_ATTR_RDONLY);
  if (!tree.ok()) return tree.error();
  return Attach(tree.get(), place.get());
}

int View::MountTmpfs(const char* target, const wire::ViewOpRecord& op) {
  if (part_ == ViewPart::kShared && op.read_only == 0) return Place(target, true).error();
  TextBuffer<16> mode;
  mode.Add("0").AddNumber(op.mode, 8);
  TextBuffer<24> size;
  size.AddNumber(op.size_bytes);
  const char* const all[] = {"mode", mode.get(), "size", size.get(), nullptr};
  const char* const without_size[] = {"mode", mode.get(), nullptr};
  Fd mount = NewFileSystem("tmpfs", op.size_bytes != 0 ? all : without_size,
                           AttributesOf(op) & ~static_cast<std::uint64_t>(MOUNT_ATTR_RDONLY));
  if (!mount.ok()) return mount.error();
  const Fd place = Place(target, true);
  if (!place.ok()) return place.error();
  if (const int error = Attach(mount.get(), place.get())) return error;
  if (const int error = AddOwn(mount.get())) return error;
  if (op.read_only != 0) read_only_later_[read_only_later_count_++] = static_cast<Fd&&>(mount);
  return 0;
}

int View::Finish() {
  LeaveRowsToHost();
  if (part_ == ViewPart::kShared) {
    if (const int error = MakeHiddenPlace()) return error;
  } else if (hidden_.ok()) {
    if (const int error = Mask(kHiddenPlace)) return error;
  }
  for (int i = 0; i < read_only_later_count_; ++i) {
    const Fd mount = static_cast<Fd&&>(read_only_later_[i]);
    if (const int error = SetAttributes(mount.get(), MOUNT_ATTR_RDONLY)) return error;
  }
  if (part_ == ViewPart::kOwn) return 0;  // It has them.
  return SetAttributes(root_.get(), kPlainAttributes | MOUNT_ATTR_RDONLY);
}

int View::Enter() { return EnterRoot(root_.get()); }

Fd View::Place(const char* target, bool folder) {
  Fd present = OpenBeneath(root_.get(), target);
  if (present.ok() || present.error() != ENOENT) return present;
  const char* name;
  const Fd parent = ParentOf(target, &name);
  if (!parent.ok()) return Fd(-parent.error());
  if (!IsOwn(parent.get())) return Fd(-ENOENT);
  const long made = folder ? Call(__NR_mkdirat, parent.get(), name, 0755)
                           : Call(__NR_mknodat, parent.get(), name, kRegularType | 0444, 0);
  if (ErrorOf(made) != 0) return Fd(made);
  return OpenBeneath(parent.get(), name);
}

Fd View::ParentOf(const char* target, const char** name) {
  Fd folder = OpenBeneath(root_.get(), ".");
  for (;;) {
    const char* end = target;
    while (*end != '/' && *end != '\0') ++end;
    const char* rest = end;
    while (*rest == '/') ++rest;
    if (*rest == '\0') {
      *name = target;
      return folder;
    }
    TextBuffer<256> component;
    component.Add(target, static_cast<std::size_t>(end - target));
    if (!component.complete()) return Fd(-ENAMETOOLONG);
    Fd next = OpenBeneath(folder.get(), component.get(), O_DIRECTORY);
    if (next.error() == ENOENT && IsOwn(folder.get())) {
      const long made = Call(__NR_mkdirat, folder.get(), component.get(), 0755);
      if (ErrorOf(made) != 0) return Fd(made);
      next = OpenBeneath(folder.get(), component.get(), O_DIRECTORY);
    }
    if (!next.ok()) return next;
    folder = static_cast<Fd&&>(next);
    target = rest;
  }
}

bool View::IsOwn(int place) const {
  FileStatus status;
  if (StatusOf(place, &status) != 0) return false;
  for (int i = 0; i < own_count_; ++i) {
    if (own_[i] == Device{status.stx_dev_major, status.stx_dev_minor}) return true;
  }
  return false;
}

int View::AddOwn(int place) {
  FileStatus status;
  if (const int error = StatusOf(place, &status)) return error;
  if (own_count_ == kMaxOwn) return ENOSPC;
  own_[own_count_++] = {status.stx_dev_major, status.stx_dev_minor};
  return 0;
}

}  // namespace cordon::launcher
