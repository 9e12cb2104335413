#include "glob_filter.h"

#include "cordon/sdk/path_policy.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
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
  patterns_.reserve(patterns.size());
  for (const std::string& text : patterns) {
    Pattern pattern{text, GlobBase(text), Tail::kAnything, ""};
    const std::string_view last = BaseName(text);
    if (!IsGlob(last)) {
      pattern.tail = Tail::kLiteral;
      pattern.tail_text = last;
    } else if (last[0] == '*' && last.size() > 1 && !IsGlob(last.substr(1))) {
      pattern.tail = Tail::kSuffix;
      pattern.tail_text = last.substr(1);
    } else if (last != "**" && last != "*") {
      pattern.tail = Tail::kPattern;
      pattern.tail_text = JoinPath("/", last);
    }
    patterns_.push_back(std::move(pattern));
  }
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (patterns_[i].tail == Tail::kLiteral) {
      literal_[patterns_[i].tail_text].push_back(i);
    } else {
      others_.push_back(i);
    }
  }
}

void GlobFilter::Match(const std::string& folder, std::string_view name,
                       std::vector<std::size_t>& positions) const {
  positions.clear();
  const auto consider = [&](std::size_t i) {
    if (Matches(patterns_[i], folder, name)) positions.push_back(i);
  };
  if (const auto found = literal_.find(name); found != literal_.end()) {
    for (const std::size_t i : found->second) consider(i);
  }
  for (const std::size_t i : others_) consider(i);
}

bool GlobFilter::Matches(const Pattern& pattern, const std::string& folder,
                         std::string_view name) const {
  switch (pattern.tail) {
    case Tail::kLiteral:
    case Tail::kAnything:
      break;
    case Tail::kSuffix:
      if (!EndsWith(name, pattern.tail_text)) return false;
      break;
    case Tail::kPattern:
      if (!GlobMatches(pattern.tail_text, JoinPath("/", name))) return false;
      break;
  }
  const std::string path = JoinPath(folder, name);
  return IsWithin(path, pattern.base) && GlobMatches(pattern.text, path);
}

}  // namespace cordon::internal
