// Where a command of the landlock tier may write, as one question about a path.

#ifndef CORDON_SANDBOX_SRC_WRITABLE_PLACES_H_
#define CORDON_SANDBOX_SRC_WRITABLE_PLACES_H_

#include <string>
#include <vector>

#include "cordon/sdk/path_policy.h"
#include "host_rules.h"

namespace cordon::internal {

// Never more than the policy allows, nor more than the Landlock rules that were made of `wishes`
// but for names that appeared later. Immutable; safe from any thread.
class WritablePlaces {
 public:
  // `own_folders`: the executor's private ones, of which the policy says nothing.
  WritablePlaces(PathPolicy paths, Wishes wishes, std::vector<std::string> own_folders);

  // `path` is absolute and leads through no link.
  [[nodiscard]] bool Has(const std::string& path) const;

 private:
  const PathPolicy paths_;
  const Wishes wishes_;
  const std::vector<std::string> own_folders_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_WRITABLE_PLACES_H_
