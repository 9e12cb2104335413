#include "description.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cordon/sdk/access.h"
#include "rendering.h"

namespace cordon::internal {
namespace {

std::string_view AccessWords(Access access) {
  switch (access) {
    case Access::kDeny:
      return "no";
    case Access::kGated:
      return "after a person agrees";
    case Access::kAllow:
      return "yes";
  }
  return "no";
}

std::string RootLine(std::string_view path, Access read, Access write) {
  return absl::StrFormat("- %s: read %s, write %s\n", std::string(path),
                         std::string(AccessWords(read)), std::string(AccessWords(write)));
}

std::string DescribeRoots(const ProfileConfig& settings) {
  std::string text = "Files:\n";
  text += RootLine(settings.workspace_root + " (the workspace)", settings.workspace_read,
                   settings.workspace_write);
  for (const AdditionalRoot& root : settings.additional_roots) {
    text += RootLine(root.path, root.read, root.write);
  }
  text += "- the system's programs and libraries: read yes, write no\n";
  text += RootLine("everything else", settings.host_read, settings.host_write);
  if (settings.home == HomeMode::kIsolated) text += "HOME is an empty folder of your own. ";
  text += "/tmp is private";
  if (settings.protect_paths) {
    text += "; git hooks and configuration, editor and agent settings are read-only";
  }
  return text + ".\n";
}

std::string DescribeNetwork(const ProfileConfig& settings) {
  switch (settings.network) {
    case Access::kAllow:
      return "Network: yes.\n";
    case Access::kGated:
    case Access::kDeny:
      break;
  }
  std::string text = "Network: none";
  if (!settings.network_targets.empty()) {
    text = "Network: only " + absl::StrJoin(settings.network_targets, ", ");
  }
  if (settings.network == Access::kGated) text += "; more after a person agrees";
  return text + ".\n";
}

std::string DescribeAsking(const ProfileConfig& settings) {
  std::string text =
      "To ask for more, declare it in the same call, e.g. \"access\": [{\"kind\": \"network\", "
      "\"target\": \"example.com:443\"}, {\"kind\": \"filesystem.write\", \"path\": "
      "\"/some/folder\", "
      "\"tree\": true}]. What is allowed only after a person agrees is then asked; \"no\" stays "
      "no.\n";
  if (settings.command == Access::kGated) {
    text += "A person may be asked before any command runs.\n";
  }
  return text;
}

std::string DescribeJobs(const BashToolOptions& options) {
  if (options.jobs == nullptr) return "";
  return "For servers, watchers and long work: \"background\": true returns a handle at once; "
         "bash_output reads it, bash_input writes to it, bash_stop ends it.\n";
}

}  // namespace

std::string DescribeBashTool(const Profile& profile, const BashToolOptions& options,
                             const std::string& start_directory) {
  const ProfileConfig& settings = profile.Settings();
  return absl::StrFormat(
      "Runs one command with %s -c, confined by a sandbox. Each call is a new shell that starts in "
      "%s or in the last \"workdir\" that was given (`cd` lasts for its call only); nothing it "
      "started outlives it. There is no terminal and nobody to answer prompts: standard input is "
      "at "
      "end of file. The time limit is %s, at most %s.\n%s%s%s%s",
      options.shell, start_directory, DurationText(options.default_timeout),
      DurationText(options.max_timeout), DescribeJobs(options), DescribeRoots(settings),
      DescribeNetwork(settings), DescribeAsking(settings));
}

}  // namespace cordon::internal
