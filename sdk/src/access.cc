#include "cordon/sdk/access.h"

namespace cordon {

std::string_view AccessName(Access access) {
  switch (access) {
    case Access::kDeny:
      return "deny";
    case Access::kGated:
      return "gated";
    case Access::kAllow:
      return "allow";
  }
  return "deny";
}

std::optional<Access> ParseAccess(std::string_view text) {
  for (const Access access : {Access::kDeny, Access::kGated, Access::kAllow}) {
    if (text == AccessName(access)) return access;
  }
  return std::nullopt;
}

}  // namespace cordon
