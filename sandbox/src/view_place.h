// What a path leads to inside a running sandbox, looked up from the host.

#ifndef CORDON_SANDBOX_SRC_VIEW_PLACE_H_
#define CORDON_SANDBOX_SRC_VIEW_PLACE_H_

#include <sys/stat.h>

#include <string>

namespace cordon::internal {

struct ViewPlace {
  // Absolute, without links; as far as nothing is there, by text alone.
  std::string path;
  bool exists = false;
  struct stat status = {};  // Where it exists.
  bool read_only = false;   // Its mount, or its folder's where it does not exist.
  bool no_exec = false;
  bool folder_exists = false;
};

// Looks up the absolute `path` below `root`, the open root folder of the sandbox. `follow`: a link
// at the end of it is followed, too. Magic links are not. Changes and opens nothing.
[[nodiscard]] ViewPlace FindInView(int root, const std::string& path, bool follow);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_PLACE_H_
