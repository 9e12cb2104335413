#include "glob_filter.h"

#include <algorithm>

#include "cordon/sdk/path_policy.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kAnyDepth = "**";

// Without components `**` at the end: a folder that matches covers what is below it, and they also
// stand for no component at all.
std::string_view WithoutAnyDepth(std::string_view pattern) {
  while (BaseName(pattern) == kAnyDepth && pattern.size() > kAnyDepth.size() + 1) {
    pattern.remove_suffix(kAnyDepth.size() + 1);
  }
  return pattern;
}

// Of `*.key`, "key": the names that match are those whose text after the last dot is this.
std::string_view ExtensionOf(std::string_view component) {
  constexpr std::string_view kStart = "*.";
  if (!component.starts_with(kStart)) return {};
  const std::string_view extension = component.substr(kStart.size());
  const bool is_plain = !IsGlob(extension) && extension.find('.') == std::string_view::npos;
  return is_plain ? extension : std::string_view();
}

std::size_t LastByte(std::string_view text) { return static_cast<unsigned char>(text.back()); }

// False only if `pattern` does not match `folder`: components without special characters are
// compared, from the end up to a `**`.
bool MayMatch(std::string_view pattern, std::string_view folder) {
  while (pattern.size() > 1 && folder.size() > 1) {
    const std::string_view component = BaseName(pattern);
    const std::string_view name = BaseName(folder);
    if (component == kAnyDepth) return true;
    if (!IsGlob(component) && component != name) return false;
    pattern.remove_suffix(std::min(pattern.size(), component.size() + 1));
    folder.remove_suffix(std::min(folder.size(), name.size() + 1));
  }
  return true;
}

}  // namespace

std::string GlobBase(std::string_view pattern) {
  std::size_t end = 0;
  while (true) {
    const std::size_t next = pattern.find('/', end + 1);
    const std::string_view component = pattern.substr(end, next - end);
    if (next == std::string_view::npos || IsGlob(component)) break;
    end = next;
  }
  return end == 0 ? "/" : std::string(pattern.substr(0, end));
}

GlobFilter::GlobFilter(const std::vector<std::string>& patterns) {
  std::map<std::string, std::size_t> prefixes;
  patterns_.reserve(patterns.size());
  for (const std::string& pattern : patterns) AddPattern(pattern, prefixes);
}

void GlobFilter::AddPattern(const std::string& text, std::map<std::string, std::size_t>& prefixes) {
  const std::string_view pattern = WithoutAnyDepth(text);
  const std::string_view last = BaseName(pattern);
  const std::string before = ParentPath(pattern);
  const auto [known, is_new] = prefixes.emplace(before, prefixes_.size());
  if (is_new) {
    Prefix prefix;
    prefix.text = before;
    prefix.base = ParentPath(before);
    prefix.is_any_depth = BaseName(before) == kAnyDepth && !IsGlob(prefix.base);
    prefixes_.push_back(std::move(prefix));
  }
  const std::size_t position = patterns_.size();
  if (!IsGlob(last)) {
    AddText(last, position, by_name_);
  } else if (const std::string_view extension = ExtensionOf(last); !extension.empty()) {
    AddText(extension, position, by_extension_);
  } else {
    others_.push_back(position);
  }
  Pattern added;
  added.prefix = known->second;
  added.last = JoinPath("/", last);
  const std::size_t star = last.find('*');
  added.has_one_star = star != std::string_view::npos && last != kAnyDepth &&
                       !IsGlob(last.substr(0, star)) && !IsGlob(last.substr(star + 1));
  if (added.has_one_star) {
    added.start = last.substr(0, star);
    added.end = last.substr(star + 1);
  }
  patterns_.push_back(std::move(added));
}

void GlobFilter::AddText(std::string_view text, std::size_t position, PositionsByText& to) {
  to[std::string(text)].push_back(position);
  if (!text.empty()) last_bytes_.set(LastByte(text));
}

bool GlobFilter::Prefix::Matches(const std::string& folder) const {
  if (is_any_depth) return IsWithin(folder, base);
  return MayMatch(text, folder) && GlobMatches(text, folder);
}

// A pattern with one star is compared here: to compile it for each name would cost more than the
// walk.
bool GlobFilter::Pattern::Matches(std::string_view name) const {
  if (!has_one_star) return GlobMatches(last, JoinPath("/", name));
  return name.size() >= start.size() + end.size() && name.starts_with(start) && name.ends_with(end);
}

void NameMatcher::EnterFolder(const std::string& folder) {
  for (std::size_t i = 0; i < is_active_.size(); ++i) {
    is_active_[i] = filter_.prefixes_[i].Matches(folder);
  }
  active_others_.clear();
  for (const std::size_t i : filter_.others_) {
    if (is_active_[filter_.patterns_[i].prefix]) active_others_.push_back(i);
  }
}

const std::vector<std::size_t>& NameMatcher::Match(std::string_view name) {
  matched_.clear();
  if (filter_.last_bytes_.test(LastByte(name))) {
    Take(filter_.by_name_, name);
    const std::size_t dot = name.rfind('.');
    if (dot != std::string_view::npos) Take(filter_.by_extension_, name.substr(dot + 1));
  }
  for (const std::size_t i : active_others_) {
    if (filter_.patterns_[i].Matches(name)) matched_.push_back(i);
  }
  return matched_;
}

void NameMatcher::Take(const GlobFilter::PositionsByText& from, std::string_view text) {
  const auto found = from.find(text);
  if (found == from.end()) return;
  for (const std::size_t i : found->second) {
    if (is_active_[filter_.patterns_[i].prefix]) matched_.push_back(i);
  }
}

}  // namespace cordon::internal
