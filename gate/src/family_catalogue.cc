#include "family_groups.h"

namespace cordon::internal {

const std::vector<Family>& FamilyCatalogue() {
  static const std::vector<Family> catalogue = [] {
    std::vector<Family> all = GitFamilies();
    for (auto* make : {FileFamilies, BuildFamilies}) {
      for (Family& family : make()) all.push_back(std::move(family));
    }
    return all;
  }();
  return catalogue;
}

}  // namespace cordon::internal
