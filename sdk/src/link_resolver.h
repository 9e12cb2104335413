// The symbolic links of several paths at one moment.

#ifndef CORDON_SDK_SRC_LINK_RESOLVER_H_
#define CORDON_SDK_SRC_LINK_RESOLVER_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cordon::internal {

// For one thread, and not to be kept: a folder that was found to be no link is not asked about
// again.
class LinkResolver {
 public:
  // As `ResolveSymlinks`.
  [[nodiscard]] absl::StatusOr<std::string> Resolve(std::string_view path);

 private:
  std::set<std::string, std::less<>> folders_;  // That are no links, or not there.
};

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_LINK_RESOLVER_H_
