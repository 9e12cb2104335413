#include "view_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cordon::internal {

std::vector<ReportEntry> ViewFileEntries(bool with_landlock,
                                         const std::set<std::string>& listed_sockets) {
  std::string listed;
  if (!listed_sockets.empty()) {
    listed = absl::StrCat("listed: ", absl::StrJoin(listed_sockets, ", "), "; other ");
  }
  return {{"filesystem.read", FeatureStatus::kEnforced,
           "the mount view has only what the policy reads; the rest does not exist inside"},
          {"filesystem.write", FeatureStatus::kEnforced,
           with_landlock ? "everything else is mounted read-only, and Landlock ends writing at the "
                           "writable roots"
                         : "everything else is mounted read-only"},
          {"unix_sockets", FeatureStatus::kNarrowed,
           absl::StrCat(listed,
                        "sockets of the host are covered where they were found when the command "
                        "started; /run, /tmp and /dev are the sandbox's own")}};
}

std::vector<ReportEntry> RuleEntries(const PathPolicy& paths, const IndexContents& found,
                                     std::size_t absent) {
  std::vector<ReportEntry> entries;
  bool denies = false;
  bool protects = false;
  for (const GlobRule& rule : paths.globs()) {
    (rule.effect == GlobRule::Effect::kProtect ? protects : denies) = true;
  }
  if (denies) {
    entries.push_back(
        {"filesystem.globs", FeatureStatus::kNarrowed,
         absl::StrCat(found.matches.size(),
                      " names matched when the command started; a matching file that the host "
                      "creates while it runs is seen from the next command on")});
  }
  if (protects) {
    entries.push_back(
        {"protected_paths", FeatureStatus::kEnforced,
         absl::StrCat("read-only, and their folders keep their place; ", absent,
                      " names that do not exist are removed after the command when it made them")});
  }
  for (const std::string& root : found.incomplete) {
    entries.push_back({"unix_sockets", FeatureStatus::kNarrowed,
                       absl::StrCat(root, " has too many names to look for sockets in all of it")});
  }
  return entries;
}

}  // namespace cordon::internal
