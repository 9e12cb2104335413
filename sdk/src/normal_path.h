// The one spelling that a path may have in scopes, commands and grants.

#ifndef CORDON_SDK_SRC_NORMAL_PATH_H_
#define CORDON_SDK_SRC_NORMAL_PATH_H_

#include <string_view>

namespace cordon::internal {

// True for an absolute path without `.` and `..` components, doubled or trailing slashes and NUL
// bytes; `/` is one. Text only.
[[nodiscard]] inline bool IsNormalAbsolutePath(std::string_view path) {
  if (path.empty() || path.front() != '/') return false;
  if (path.find('\0') != std::string_view::npos) return false;
  if (path == "/") return true;
  std::string_view rest = path;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // The slash.
    const std::string_view component = rest.substr(0, rest.find('/'));
    if (component.empty() || component == "." || component == "..") return false;
    rest.remove_prefix(component.size());
  }
  return true;
}

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_NORMAL_PATH_H_
