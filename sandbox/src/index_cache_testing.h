// For tests of caches of indexes: a workspace, and programs that look at it one after the other.

#ifndef CORDON_SANDBOX_SRC_INDEX_CACHE_TESTING_H_
#define CORDON_SANDBOX_SRC_INDEX_CACHE_TESTING_H_

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "index_cache.h"
#include "sandbox_testing.h"
#include "support/catch.h"
#include "user_key.h"
#include "workspace_index.h"

namespace cordon::internal::testing::index_cache {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

// The times of the file systems that tests run on are far finer than those of the oldest.
inline constexpr std::int64_t kShortMarginNs = 50'000'000;

inline void Write(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << "x";
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Until what was changed before is older than the margin.
inline void LetAge() { testing::LetFileClockPass(2 * kShortMarginNs); }

// A workspace with enough folders to be kept, and the cache of the programs that look at it.
class Ground {
 public:
  Ground() {
    for (int i = 0; i < 80; ++i) Write(root / ("f" + std::to_string(i) + "/deep/file"));
    request.roots = {root.path()};
    request.patterns = {{root / "**/.env", true}};
    LetAge();
  }

  // As a new program looks at it. Returns how many folders it had to read.
  std::size_t Look() {
    WorkspaceIndex index(std::make_unique<IndexCache>(folder, margin));
    REQUIRE(index.Refresh(request).ok());
    contents = index.contents();
    index.Keep();
    return index.folders_read();
  }
  [[nodiscard]] IndexContents Fresh() const {
    WorkspaceIndex index;
    REQUIRE(index.Refresh(request).ok());
    return index.contents();
  }
  [[nodiscard]] Paths Found() const {
    Paths paths;
    for (const IndexMatch& match : contents.matches) paths.push_back(match.path);
    return paths;
  }
  // The one file of the cache; "" when there is none.
  [[nodiscard]] std::string File() const {
    if (!fs::exists(folder)) return "";
    const auto first = fs::directory_iterator(folder);
    return first == fs::directory_iterator() ? "" : first->path().string();
  }

  const TemporaryFolder root;
  const TemporaryFolder home;
  std::string folder = home / ".cache/cordon";
  std::int64_t margin = kShortMarginNs;
  IndexRequest request;
  IndexContents contents;
};

inline constexpr std::size_t kAllFolders = 161;

inline bool KeepsKeys() { return UserKey::FindOrMake().has_value(); }

}  // namespace cordon::internal::testing::index_cache

#define NEEDS_CACHE(ground)                                                                 \
  if (!KeepsKeys() || (ground).Look() != kAllFolders || (ground).Look() != 0) {             \
    CORDON_SKIP("keyrings", "no keys of the kernel, or a file system that is not trusted"); \
  }                                                                                         \
  static_assert(true)

#endif  // CORDON_SANDBOX_SRC_INDEX_CACHE_TESTING_H_
