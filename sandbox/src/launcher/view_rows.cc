// A row: many binds of entries of one folder into one folder, as of /etc, of which a view has some
// sixty.
//
// The folder is copied once, with the attributes that all of the row have, and the entries are
// copied from that copy: what is looked up, checked and mounted is the same, with 5 system calls
// for each where a bind by itself takes 17. The copy is attached nowhere meanwhile, which
// Linux 6.15 and newer allow; where it is refused each is bound by itself. In the end it is
// attached to the host's tree, to go down with that: by itself it would cost another wait of the
// kernel's (synchronize_rcu), which is longer than the whole row.

#include <linux/fcntl.h>

#include "launcher/status.h"
#include "launcher/text.h"
#include "launcher/view.h"
#include "view_op_kind.h"

namespace cordon::launcher {
namespace {

using internal::ViewOpKind;

// Of a row that saves more than the copy of the folder costs, and where it is looked for: other
// steps may come between.
constexpr std::uint32_t kShortestRow = 4;
constexpr std::uint32_t kLookAhead = 12;

// The length of `path` without its last component and the slash before it; 0 for "/name".
std::size_t ParentLength(const char* path) {
  std::size_t length = 0;
  for (std::size_t i = 0; path[i] != '\0'; ++i) {
    if (path[i] == '/') length = i;
  }
  return length;
}

bool SameParent(const char* a, const char* b) {
  const std::size_t length = ParentLength(a);
  if (length != ParentLength(b)) return false;
  for (std::size_t i = 0; i < length; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

bool IsReadOnlyBind(const wire::ViewOpRecord& op) {
  return static_cast<ViewOpKind>(op.kind) == ViewOpKind::kBind && op.read_only != 0;
}

bool IsInRow(const Block& block, const wire::ViewOpRecord& first, const wire::ViewOpRecord& op) {
  return IsReadOnlyBind(op) && op.executable == first.executable &&
         SameParent(block.Text(first.source), block.Text(op.source)) &&
         SameParent(block.Text(first.target), block.Text(op.target));
}

// Whether something at `target` could be mounted over the folder that `entry` is in.
bool IsAtOrAboveFolder(const char* target, const char* entry) {
  const std::size_t length = Length(target);
  if (length <= 1) return true;
  return length <= ParentLength(entry) && StartsWith(entry, target) && entry[length] == '/';
}

const char* LastComponent(const char* path) {
  const char* last = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') last = path + 1;
  }
  return last;
}

}  // namespace

void View::FindRow(const Block& block, const wire::ViewOpRecord* ops, std::uint32_t left) {
  is_in_row_ = row_.first != nullptr && IsInRow(block, *row_.first, ops[0]);
  if (is_in_row_) return;
  if (row_.first != nullptr &&
      IsAtOrAboveFolder(block.Text(ops[0].target), block.Text(row_.first->target))) {
    EndRow();
  }
  if (!has_rows_ || !IsReadOnlyBind(ops[0])) return;
  std::uint32_t length = 1;
  for (std::uint32_t i = 1; i < left && i < kLookAhead; ++i) {
    if (IsInRow(block, ops[0], ops[i])) ++length;
  }
  if (length >= kShortestRow) BeginRow(block, ops[0]);
}

void View::BeginRow(const Block& block, const wire::ViewOpRecord& first) {
  EndRow();
  if (past_row_count_ == kMaxPastRows) return;
  row_ = RowOf(block.Text(first.source), AttributesOf(first));
  const char* name;
  row_.target = ParentOf(Relative(block.Text(first.target)), &name);
  is_in_row_ = row_.copy.ok() && row_.target.ok() && IsOwn(row_.target.get());
  row_.first = &first;
  if (!is_in_row_) EndRow();
}

void View::EndRow() {
  is_in_row_ = false;
  if (row_.first != nullptr) past_rows_[past_row_count_++] = static_cast<Row&&>(row_);
  row_ = {};
}

View::Row View::RowOf(const char* entry, std::uint64_t attributes) const {
  Row row;
  TextBuffer<256> path;
  path.Add(entry, ParentLength(entry));
  // All of the host is too much to copy for a few of its folders.
  if (path.size() == 0 || !path.complete()) return row;
  row.host = OpenHost(path.get());
  if (row.host.ok()) row.copy = CloneTree(row.host.get(), attributes);
  return row;
}

void View::LeaveRowsToHost() {
  for (int i = 0; i < past_row_count_; ++i) {
    // Where it fails the copy goes now.
    if (past_rows_[i].copy.ok()) (void)Attach(past_rows_[i].copy.get(), past_rows_[i].host.get());
    past_rows_[i] = {};
  }
  past_row_count_ = 0;
}

int View::BindInRow(const char* target, const char* source, const wire::ViewOpRecord& op) {
  const Fd tree = CloneEntry(row_.copy.get(), LastComponent(source));
  if (tree.error() == EINVAL) {
    has_rows_ = false;
    EndRow();
    return Bind(target, source, op, AttributesOf(op));
  }
  if (!tree.ok()) return tree.error();
  // What was copied cannot become another object any more.
  FileStatus status;
  if (const int error = StatusOf(tree.get(), &status)) return error;
  if ((status.stx_mode & kTypeMask) == kLinkType) return ELOOP;
  if (!IsExpected(status, op)) return ESTALE;
  const char* name = LastComponent(target);
  const bool is_folder = (status.stx_mode & kTypeMask) == kFolderType;
  const long made = is_folder ? Call(__NR_mkdirat, row_.target.get(), name, 0755)
                              : Call(__NR_mknodat, row_.target.get(), name, kRegularType | 0444, 0);
  if (ErrorOf(made) == 0) return AttachAt(tree.get(), row_.target.get(), name);
  const Fd place = Place(target, is_folder);
  if (!place.ok()) return place.error();
  return Attach(tree.get(), place.get());
}

}  // namespace cordon::launcher
