#include "folder_look.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

// Below PATH_MAX, so that what is in the folder can still be named.
constexpr std::size_t kMaxFolderPath = 3800;

}  // namespace

absl::Status FolderLook::At(const std::string& relative, FolderRecord& record) {
  if (record.state != FolderRecord::State::kListed) return Read(relative, record);
  // The folders above a root are not watched: it may be another one.
  const bool is_root = relative.empty();
  if (record.watch.IsUnchanged() && !is_root) return absl::OkStatus();
  const bool to_watch = tree_.watchable && rules_.watches->has_room() && !record.watch.active();
  if (record.may_change_unnoticed || to_watch) return Read(relative, record);
  const NodeStatus now =
      is_root ? StatusOf(tree_.root.get()) : StatusOf(tree_.root.get(), relative);
  if (now.mount != tree_.mount || !record.IsOf(now)) return Read(relative, record);
  record.watch.Accept();
  return absl::OkStatus();
}

absl::Status FolderLook::Read(const std::string& relative, FolderRecord& record) {
  const std::string path = JoinPath(tree_.path, relative);
  const std::int64_t read_at = FileClockNanoseconds();
  const OpenedNode folder = path.size() > kMaxFolderPath
                                ? OpenedNode{UniqueFd(), EACCES}
                                : OpenFolderBeneath(tree_.root.get(), relative);
  const bool is_known = record.watch.IsUnchanged() || !record.may_change_unnoticed;
  if (!folder.fd.valid() || !tree_.watchable ||
      !rules_.watches->Begin(folder.fd.get(), record.watch)) {
    record.watch.Stop();
  }
  const NodeStatus now = folder.fd.valid() ? StatusOf(folder.fd.get()) : NodeStatus{};
  if (folder.fd.valid() && record.state == FolderRecord::State::kListed && is_known &&
      record.IsOf(now)) {
    return absl::OkStatus();
  }
  std::vector<FolderRecord::Child> known;
  // What is in another folder of the same name is another's, too, though that would not show: each
  // folder below is only asked whether it has changed.
  if (now.stamp.device == record.stamp.device && now.stamp.inode == record.stamp.inode &&
      now.born_ns == record.born_ns) {
    known = std::move(record.children);
  }
  record.Clear();
  record.stamp = now.stamp;
  record.born_ns = now.born_ns;
  record.listed_at_ns = read_at;
  record.may_change_unnoticed = MayChangeUnnoticed(now.stamp, read_at);
  int error = folder.error_number;
  if (folder.fd.valid()) {
    ++folders_read_;
    matcher_.EnterFolder(path);
    error = ReadNames(folder.fd.get(), [&](std::string_view name, NodeType type, std::uint64_t) {
      NoteName(record, path, name, type);
    });
  }
  record.Complete(std::move(known), path, rules_.request->whole_repositories);
  return record.SetState(error) ? absl::OkStatus()
                                : MakeErrnoError(error, absl::StrFormat("cannot list %s", path));
}

void FolderLook::NoteName(FolderRecord& record, const std::string& folder, std::string_view name,
                          NodeType type) {
  using Kind = FolderRecord::Finding::Kind;
  ++record.names;
  const auto note = [&](Kind kind, std::size_t pattern) {
    record.findings.push_back({kind, type, pattern, std::string(name)});
  };
  bool hidden = false;
  for (const std::size_t pattern : matcher_.Match(name)) {
    note(Kind::kMatch, pattern);
    hidden = hidden || rules_.request->patterns[pattern].hides;
  }
  if (name == "HEAD") record.has_head = true;
  if (type != NodeType::kFolder) {
    if (type == NodeType::kSocket) note(Kind::kSocket, 0);
    if (name == ".git") note(Kind::kGitFile, 0);
    return;
  }
  if (name == "objects") record.has_objects = true;
  if (name == "refs") record.has_refs = true;
  if (hidden || (!rules_.skip->empty() && rules_.skip->contains(JoinPath(folder, name)))) return;
  record.children.push_back({std::string(name), std::make_unique<FolderRecord>()});
}

}  // namespace cordon::internal
