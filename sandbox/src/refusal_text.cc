#include "refusal_text.h"

#include "absl/strings/str_cat.h"
#include "cordon/sdk/path_remedy.h"
#include "directory_reader.h"

namespace cordon::internal {
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
  return PathRemedy(axis, decision, path, StatusOf(path).type != NodeType::kMissing);
}

}  // namespace cordon::internal
