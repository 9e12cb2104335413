#include "writable_places.h"

#include <algorithm>
#include <utility>

namespace cordon::internal {

WritablePlaces::WritablePlaces(PathPolicy paths, Wishes wishes,
                               std::vector<std::string> own_folders)
    : paths_(std::move(paths)), wishes_(std::move(wishes)), own_folders_(std::move(own_folders)) {}

bool WritablePlaces::Has(const std::string& path) const {
  if (!IsWritableOnHost(wishes_, path)) return false;
  const auto is_above = [&path](const std::string& own) { return IsWithin(path, own); };
  return std::any_of(own_folders_.begin(), own_folders_.end(), is_above) ||
         paths_.Resolve(Axis::kWrite, path).access == Access::kAllow;
}

}  // namespace cordon::internal
