#include "refusal_text.h"

#include "absl/strings/str_cat.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

bool IsDenyOption(const PathDecision& decision) {
  return decision.origin == "deny_read" || decision.origin == "deny_write";
}

}  // namespace

std::string NetworkReason(const PathDecision& decision) {
  return decision.access == Access::kGated ? "not granted" : "the profile denies the network";
}

std::string PathReason(const PathDecision& decision) {
  if (decision.access == Access::kAllow) {
    return "the sandbox has a place of its own there";
  }
  const std::string gated = decision.access == Access::kGated ? "needs an approval: " : "";
  if (decision.rule.empty()) return gated + decision.origin;
  if (decision.origin == "host")
    return gated + "no rule opens it, and the rest of the host is closed";
  return absl::StrCat(gated, decision.rule, " (", decision.origin, ")");
}

std::string PathRemedy(Axis axis, const PathDecision& decision, const std::string& path) {
  if (IsDenyOption(decision) && IsGlob(decision.rule)) {
    return absl::StrCat("without ",
                        decision.origin == "deny_read" ? "--deny-read " : "--deny-write ",
                        ShellQuoted(decision.rule));
  }
  const bool exists = StatusOf(path).type != NodeType::kMissing;
  return absl::StrCat(axis == Axis::kWrite ? "--write " : "--read ",
                      ShellQuoted(exists ? path : ParentPath(path)));
}

std::string ShellQuoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace cordon::internal
