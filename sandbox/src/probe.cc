#include "cordon/sandbox/probe.h"

namespace cordon {

std::string_view TierName(Tier tier) {
  switch (tier) {
    case Tier::kNone:
      return "none";
    case Tier::kLandlock:
      return "landlock";
    case Tier::kNamespaces:
      return "namespaces";
  }
  return "none";
}

}  // namespace cordon
