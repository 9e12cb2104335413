#include "cache_folder.h"

#include <cstdlib>
#include <string_view>

#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"

namespace cordon::cli {
namespace {

// Empty unless it is an absolute path.
std::string PathFrom(const char* name) {
  const char* const value = std::getenv(name);
  const std::string_view path = value != nullptr ? value : "";
  return path.starts_with('/') ? NormalizePath(path) : std::string();
}

}  // namespace

std::string CacheFolder() {
  const std::string home = PathFrom("HOME");
  std::string folder = PathFrom("XDG_CACHE_HOME");
  if (folder.empty() && !home.empty()) folder = home + "/.cache";
  if (folder.empty()) return folder;
  const auto resolved = ResolveSymlinks(folder);
  return NormalizePath((resolved.ok() ? *resolved : folder) + "/cordon");
}

}  // namespace cordon::cli
