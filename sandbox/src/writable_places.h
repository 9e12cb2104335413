// Where a command of the landlock tier may write, as one question about a path, and what the rules
// that were made for it let be done there.

#ifndef CORDON_SANDBOX_SRC_WRITABLE_PLACES_H_
#define CORDON_SANDBOX_SRC_WRITABLE_PLACES_H_

#include <set>
#include <string>
#include <vector>

#include "cordon/sdk/path_policy.h"
#include "host_rules.h"
#include "plan.h"

namespace cordon::internal {

// Never more than the policy allows, nor more than the Landlock rules that were made of `wishes`
// but for names that appeared later. Immutable; safe from any thread. `absent`: names that must not
// come into being.
class WritablePlaces {
 public:
  // `own_folders`: the executor's private ones, of which the policy says nothing.
  WritablePlaces(PathPolicy paths, Wishes wishes, std::vector<std::string> own_folders,
                 std::vector<std::string> absent, const HostRules& rules);

  // `path` is absolute and leads through no link.
  [[nodiscard]] bool Has(const std::string& path) const;
  // The same for making, moving and removing the name itself. `is_new`: in a folder that the
  // command has made, so that protected patterns, which are matched before it starts, do not count.
  [[nodiscard]] bool MayChange(const std::string& path, bool is_new) const;
  // Whether there is a rule of its own for something below `path`.
  [[nodiscard]] bool HasRulesBelow(const std::string& path) const;
  // Whether the Landlock rules let names be made, moved and removed directly in what was at `path`
  // when they were made, and everywhere below it.
  [[nodiscard]] bool IsFree(const std::string& path) const { return free_.contains(path); }
  // Whether they let everything be read there that is in it now or later.
  [[nodiscard]] bool IsReadable(const std::string& path) const { return readable_.contains(path); }
  // Whether there is a folder where names may be made of which the rules do not let the command
  // read what it makes, since something beside is hidden.
  [[nodiscard]] bool HasClosed() const { return !closed_.empty(); }
  // Whether `path` is such a folder or lies in one.
  [[nodiscard]] bool IsInClosed(const std::string& path) const;
  // Whether it is one that the policy shows but the rules do not let be listed.
  [[nodiscard]] bool IsUnlisted(const std::string& path) const { return unlisted_.contains(path); }

 private:
  [[nodiscard]] bool IsOnlyProtected(const std::string& path) const;

  const PathPolicy paths_;
  const Wishes wishes_;
  const std::vector<std::string> own_folders_;
  const std::set<std::string> absent_;
  std::set<std::string> free_;
  std::set<std::string> readable_;
  std::set<std::string> closed_;
  std::set<std::string> unlisted_;  // Of those.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_WRITABLE_PLACES_H_
