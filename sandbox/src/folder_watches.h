// Whether folders have changed, without looking at them: inotify(7). A change that was complete
// before `Drain` is never missed, since the kernel queues it before the call that made it returns.
// That holds for local file systems only (`IsWatchable`).

#ifndef CORDON_SANDBOX_SRC_FOLDER_WATCHES_H_
#define CORDON_SANDBOX_SRC_FOLDER_WATCHES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

class FolderWatches;

// Of one folder, or of none. It must not outlive its `FolderWatches`.
class FolderWatch {
 public:
  FolderWatch() = default;
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;
  ~FolderWatch() { Stop(); }

  // Whether the folder is watched and names in it, its rights and its place were the same at the
  // last `Drain` as at the last `Begin`.
  [[nodiscard]] bool IsUnchanged() const { return owner_ != nullptr && !changed_; }
  [[nodiscard]] bool active() const { return owner_ != nullptr; }
  // What has changed since was looked at, after the last `Drain`.
  void Accept() { changed_ = false; }
  void Stop();

 private:
  friend class FolderWatches;

  FolderWatches* owner_ = nullptr;
  int number_ = -1;
  bool changed_ = false;
};

// For one thread at a time.
class FolderWatches {
 public:
  // Null where the host gives none. Uses a part of what its user may watch in all.
  [[nodiscard]] static std::unique_ptr<FolderWatches> Start();

  FolderWatches(UniqueFd notifications, UniqueFd mounts, std::size_t max_watches);
  FolderWatches(const FolderWatches&) = delete;
  FolderWatches& operator=(const FolderWatches&) = delete;

  // Whether every change below `folder` (open, borrowed) is notified: by the kind of its file
  // system. On network file systems and those of user space, others make changes, too.
  [[nodiscard]] static bool IsWatchable(int folder);

  // Whether each change of names in the folder `path` shows in its times: by the kind of its file
  // system. Also on one that is made of others, where no watch sees all.
  [[nodiscard]] static bool KeepsTimes(const std::string& path);

  // Watches `folder` (open, borrowed) from now on, instead of what `watch` had before. What is
  // found out about the folder afterwards holds while `watch` is unchanged. False when it cannot be
  // watched; `watch` is of no folder then.
  bool Begin(int folder, FolderWatch& watch);

  // False once a folder could not be watched for want of room: it is of no use to try others.
  [[nodiscard]] bool has_room() const { return has_room_; }

  // Takes in what has happened up to now. False when nothing has: every active watch is unchanged
  // and so are the mounts of this process.
  bool Drain();

 private:
  friend class FolderWatch;

  void Remove(const FolderWatch& watch);
  void MarkAll();
  void Take(std::string_view events);

  UniqueFd notifications_;
  UniqueFd mounts_;  // /proc/self/mountinfo, which poll(2) watches (proc(5)).
  const std::size_t max_watches_;
  bool has_room_ = true;
  // A folder that is seen at two places has one number.
  std::unordered_map<int, std::vector<FolderWatch*>> watches_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_FOLDER_WATCHES_H_
