// Finds which of many globs match the names of a folder, at the cost of a look-up or two for a name
// that matches none. The part of a glob before its last component is compared once for the folder;
// what matches is decided by `GlobMatches`, here only asked less often.

#ifndef CORDON_SANDBOX_SRC_GLOB_FILTER_H_
#define CORDON_SANDBOX_SRC_GLOB_FILTER_H_

#include <bitset>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cordon::internal {

// Immutable; safe from any thread.
class GlobFilter {
 public:
  // Absolute globs.
  explicit GlobFilter(const std::vector<std::string>& patterns);
  GlobFilter(const GlobFilter&) = delete;
  GlobFilter& operator=(const GlobFilter&) = delete;

 private:
  friend class NameMatcher;

  // What globs have before their last component.
  struct Prefix {
    std::string text;
    std::string base;  // Of `base/**`: everything below that folder.
    bool is_any_depth = false;

    [[nodiscard]] bool Matches(const std::string& folder) const;
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
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Positions = std::vector<std::size_t>;
  using PositionsByText = std::unordered_map<std::string, Positions, Hash, std::equal_to<>>;

  void AddPattern(const std::string& text, std::map<std::string, std::size_t>& prefixes);
  void AddText(std::string_view text, std::size_t position, PositionsByText& to);

  std::vector<Prefix> prefixes_;
  std::vector<Pattern> patterns_;
  PositionsByText by_name_;       // `.env`
  PositionsByText by_extension_;  // `*.key`, as "key"
  std::bitset<256> last_bytes_;   // Of the texts of these two.
  Positions others_;
};

// Asks a filter, which must outlive it. For one thread at a time.
class NameMatcher {
 public:
  explicit NameMatcher(const GlobFilter& filter)
      : filter_(filter), is_active_(filter.prefixes_.size()) {}
  NameMatcher(const NameMatcher&) = delete;
  NameMatcher& operator=(const NameMatcher&) = delete;

  // The folder whose names are asked for from now on.
  void EnterFolder(const std::string& folder);

  // Positions of the patterns that match `name`, which is not empty, in that folder, in no
  // particular order; valid until the next call.
  [[nodiscard]] const std::vector<std::size_t>& Match(std::string_view name);

 private:
  void Take(const GlobFilter::PositionsByText& from, std::string_view text);

  const GlobFilter& filter_;
  std::vector<bool> is_active_;  // The prefixes that match the folder.
  std::vector<std::size_t> active_others_;
  std::vector<std::size_t> matched_;
};

// The folder in which everything lies that `pattern` can match: its components before the first one
// with a special character.
[[nodiscard]] std::string GlobBase(std::string_view pattern);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_GLOB_FILTER_H_
