// Which file systems are mounted where (proc(5), /proc/self/mountinfo), without touching them.

#ifndef CORDON_SANDBOX_SRC_MOUNT_TABLE_H_
#define CORDON_SANDBOX_SRC_MOUNT_TABLE_H_

#include <map>
#include <string>
#include <string_view>

namespace cordon::internal {

class MountTable {
 public:
  [[nodiscard]] static MountTable OfThisProcess();

  // Of the text of a mountinfo file; lines that are not understood are left out.
  [[nodiscard]] static MountTable Parse(std::string_view mountinfo);

  // Whether what is mounted exactly at `path` is kept by this host's kernel alone, so that reading
  // it cannot wait for a server, an automounter or a user's program. False when nothing is mounted
  // there.
  [[nodiscard]] bool IsLocal(const std::string& path) const;

  // The same for the file system that has `path`. What "/" is on is taken for local: nothing works
  // without it.
  [[nodiscard]] bool HasLocally(std::string_view path) const;

 private:
  std::map<std::string, std::string> type_of_;  // By mount point; the topmost counts.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_MOUNT_TABLE_H_
