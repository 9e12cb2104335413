// The syntax of git's configuration files, as far as section, name and value go.

#include <cctype>

#include "git_repository.h"

namespace cordon::internal {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  std::vector<GitVariable> Parse() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '[') {
        Section();
      } else if (c == '#' || c == ';') {
        SkipLine();
      } else if (IsNameCharacter(c)) {
        Variable();
      } else {
        ++at_;
      }
    }
    return std::move(variables_);
  }

 private:
  [[nodiscard]] bool AtEnd() const { return at_ >= text_.size(); }

  void SkipLine() {
    while (!AtEnd() && text_[at_] != '\n') ++at_;
  }

  void SkipBlanks() {
    while (!AtEnd() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  void Section() {
    ++at_;
    const std::size_t start = at_;
    while (!AtEnd() && IsNameCharacter(text_[at_])) ++at_;
    section_ = Lower(text_.substr(start, at_ - start));
    subsection_.clear();
    SkipBlanks();
    if (!AtEnd() && text_[at_] == '"') {
      subsection_ = Subsection();
    } else if (const std::size_t dot = section_.find('.'); dot != std::string::npos) {
      subsection_ = section_.substr(dot + 1);  // The old form [section.subsection].
      section_.resize(dot);
    }
    while (!AtEnd() && text_[at_] != ']' && text_[at_] != '\n') ++at_;
    if (!AtEnd()) ++at_;
  }

  std::string Subsection() {
    std::string name;
    for (++at_; !AtEnd() && text_[at_] != '"' && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name.push_back(text_[at_]);
    }
    return name;
  }

  void Variable() {
    const std::size_t start = at_;
    while (!AtEnd() && IsNameCharacter(text_[at_])) ++at_;
    GitVariable variable{section_, subsection_, Lower(text_.substr(start, at_ - start)), "true"};
    SkipBlanks();
    if (!AtEnd() && text_[at_] == '=') {
      ++at_;
      SkipBlanks();
      variable.value = Value();
    }
    variables_.push_back(std::move(variable));
  }

  std::string Value() {
    std::string value;
    std::size_t keep = 0;  // Blanks at the end do not belong to it, unless they were quoted.
    bool quoted = false;
    for (; !AtEnd(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') break;
      if (!quoted && (c == '#' || c == ';')) {
        SkipLine();
        break;
      }
      if (c == '"') {
        quoted = !quoted;
        keep = value.size();
        continue;
      }
      if (c == '\\' && at_ + 1 < text_.size()) {
        Escape(value);
      } else {
        value.push_back(c);
      }
      if (quoted || (c != ' ' && c != '\t' && c != '\r')) keep = value.size();
    }
    value.resize(keep);
    return value;
  }

  void Escape(std::string& value) {
    switch (const char c = text_[++at_]; c) {
      case '\n':
        break;
      case 'n':
        value.push_back('\n');
        break;
      case 't':
        value.push_back('\t');
        break;
      case 'b':
        value.push_back('\b');
        break;
      default:
        value.push_back(c);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string section_;
  std::string subsection_;
  std::vector<GitVariable> variables_;
};

}  // namespace

std::vector<GitVariable> ParseGitConfig(std::string_view text) { return Parser(text).Parse(); }

}  // namespace cordon::internal
