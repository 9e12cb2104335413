// Finds which of many globs match a path, at the cost of one look-up for a path that matches none:
// only globs whose last component fits the path's last component are asked. What matches is decided
// by `GlobMatches` alone.

#ifndef CORDON_SANDBOX_SRC_GLOB_FILTER_H_
#define CORDON_SANDBOX_SRC_GLOB_FILTER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cordon::internal {

// Immutable; safe from any thread.
class GlobFilter {
 public:
  explicit GlobFilter(const std::vector<std::string>& patterns);

  // Positions of the patterns that match `folder`/`name`, in no particular order.
  void Match(const std::string& folder, std::string_view name,
             std::vector<std::size_t>& positions) const;

 private:
  enum class Tail { kLiteral, kSuffix, kPattern, kAnything };
  struct Pattern {
    std::string text;
    std::string base;  // Without a special character: everything that matches lies in this folder.
    Tail tail = Tail::kAnything;
    std::string tail_text;
  };

  [[nodiscard]] bool Matches(const Pattern& pattern, const std::string& folder,
                             std::string_view name) const;

  std::vector<Pattern> patterns_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> literal_;
  std::vector<std::size_t> others_;
};

// The folder in which everything lies that `pattern` can match: its components before the first one
// with a special character.
[[nodiscard]] std::string GlobBase(std::string_view pattern);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_GLOB_FILTER_H_
