#include "environment.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cordon/sdk/path_policy.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kStandardPath[] = {
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
};

constexpr std::pair<std::string_view, std::string_view> kNobodyIsThere[] = {
    {"DEBIAN_FRONTEND", "noninteractive"},
    {"EDITOR", "/bin/false"},
    {"GIT_EDITOR", "/bin/false"},
    {"GIT_MERGE_AUTOEDIT", "no"},  // A merge takes its default message instead of an editor's.
    {"GIT_PAGER", "cat"},
    {"GIT_TERMINAL_PROMPT", "0"},
    {"MANPAGER", "cat"},
    {"PAGER", "cat"},
    {"VISUAL", "/bin/false"},
};

// Where the isolated home is not used for them, tools that ignore XDG_CACHE_HOME need a name of
// their own.
constexpr std::pair<std::string_view, std::string_view> kCaches[] = {
    {"CARGO_HOME", "/cargo"},        {"GOCACHE", "/go-build"},     {"GOMODCACHE", "/go-mod"},
    {"GRADLE_USER_HOME", "/gradle"}, {"PIP_CACHE_DIR", "/pip"},    {"UV_CACHE_DIR", "/uv"},
    {"XDG_CACHE_HOME", ""},          {"npm_config_cache", "/npm"},
};

// Where most users are. To ask nsswitch.conf's services starts with looking for daemons.
passwd* FindInFile(uid_t user, passwd& entry, std::array<char, 16384>& buffer) {
  std::FILE* const file = std::fopen("/etc/passwd", "re");
  if (file == nullptr) return nullptr;
  const absl::Cleanup close = [file] { std::fclose(file); };
  passwd* found = nullptr;
  while (fgetpwent_r(file, &entry, buffer.data(), buffer.size(), &found) == 0) {
    if (found->pw_uid == user && found->pw_name[0] != '+') return found;  // That is compat's.
  }
  return nullptr;
}

bool CanRunFrom(const Profile& profile, std::string_view folder) {
  if (folder.empty() || folder.front() != '/') return false;
  if (profile.Settings().isolation == Isolation::kUnconfined) return true;
  return profile.paths().Resolve(Axis::kExecute, folder).access == Access::kAllow;
}

std::string BuildPath(const Profile& profile, const Variables& caller) {
  std::vector<std::string> folders;
  const auto add = [&](std::string_view folder) {
    const bool known = std::find(folders.begin(), folders.end(), folder) != folders.end();
    if (!known && CanRunFrom(profile, folder)) folders.emplace_back(folder);
  };
  const auto given = caller.find("PATH");
  if (given != caller.end()) {
    for (const absl::string_view folder : absl::StrSplit(given->second, ':')) {
      add({folder.data(), folder.size()});
    }
  }
  for (const std::string_view folder : kStandardPath) add(folder);
  return absl::StrJoin(folders, ":");
}

// bash where there is one: many texts that models write need it.
std::string Shell() { return access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh"; }

void Pass(const Variables& caller, std::string_view name, Variables& into) {
  const auto value = caller.find(name);
  if (value != caller.end()) into.insert_or_assign(std::string(name), value->second);
}

void ApplyProfile(const Profile& profile, const Variables& caller, Variables& into) {
  for (const std::string& entry : profile.Settings().environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      Pass(caller, entry, into);
    } else {
      into.insert_or_assign(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
}

}  // namespace

Variables CallerVariables() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

UserIdentity CurrentUser() {
  std::array<char, 16384> buffer{};
  passwd entry = {};
  passwd* found = FindInFile(geteuid(), entry, buffer);
  if (found == nullptr) getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return {absl::StrCat(geteuid()), "/"};
  return {found->pw_name, found->pw_dir};
}

std::vector<std::string> BuildEnvironment(const Profile& profile, const Variables& caller,
                                          const UserIdentity& user, const EnvironmentPaths& paths) {
  Variables variables;
  for (const auto& [name, value] : kNobodyIsThere) variables.emplace(name, value);
  for (const std::string& name : BaselineEnvironment()) Pass(caller, name, variables);
  variables.insert_or_assign("HOME", paths.home);
  variables.insert_or_assign("TMPDIR", paths.temporary);
  if (!paths.cache.empty()) {
    for (const auto& [name, below] : kCaches) {
      variables.insert_or_assign(std::string(name), absl::StrCat(paths.cache, std::string(below)));
    }
  }
  variables.insert_or_assign("USER", user.name);
  variables.insert_or_assign("LOGNAME", user.name);
  variables.insert_or_assign("SHELL", Shell());
  variables.insert_or_assign("PATH", BuildPath(profile, caller));
  ApplyProfile(profile, caller, variables);

  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) environment.push_back(absl::StrCat(name, "=", value));
  return environment;
}

}  // namespace cordon::internal
