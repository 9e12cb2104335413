#include "redaction.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace cordon::internal {
namespace {

constexpr std::string_view kMask = "***";

// Parts of names, in lower case.
constexpr std::string_view kSecretNames[] = {
    "passw",      "passphrase",  "secret",     "token",         "apikey", "api_key",
    "api-key",    "access_key",  "accesskey",  "authorization", "auth_",  "_auth",
    "credential", "private_key", "privatekey", "session_key",   "cookie"};
constexpr std::string_view kSecretEndings[] = {"_key", "-key", "_pass", "_pwd", "-pass"};

struct TokenForm {
  std::string_view prefix;
  std::size_t least;  // Letters behind it.
};

constexpr TokenForm kTokenForms[] = {
    {"ghp_", 20},        {"gho_", 20},    {"ghu_", 20},  {"ghs_", 20}, {"ghr_", 20},
    {"github_pat_", 20}, {"glpat-", 16},  {"AKIA", 16},  {"ASIA", 16}, {"xoxb-", 10},
    {"xoxp-", 10},       {"xoxa-", 10},   {"xapp-", 10}, {"sk-", 20},  {"sk_live_", 10},
    {"rk_live_", 10},    {"AIza", 30},    {"ya29.", 20}, {"npm_", 30}, {"pypi-", 30},
    {"hf_", 20},         {"dop_v1_", 20}, {"eyJ", 30}};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool IsTokenChar(char c) { return IsNameChar(c) || c == '.' || c == '+' || c == '/' || c == '='; }

bool IsSecretName(std::string_view name) {
  std::string lower(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  const auto ends = [&lower](std::string_view ending) { return lower.ends_with(ending); };
  const auto holds = [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  return std::any_of(std::begin(kSecretEndings), std::end(kSecretEndings), ends) ||
         std::any_of(std::begin(kSecretNames), std::end(kSecretNames), holds);
}

class Redactor {
 public:
  explicit Redactor(std::string_view text) : text_(text) {}

  std::string Run() {
    while (at_ < text_.size()) {
      if (AtWordStart() && (TakeKnownToken() || TakeNamedValue())) continue;
      if (TakeUrlCredentials() || TakePrivateKey()) continue;
      out_ += text_[at_++];
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string_view Rest() const { return text_.substr(at_); }
  [[nodiscard]] bool AtWordStart() const { return at_ == 0 || !IsNameChar(text_[at_ - 1]); }

  void Mask(std::size_t end) {
    out_ += kMask;
    at_ = end;
  }

  bool TakeKnownToken() {
    for (const TokenForm& form : kTokenForms) {
      if (!Rest().starts_with(form.prefix)) continue;
      std::size_t end = at_ + form.prefix.size();
      while (end < text_.size() && IsTokenChar(text_[end])) ++end;
      if (end - at_ - form.prefix.size() < form.least) continue;
      Mask(end);
      return true;
    }
    return false;
  }

  // `NAME=VALUE`, `--name=VALUE`, `--name VALUE`, `Name: VALUE`, `"name": "VALUE"`.
  bool TakeNamedValue() {
    std::size_t end = at_;
    while (end < text_.size() && IsNameChar(text_[end])) ++end;
    if (end == at_ || !IsSecretName(text_.substr(at_, end - at_))) return false;
    const bool option = text_.substr(at_).starts_with("--");
    std::size_t value = end;
    if (value < text_.size() && (text_[value] == '"' || text_[value] == '\'')) ++value;
    const bool marked = value < text_.size() && (text_[value] == '=' || text_[value] == ':');
    if (marked) ++value;
    if (!marked && !(option && value < text_.size() && text_[value] == ' ')) return false;
    while (value < text_.size() && (text_[value] == ' ' || text_[value] == '\t')) ++value;
    const std::size_t value_end = EndOfValue(value);
    if (value_end == value) return false;
    out_ += text_.substr(at_, value - at_);
    Mask(value_end);
    return true;
  }

  // A quoted string, or a word; behind `Bearer` and the like the next word too.
  [[nodiscard]] std::size_t EndOfValue(std::size_t from) const {
    if (from >= text_.size()) return from;
    const char quote = text_[from];
    if (quote == '"' || quote == '\'') {
      const std::size_t end = text_.find(quote, from + 1);
      return end == std::string_view::npos ? text_.size() : end + 1;
    }
    std::size_t end = EndOfWord(from);
    for (const std::string_view scheme : {"Bearer", "Basic", "Token", "bearer", "basic", "token"}) {
      if (text_.substr(from, end - from) == scheme && end < text_.size() && text_[end] == ' ') {
        end = EndOfWord(end + 1);
      }
    }
    return end;
  }
  [[nodiscard]] std::size_t EndOfWord(std::size_t from) const {
    return std::min(text_.find_first_of(" \t\n;|&<>()'\"`,", from), text_.size());
  }

  // `https://user:password@host` and `https://token@host`.
  bool TakeUrlCredentials() {
    if (!Rest().starts_with("://")) return false;
    const std::size_t start = at_ + 3;
    const std::size_t end = std::min(text_.find_first_of("/ \t\n'\"\\?#", start), text_.size());
    const std::size_t sign = text_.substr(start, end - start).rfind('@');
    if (sign == std::string_view::npos) return false;
    out_ += "://";
    Mask(start + sign);
    return true;
  }

  bool TakePrivateKey() {
    if (!Rest().starts_with("-----BEGIN ")) return false;
    const std::size_t line_end = text_.find("-----", at_ + 11);
    const bool is_private =
        line_end != std::string_view::npos &&
        text_.substr(at_, line_end - at_).find("PRIVATE KEY") != std::string_view::npos;
    if (!is_private) return false;
    const std::size_t last = text_.find("-----END", line_end);
    Mask(last == std::string_view::npos ? text_.size() : last);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string Redacted(std::string_view text) { return Redactor(text).Run(); }

}  // namespace cordon::internal
