// Finds which of many globs match the names of a folder, at the cost of a look-up or two for a name
// that matches none. The part of a glob before its last component is compared once for the folder;
// what matches is decided by `GlobMatches`, here only asked less often.

#ifndef CORDON_SANDBOX_SRC_GLOB_FILTER_H_
#define CORDON_SANDBOX_SRC_GLOB_FILTER_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cordon::internal {

// For one thread at a time.
class GlobFilter {
 public:
  // Absolute globs.
  explicit GlobFilter(const std::vector<std::string>& patterns);
  GlobFilter(const GlobFilter&) = delete;
  GlobFilter& operator=(const GlobFilter&) = delete;

  // The folder whose names are asked for from now on.
  void EnterFolder(const std::string& folder);

  // Positions of the patterns that match `name` in that folder, in no particular order; valid until
  // the next call.
  [[nodiscard]] const std::vector<std::size_t>& Match(std::string_view name);

 private:
  // What globs have before their last component.
  struct Prefix {
    std::string text;
    std::string base;          // Of `base/**`: everything below that folder.
    std::string last_literal;  // The folder's own name, where the glob says it.
    bool is_any_depth = false;
    bool is_active = false;  // Matches the folder.
  };
  struct Pattern {
    std::size_t prefix = 0;
    std::string last;  // The last component as a pattern of its own, "/x".
    // Of a component with one star and no other special character: what is around that.
    bool has_one_star = false;
    std::string start;
    std::string end;

    [[nodiscard]] bool Matches(std::string_view name) const;
  };
  using Positions = std::vector<std::size_t>;

  void AddPattern(const std::string& text, std::map<std::string, std::size_t>& prefixes);
  void Take(const std::unordered_map<std::string, Positions>& from, std::string_view key);
  [[nodiscard]] static bool MatchesFolder(const Prefix& prefix, const std::string& folder);

  std::vector<Prefix> prefixes_;
  std::vector<Pattern> patterns_;
  std::unordered_map<std::string, Positions> by_name_;       // `.env`
  std::unordered_map<std::string, Positions> by_extension_;  // `*.key`, as "key"
  Positions others_;
  Positions active_others_;
  Positions matched_;
  std::string key_;
};

// The folder in which everything lies that `pattern` can match: its components before the first one
// with a special character.
[[nodiscard]] std::string GlobBase(std::string_view pattern);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_GLOB_FILTER_H_
