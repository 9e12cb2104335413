// What one program found below the roots of a profile, kept for the next one: a file in a folder of
// the user's for each request. Nothing in it is believed but what this user's programs wrote since
// the last boot, outside of every sandbox (user_key.h), with the clock as it is now, for this very
// request. Of that, a folder counts only while it is the same object (device, inode, birth), seen
// through the same mount, with the same times, and only if it had not changed for a while when it
// was listed: the kernel gives ctime at each change of the names in a folder, no program can set it
// (utimensat(2) sets it, too), and it only repeats within its resolution. Anything else leads to
// looking again, and no error does.

#ifndef CORDON_SANDBOX_SRC_INDEX_CACHE_H_
#define CORDON_SANDBOX_SRC_INDEX_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "index_record.h"
#include "index_request.h"

namespace cordon::internal {

// Safe from any thread, and for any number of programs at once.
class IndexCache {
 public:
  // More than the resolution of any local file system's times, one or two seconds on old ones, with
  // room for a clock that is set by less than the half of a second.
  static constexpr std::int64_t kMarginNs = 3'000'000'000;
  // Of other workspaces, and of the same one with other rules.
  static constexpr std::size_t kMaxFiles = 64;

  // `folder`: absolute, without symbolic links; is made when something is saved. It must be this
  // user's alone, else there is no cache. No command's policy may let it write there: what it could
  // do is limited to having no cache, but that, too, is nothing to give away.
  explicit IndexCache(std::string folder, std::int64_t margin_ns = kMarginNs);

  // Nothing when there is nothing to be believed.
  [[nodiscard]] IndexTrees Load(const IndexRequest& request) const;

  // `trees` as they are after a refresh for `request`.
  void Save(const IndexRequest& request, const IndexTrees& trees) const;

 private:
  const std::string folder_;
  const std::int64_t margin_ns_;
  const std::int64_t clock_offset_;  // Before anything was looked at.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_INDEX_CACHE_H_
