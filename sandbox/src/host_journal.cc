#include "host_journal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "folder_watches.h"
#include "host_looks.h"
#include "unix_socket_table.h"

namespace cordon::internal {
namespace {

// Every place that looks at the host would have to hand it on; one that forgot would make views
// stale.
thread_local HostJournal* kept_here = nullptr;

// To begin watching costs as much as to ask some ten times.
constexpr std::size_t kOften = 8;
constexpr std::size_t kMostDisturbed = 8;

// Whether a look at a name gives the same as long as the name's folder does not change.
bool ShowsInFolder(LookKind kind, std::string_view answer) {
  switch (kind) {
    case LookKind::kType:
    case LookKind::kFile:
    case LookKind::kLink:
      return true;
    case LookKind::kNames:
      return !answer.starts_with('/');  // An error may lie in a folder further up.
    case LookKind::kText:
    case LookKind::kOwner:
    case LookKind::kResolved:
    case LookKind::kSockets:
      return false;
  }
  return false;
}

}  // namespace

HostJournal::Recording::Recording(HostJournal& journal) { kept_here = &journal; }
HostJournal::Recording::~Recording() { kept_here = nullptr; }

HostJournal::Unnoted::Unnoted() : suspended_(kept_here) { kept_here = nullptr; }
HostJournal::Unnoted::~Unnoted() { kept_here = suspended_; }

HostJournal* HostJournal::OfThisThread() { return kept_here; }

void HostJournal::NoteUnrepeatable() {
  if (kept_here != nullptr) kept_here->worthless_ = true;
}

HostJournal::HostJournal()
    : mounts_(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)), caller_(PresentCaller()) {}

HostJournal::Caller HostJournal::PresentCaller() {
  const NodeStatus root = StatusOf("/");
  return {geteuid(), getegid(), {root.stamp.device, root.stamp.inode, 0, 0}, root.mount};
}

void HostJournal::Note(LookKind kind, std::string_view path, const std::string& answer) {
  const bool is_list = kind == LookKind::kNames;
  const std::string folder = is_list ? std::string(path) : ParentPath(path);
  Looks& looks = ShowsInFolder(kind, answer) ? folders_[folder].looks : always_;
  const auto [known, is_new] = looks.try_emplace({kind, std::string(path)}, answer);
  if (!is_new && known->second != answer) worthless_ = true;
}

bool HostJournal::StillHolds(bool links_may_differ) {
  if (worthless_ || MountsChanged() || PresentCaller() != caller_ || !AlwaysHolds()) return false;
  is_quiet_ = IsQuiet();
  // A folder's path comes before those of the folders in it.
  return std::all_of(folders_.begin(), folders_.end(), [&](auto& entry) {
    return FolderHolds(entry.first, entry.second, links_may_differ);
  });
}

bool HostJournal::AlwaysHolds() {
  return std::all_of(always_.begin(), always_.end(), [this](const auto& look) {
    const auto& [kind, path] = look.first;
    if (kind != LookKind::kSockets) return AskAgain(kind, path) == look.second;
    if (!sockets_.valid()) sockets_ = UnixSocketTable::Open();
    return UnixSocketTable::BoundNamesIn(sockets_.get()) == look.second;
  });
}

bool HostJournal::Holds(const Looks& looks) {
  return std::all_of(looks.begin(), looks.end(), [](const auto& look) {
    return AskAgain(look.first.first, look.first.second) == look.second;
  });
}

bool HostJournal::FilesHold(const Looks& looks) {
  for (auto look = looks.lower_bound({LookKind::kFile, ""});
       look != looks.end() && look->first.first == LookKind::kFile; ++look) {
    if (AskAgain(LookKind::kFile, look->first.second) != look->second) return false;
  }
  return true;
}

bool HostJournal::FolderHolds(const std::string& path, Folder& folder, bool links_may_differ) {
  folder.unchanged = true;
  if (IsMissingStill(path, folder)) return true;
  if (is_quiet_ && folder.watch.active()) return !links_may_differ || FilesHold(folder.looks);
  const std::int64_t now = FileClockNanoseconds();
  const NodeStatus status = StatusOf(path);
  const bool is_missing = status.type == NodeType::kMissing;
  const bool is_same = is_missing ? folder.missing : folder.settled && status.stamp == folder.stamp;
  if (is_same) return is_missing || !links_may_differ || FilesHold(folder.looks);
  folder.unchanged = false;
  ++rechecks_;
  if (!Holds(folder.looks)) return false;
  folder.stamp = status.stamp;
  folder.missing = is_missing;
  folder.settled = status.type == NodeType::kFolder && !MayChangeUnnoticed(status.stamp, now) &&
                   KeepsTimes(path, status.stamp.device);
  return true;
}

// What is found by asking holds until something happens that is noted from before that on.
bool HostJournal::IsQuiet() {
  if (++asked_ == kOften) StartWatching();
  if (watches_ == nullptr || asked_ == kOften) return false;
  const bool some = watches_->Drain();
  const bool leads_there =
      std::all_of(ways_.begin(), ways_.end(), [](const auto& way) { return way.second.active(); });
  if (!some && leads_there) {
    disturbed_ = 0;
    return true;
  }
  if (leads_there && ++disturbed_ < kMostDisturbed) return false;
  // It costs more than it saves.
  for (auto& [path, folder] : folders_) folder.watch.Stop();
  ways_.clear();
  watches_.reset();
  return false;
}

void HostJournal::StartWatching() {
  watches_ = FolderWatches::Start();
  if (watches_ == nullptr) return;
  for (auto& [path, folder] : folders_) {
    if (!folder.missing && WatchWayTo(path)) (void)Watch(path, folder.watch);
  }
}

bool HostJournal::WatchWayTo(const std::string& folder) {
  for (std::string way = folder; way != "/";) {
    way = ParentPath(way);
    FolderWatch& watch = ways_[way];
    if (watch.active() || Watch(way, watch)) continue;
    ways_.erase(way);
    return false;
  }
  return true;
}

bool HostJournal::Watch(const std::string& folder, FolderWatch& watch) {
  const OpenedNode opened = OpenFolderAt(folder);
  return opened.fd.valid() && FolderWatches::IsWatchable(opened.fd.get()) &&
         watches_->Begin(opened.fd.get(), watch);
}

// In a folder that has not changed, or that is missing itself.
bool HostJournal::IsMissingStill(const std::string& path, const Folder& folder) const {
  if (!folder.missing) return false;
  const auto around = folders_.find(ParentPath(path));
  return around != folders_.end() && around->second.unchanged &&
         (around->second.settled || around->second.missing);
}

std::set<std::string> HostJournal::UnchangedFolders() const {
  std::set<std::string> unchanged;
  for (const auto& [path, folder] : folders_) {
    if (folder.settled) unchanged.insert(path);
  }
  return unchanged;
}

bool HostJournal::IsUnchanged(const std::string& folder) const {
  const auto known = folders_.find(folder);
  return known != folders_.end() && known->second.settled &&
         StatusOf(folder).stamp == known->second.stamp;
}

bool HostJournal::WasMissing(const std::string& path) const {
  const auto folder = folders_.find(ParentPath(path));
  if (folder == folders_.end()) return false;
  const auto look = folder->second.looks.find({LookKind::kType, path});
  return look != folder->second.looks.end() && look->second == kMissingAnswer;
}

bool HostJournal::MountsChanged() const {
  pollfd entry = {mounts_.get(), POLLPRI, 0};
  return !mounts_.valid() || poll(&entry, 1, 0) != 0;
}

bool HostJournal::KeepsTimes(const std::string& folder, std::uint64_t device) {
  const auto [known, is_new] = keeps_times_.try_emplace(device, false);
  if (is_new) known->second = FolderWatches::KeepsTimes(folder);
  return known->second;
}

}  // namespace cordon::internal
