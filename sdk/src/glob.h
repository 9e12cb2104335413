// A compiled glob over absolute paths; the syntax is that of `GlobRule` in path_policy.h. Immutable
// and safe from any thread.

#ifndef CORDON_SDK_SRC_GLOB_H_
#define CORDON_SDK_SRC_GLOB_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cordon::internal {

class Glob {
 public:
  // Returns kInvalidProfile for an empty or over-long pattern, a NUL byte, a `..` component, a
  // reversed range. `.` components and doubled slashes mean nothing.
  [[nodiscard]] static absl::StatusOr<Glob> Compile(std::string_view pattern);

  // Every absolute path; what stands in for a pattern that should deny and cannot be read.
  [[nodiscard]] static Glob Everything();

  // The leading components without special characters, as a normal path: only what lies there or
  // below can match.
  [[nodiscard]] const std::string& literal_prefix() const { return literal_prefix_; }

  // The whole of `path`, which is absolute and normal here and below.
  [[nodiscard]] bool Matches(std::string_view path) const;

  // The length of the longest prefix of `path`, up to the whole, that names a folder (or the object
  // itself) which matches; nothing when none does.
  [[nodiscard]] std::optional<std::size_t> DeepestMatch(std::string_view path) const;

  // Whether `root`, a folder above it, or something that may come to exist below it matches.
  [[nodiscard]] bool CouldMatchWithin(std::string_view root) const;

 private:
  struct Range {
    char32_t first;
    char32_t last;
  };
  struct Token {
    enum class Kind : std::uint8_t { kCharacter, kAnyCharacter, kAnyText, kClass };
    Kind kind = Kind::kCharacter;
    char32_t character = 0;
    bool negated = false;
    std::vector<Range> ranges;
  };
  struct Component {
    bool any_depth = false;     // `**`
    std::string text;           // What it equals; with special characters, what was written.
    std::vector<Token> tokens;  // Empty for a literal component.
  };

  [[nodiscard]] static absl::StatusOr<Component> CompileComponent(std::string_view text);
  [[nodiscard]] static absl::StatusOr<std::optional<Token>> CompileClass(std::string_view text,
                                                                         std::size_t& at);
  [[nodiscard]] static bool ComponentMatches(const Component& component, std::string_view name);
  [[nodiscard]] static bool TokenMatches(const Token& token, char32_t character);

  void Append(Component component);
  [[nodiscard]] std::uint64_t Start() const;
  [[nodiscard]] std::uint64_t Closure(std::uint64_t states) const;
  [[nodiscard]] std::uint64_t Step(std::uint64_t states, std::string_view name) const;
  [[nodiscard]] bool Accepts(std::uint64_t states) const;

  std::vector<Component> components_;
  std::uint64_t any_depth_ = 0;  // Bit N: component N is `**`.
  std::string literal_prefix_ = "/";
  bool prefix_ends_ = false;
};

// `text` as a glob that matches exactly this text.
[[nodiscard]] std::string EscapeGlob(std::string_view text);

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_GLOB_H_
