#include "glob.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

// One bit per component and one for "all consumed" have to fit a word.
constexpr std::size_t kMaxComponents = 63;
constexpr std::size_t kMaxPatternBytes = 4096;  // PATH_MAX

absl::Status Malformed(std::string_view pattern, std::string_view what) {
  return MakeError(ErrorCode::kInvalidProfile, absl::StrFormat("malformed pattern \"%s\": %s",
                                                               EscapeForDisplay(pattern), what));
}

// The character at `at`, which moves behind it. A byte that starts no valid UTF-8 sequence is a
// character of its own, beyond all of Unicode: names on disk are bytes.
char32_t NextCharacter(std::string_view text, std::size_t& at) {
  const CodePoint point = FirstCodePoint(text.substr(at));
  const auto lead = static_cast<unsigned char>(text[at]);
  at += point.size;
  return point.valid ? point.value : 0x110000U + lead;
}

// The inverse of `EscapeGlob`; nothing when special characters remain.
std::optional<std::string> Unescape(std::string_view text) {
  std::string literal;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view next = text.substr(at, 3);
    if (next == "[*]" || next == "[?]" || next == "[[]") {
      literal += next[1];
      at += 2;
    } else if (IsGlob(next.substr(0, 1))) {
      return std::nullopt;
    } else {
      literal += next[0];
    }
  }
  return literal;
}

// Calls `visit` with each component of a path or pattern and the offset behind it, until it says
// false.
template <typename Visit>
void ForEachComponent(std::string_view path, Visit visit) {
  std::size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '/') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (!visit(path.substr(at, end - at), end)) return;
    at = end;
  }
}

}  // namespace

absl::StatusOr<Glob> Glob::Compile(std::string_view pattern) {
  if (pattern.empty()) return Malformed(pattern, "it is empty");
  if (pattern.size() > kMaxPatternBytes) return Malformed(pattern.substr(0, 64), "it is too long");
  if (pattern.find('\0') != std::string_view::npos) return Malformed(pattern, "it has a NUL byte");
  Glob glob;
  absl::Status problem;
  ForEachComponent(pattern, [&](std::string_view text, std::size_t) {
    if (text == ".") return true;
    if (text == "..") {
      problem = Malformed(pattern, "\"..\" would never match, write the path without it");
      return false;
    }
    absl::StatusOr<Component> component = CompileComponent(text);
    if (!component.ok()) {
      problem = component.status();
      return false;
    }
    const bool repeats =
        component->any_depth && !glob.components_.empty() && glob.components_.back().any_depth;
    if (!repeats) glob.Append(*std::move(component));
    return glob.components_.size() <= kMaxComponents;
  });
  if (!problem.ok()) return problem;
  if (glob.components_.size() > kMaxComponents) {
    return Malformed(pattern.substr(0, 64), "it has too many components");
  }
  return glob;
}

Glob Glob::Everything() {
  Glob glob;
  glob.Append({.any_depth = true, .text = "**", .tokens = {}});
  return glob;
}

void Glob::Append(Component component) {
  const bool is_literal = !component.any_depth && component.tokens.empty();
  prefix_ends_ = prefix_ends_ || !is_literal;
  if (!prefix_ends_) {
    literal_prefix_ = (components_.empty() ? "" : literal_prefix_) + "/" + component.text;
  }
  if (component.any_depth && components_.size() < kMaxComponents) {
    any_depth_ |= std::uint64_t{1} << components_.size();
  }
  components_.push_back(std::move(component));
}

absl::StatusOr<Glob::Component> Glob::CompileComponent(std::string_view text) {
  Component component;
  component.text = std::string(text);
  component.any_depth = text == "**";
  if (component.any_depth) return component;
  if (std::optional<std::string> literal = Unescape(text)) {
    component.text = *std::move(literal);
    return component;
  }
  for (std::size_t at = 0; at < text.size();) {
    Token token;
    if (text[at] == '*') {
      token.kind = Token::Kind::kAnyText;
      at = std::min(text.find_first_not_of('*', at), text.size());
    } else if (text[at] == '?') {
      token.kind = Token::Kind::kAnyCharacter;
      ++at;
    } else {
      if (text[at] == '[') {
        absl::StatusOr<std::optional<Token>> parsed = CompileClass(text, at);
        if (!parsed.ok()) return parsed.status();
        if (parsed->has_value()) {
          component.tokens.push_back(*std::move(*parsed));
          continue;
        }
      }
      token.character = NextCharacter(text, at);
    }
    component.tokens.push_back(std::move(token));
  }
  return component;
}

// Nothing, with `at` unchanged, when the bracket at `at` is never closed: then it is a character
// like any other.
absl::StatusOr<std::optional<Glob::Token>> Glob::CompileClass(std::string_view text,
                                                              std::size_t& at) {
  std::size_t next = at + 1;
  Token token;
  token.kind = Token::Kind::kClass;
  if (next < text.size() && (text[next] == '!' || text[next] == '^')) {
    token.negated = true;
    ++next;
  }
  // A closing bracket in the first place is a member (fnmatch(3)).
  const std::size_t first_member = next;
  while (next < text.size() && (text[next] != ']' || next == first_member)) {
    const char32_t first = NextCharacter(text, next);
    char32_t last = first;
    if (next + 1 < text.size() && text[next] == '-' && text[next + 1] != ']') {
      ++next;
      last = NextCharacter(text, next);
    }
    token.ranges.push_back({first, last});
  }
  if (next >= text.size()) return std::optional<Token>();
  for (const Range& range : token.ranges) {
    if (range.last < range.first) return Malformed(text, "a range in [...] is reversed");
  }
  at = next + 1;
  return std::optional<Token>(std::move(token));
}

bool Glob::TokenMatches(const Token& token, char32_t character) {
  switch (token.kind) {
    case Token::Kind::kCharacter:
      return token.character == character;
    case Token::Kind::kAnyCharacter:
    case Token::Kind::kAnyText:
      return true;
    case Token::Kind::kClass:
      return token.negated !=
             std::any_of(token.ranges.begin(), token.ranges.end(), [character](const Range& range) {
               return range.first <= character && character <= range.last;
             });
  }
  return false;
}

bool Glob::ComponentMatches(const Component& component, std::string_view name) {
  if (component.any_depth || name == component.text) return true;
  const std::vector<Token>& tokens = component.tokens;
  if (tokens.empty()) return false;
  // Where to resume when what follows the last `*` does not fit: the star takes one more character.
  struct Resume {
    std::size_t token;
    std::size_t at;
  };
  std::optional<Resume> resume;
  std::size_t token = 0;
  std::size_t at = 0;
  while (at < name.size()) {
    if (token < tokens.size() && tokens[token].kind == Token::Kind::kAnyText) {
      resume = Resume{++token, at};
      continue;
    }
    std::size_t behind = at;
    if (token < tokens.size() && TokenMatches(tokens[token], NextCharacter(name, behind))) {
      ++token;
      at = behind;
      continue;
    }
    if (!resume.has_value()) return false;
    token = resume->token;
    NextCharacter(name, resume->at);
    at = resume->at;
  }
  while (token < tokens.size() && tokens[token].kind == Token::Kind::kAnyText) ++token;
  return token == tokens.size();
}

// States of the walk: bit N says that the first N components of the pattern may be consumed.
std::uint64_t Glob::Start() const { return Closure(1); }

std::uint64_t Glob::Closure(std::uint64_t states) const {
  // `**` may consume nothing; two of them are never neighbours.
  return states | ((states & any_depth_) << 1U);
}

std::uint64_t Glob::Step(std::uint64_t states, std::string_view name) const {
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < components_.size() && (states >> i) != 0; ++i) {
    if (((states >> i) & 1U) == 0 || !ComponentMatches(components_[i], name)) continue;
    next |= (components_[i].any_depth ? std::uint64_t{1} : std::uint64_t{2}) << i;
  }
  return Closure(next);
}

bool Glob::Accepts(std::uint64_t states) const {
  return ((states >> components_.size()) & 1U) != 0;
}

bool Glob::Matches(std::string_view path) const {
  std::uint64_t states = Start();
  ForEachComponent(path, [&](std::string_view name, std::size_t) {
    states = Step(states, name);
    return states != 0;
  });
  return Accepts(states);
}

std::optional<std::size_t> Glob::DeepestMatch(std::string_view path) const {
  std::uint64_t states = Start();
  std::optional<std::size_t> deepest;
  if (Accepts(states)) deepest = 1;
  ForEachComponent(path, [&](std::string_view name, std::size_t end) {
    states = Step(states, name);
    if (Accepts(states)) deepest = end;
    return states != 0;
  });
  return deepest;
}

bool Glob::CouldMatchWithin(std::string_view root) const {
  std::uint64_t states = Start();
  bool covered = Accepts(states);
  ForEachComponent(root, [&](std::string_view name, std::size_t) {
    states = Step(states, name);
    covered = covered || Accepts(states);
    return states != 0 && !covered;
  });
  return covered || states != 0;
}

std::string EscapeGlob(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[') {
      escaped += {'[', c, ']'};
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace cordon::internal
