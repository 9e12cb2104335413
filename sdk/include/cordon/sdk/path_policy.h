// The one resolver of path rules: `Profile::AccessFor`, every sandbox backend and `cordon why` ask
// it, so that what is explained is what is enforced. Pure: paths are compared as text, the file
// system is never touched. Immutable after construction and safe from any thread.
//
// Order of decision, for each axis on its own:
//   1. a deny glob that matches the path, or a folder above it, wins over everything;
//   2. else the literal rule with the longest path wins; at the same path an exact rule beats a
//      tree rule, and among equals the narrowest access wins;
//   3. a protected pattern then takes away write, unless the winning literal rule names the
//      protected path itself or something below it;
//   4. write and execute are never wider than read; no rule at all means Deny.

#ifndef CORDON_SDK_PATH_POLICY_H_
#define CORDON_SDK_PATH_POLICY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cordon/sdk/access.h"

namespace cordon {

enum class Axis : std::uint8_t { kRead, kExecute, kWrite };

[[nodiscard]] std::string_view AxisName(Axis axis);  // "read", "execute", "write"

enum class PathShape : std::uint8_t {
  kTree,   // The path and everything below it.
  kExact,  // The object at the path only; not what a folder contains.
};

// A literal rule. An axis without a value is not decided by this rule.
struct PathRule {
  std::string path;  // Absolute and normal.
  PathShape shape = PathShape::kTree;
  std::optional<Access> read;
  std::optional<Access> execute;
  std::optional<Access> write;
  std::string origin;  // Where the rule came from, for people: "workspace", "--read /x", ...
};

// A glob over absolute paths: `*` and `?` within a component, `**` for any number of components
// (none included), `[...]` with ranges and `!` or `^` for negation. Case-sensitive. A leading dot
// is matched like any other character; a bracket that is never closed is one, too. Since every glob
// takes something away, a component also matches its own text: `app/[id]` covers a folder of that
// name. A matched folder covers its tree.
struct GlobRule {
  enum class Effect : std::uint8_t { kDenyRead, kDenyWrite, kProtect };

  std::string pattern;  // Absolute.
  Effect effect = Effect::kDenyRead;
  std::string origin;
};

struct PathDecision {
  Access access = Access::kDeny;
  std::string rule;    // The deciding rule's path or pattern; empty when no rule matched.
  std::string origin;  // Its origin; "no rule allows it" when none matched.
};

class PathPolicy {
 public:
  PathPolicy() = default;  // Denies everything.
  // A glob that `ValidateGlob` refuses applies to every path. Rules without an absolute path are
  // dropped.
  PathPolicy(std::vector<PathRule> rules, std::vector<GlobRule> globs);

  // `path` is absolute, else the answer is Deny; `.`, `..` and doubled slashes are resolved as text
  // first.
  [[nodiscard]] PathDecision Resolve(Axis axis, std::string_view path) const;

  // The narrowest access of `root` and of every rule below it: what may be said of the whole tree.
  // Deny globs count when they could match below `root`. Protected patterns below it do not: what
  // they match stays read-only inside whatever is said of the tree.
  [[nodiscard]] PathDecision ResolveTree(Axis axis, std::string_view root) const;

  // The same policy with more literal rules, those of redeemed grants: a tree that is granted opens
  // every Gated rule at its path and below it, an exact path opens the Gated rules of that path.
  // Deny stays Deny, and the new rules count like any other.
  [[nodiscard]] PathPolicy With(std::vector<PathRule> more) const;

  // Sorted by path, exact before tree.
  [[nodiscard]] const std::vector<PathRule>& rules() const { return rules_; }
  [[nodiscard]] const std::vector<GlobRule>& globs() const { return globs_; }

 private:
  struct Compiled;

  // The glob that denies `axis` at `path`; the one that protects it where the rule of the path
  // `winner` decides; null when there is none.
  [[nodiscard]] const GlobRule* DenyingGlob(Axis axis, std::string_view path) const;
  [[nodiscard]] const GlobRule* ProtectingGlob(std::string_view path,
                                               std::string_view winner) const;

  std::vector<PathRule> rules_;
  std::vector<GlobRule> globs_;
  std::shared_ptr<const Compiled> compiled_;  // Of `globs_`.
};

// True when `pattern` matches the whole of `path` (both absolute). A malformed pattern, such as a
// reversed range, matches nothing; refuse it earlier with `ValidateGlob`.
[[nodiscard]] bool GlobMatches(std::string_view pattern, std::string_view path);

// True when `pattern` matches `path` or a folder above it.
[[nodiscard]] bool GlobCovers(std::string_view pattern, std::string_view path);

// Whether `text` has a glob's special characters, else it is a literal path.
[[nodiscard]] bool IsGlob(std::string_view text);

// Returns kInvalidProfile for an empty or malformed pattern, and says what is wrong with it.
[[nodiscard]] absl::Status ValidateGlob(std::string_view pattern);

// An absolute path without `.`, `..`, doubled or trailing slashes, by text alone.
[[nodiscard]] std::string NormalizePath(std::string_view absolute_path);

// True when `path` is `root` or below it, by whole components (`/repo` does not hold
// `/repository`).
[[nodiscard]] bool IsWithin(std::string_view path, std::string_view root);

}  // namespace cordon

#endif  // CORDON_SDK_PATH_POLICY_H_
