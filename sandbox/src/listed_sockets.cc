#include "listed_sockets.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "directory_reader.h"
#include "host_looks.h"
#include "view_system.h"

namespace cordon::internal {
namespace {

constexpr int kMaxLinks = 40;  // As the kernel, path_resolution(7).

// The first component of `path` that is a link, as a path; empty when there is none.
std::string FirstLink(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string component = path.substr(0, end);
    if (!LinkAt(component).empty()) return component;
    if (end == std::string::npos) return {};
  }
}

std::string Follow(const std::string& path, const std::string& link) {
  const std::string text = LinkAt(link);
  const std::string target = text.starts_with('/') ? text : JoinPath(ParentPath(link), text);
  return NormalizePath(absl::StrCat(target, path.substr(link.size())));
}

}  // namespace

ListedSocket FindListedSocket(const PathPolicy& paths, const std::string& path, bool has_view) {
  ListedSocket found{path, {}, {}};
  std::string place = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    const std::string link = FirstLink(place);
    if (link.empty()) break;
    if (paths.Resolve(Axis::kWrite, link).access == Access::kAllow) {
      found.problem = absl::StrCat(
          path, " is not reachable: ", link,
          " is a link in a folder that commands may write to; list the socket that it leads to");
      return found;
    }
    place = Follow(place, link);
  }
  if (TypeAt(place) != NodeType::kSocket) {
    found.problem = absl::StrCat(path, " is not reachable: no socket was there at the start");
  } else if (has_view && IsReservedPlace(place)) {
    found.problem = absl::StrCat(path, " is not reachable: ", ParentPath(place),
                                 " is the sandbox's own in every view");
  } else {
    found.socket = place;
  }
  return found;
}

}  // namespace cordon::internal
