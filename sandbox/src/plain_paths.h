// Paths of a command, as the host sees them, with every link replaced by what it says.

#ifndef CORDON_SANDBOX_SRC_PLAIN_PATHS_H_
#define CORDON_SANDBOX_SRC_PLAIN_PATHS_H_

#include <optional>
#include <string>

#include "directory_reader.h"
#include "mount_table.h"

namespace cordon::internal {

// Used by one thread at a time. Touches nothing on file systems that could keep it waiting.
class PlainPaths {
 public:
  // The absolute `path` with every link replaced, the last component only with `follow`; empty when
  // that leads to what is not kept by this host alone, over links with very long texts, or nowhere.
  // What the links say may change.
  [[nodiscard]] std::string WithoutLinks(const std::string& path, bool follow);
  [[nodiscard]] bool IsLocal(const std::string& path);

 private:
  std::optional<MountTable> mounts_;
};

// The object at `path`, O_PATH, which no link leads to (ELOOP).
[[nodiscard]] OpenedNode OpenPlain(const std::string& path);

// Where the open object is now; empty when it has no place.
[[nodiscard]] std::string PlaceOf(int object);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PLAIN_PATHS_H_
