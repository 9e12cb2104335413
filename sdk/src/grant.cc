#include "cordon/sdk/grant.h"

#include <array>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/status.h"
#include "normal_path.h"

namespace cordon {
namespace {

constexpr std::array kClasses = {
    GrantClass::kCommandStart,        GrantClass::kFilesystemPathRead,
    GrantClass::kFilesystemPathWrite, GrantClass::kFilesystemTreeRead,
    GrantClass::kFilesystemTreeWrite, GrantClass::kFilesystemHostRead,
    GrantClass::kFilesystemHostWrite, GrantClass::kNetworkTarget,
    GrantClass::kNetworkBroad,
};

absl::Status Unfit(const GrantSubject& subject, std::string_view expected) {
  return MakeError(ErrorCode::kInvalidTarget,
                   absl::StrFormat("a grant of class %s cannot have the target \"%s\": %s",
                                   GrantClassName(subject.grant_class),
                                   EscapeForDisplay(subject.target), expected));
}

absl::Status ExpectNoIdentity(const GrantSubject& subject) {
  if (subject.identity) return Unfit(subject, "it has no path identity");
  return absl::OkStatus();
}

absl::Status ValidateFixedTarget(const GrantSubject& subject, std::string_view target) {
  if (subject.target != target) {
    return Unfit(subject, absl::StrFormat("it must be \"%s\"", target));
  }
  return ExpectNoIdentity(subject);
}

// What is missing must be the end of the path, by whole components.
bool IsSuffixOf(std::string_view path, std::string_view missing_suffix) {
  if (missing_suffix.empty()) return true;
  return path.size() > missing_suffix.size() && path.ends_with(missing_suffix) &&
         path[path.size() - missing_suffix.size() - 1] == '/' && missing_suffix.front() != '/';
}

absl::Status ValidatePathTarget(const GrantSubject& subject) {
  if (!internal::IsNormalAbsolutePath(subject.target)) {
    return Unfit(subject, "it must be an absolute, normal path");
  }
  if (!subject.identity) return Unfit(subject, "the identity of the path is missing");
  if (!IsSuffixOf(subject.target, subject.identity->missing_suffix)) {
    return Unfit(subject, "its identity is that of another path");
  }
  return absl::OkStatus();
}

absl::Status ValidateNetworkTarget(const GrantSubject& subject, bool is_broad) {
  const absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(subject.target);
  if (!target.ok()) return target.status();
  if ("tcp:" + NetworkTargetText(*target) != subject.target) {
    return Unfit(subject, "it must be spelled tcp:host:port in its canonical form");
  }
  if (target->port == 0) return Unfit(subject, "it must name one port");
  if (is_broad != (target->host == "*")) {
    return Unfit(subject, is_broad ? "the host must be *" : "the host must be a single one");
  }
  if (!is_broad && IsPattern(*target)) {
    return Unfit(subject, "the host must be a single one");
  }
  return ExpectNoIdentity(subject);
}

}  // namespace

std::string_view GrantClassName(GrantClass grant_class) {
  switch (grant_class) {
    case GrantClass::kCommandStart:
      return "command.start.v1";
    case GrantClass::kFilesystemPathRead:
      return "filesystem.path.read.v1";
    case GrantClass::kFilesystemPathWrite:
      return "filesystem.path.write.v1";
    case GrantClass::kFilesystemTreeRead:
      return "filesystem.tree.read.v1";
    case GrantClass::kFilesystemTreeWrite:
      return "filesystem.tree.write.v1";
    case GrantClass::kFilesystemHostRead:
      return "filesystem.host.read.v1";
    case GrantClass::kFilesystemHostWrite:
      return "filesystem.host.write.v1";
    case GrantClass::kNetworkTarget:
      return "network.proxy-target.v1";
    case GrantClass::kNetworkBroad:
      return "network.broad.v1";
  }
  return "unknown";
}

std::optional<GrantClass> ParseGrantClass(std::string_view name) {
  for (const GrantClass grant_class : kClasses) {
    if (name == GrantClassName(grant_class)) return grant_class;
  }
  return std::nullopt;
}

absl::Status ValidateGrantSubject(const GrantSubject& subject) {
  switch (subject.grant_class) {
    case GrantClass::kCommandStart:
      return ValidateFixedTarget(subject, "");
    case GrantClass::kFilesystemPathRead:
    case GrantClass::kFilesystemPathWrite:
    case GrantClass::kFilesystemTreeRead:
    case GrantClass::kFilesystemTreeWrite:
      return ValidatePathTarget(subject);
    case GrantClass::kFilesystemHostRead:
    case GrantClass::kFilesystemHostWrite:
      return ValidateFixedTarget(subject, "/");
    case GrantClass::kNetworkTarget:
      return ValidateNetworkTarget(subject, false);
    case GrantClass::kNetworkBroad:
      return ValidateNetworkTarget(subject, true);
  }
  return Unfit(subject, "the class is unknown");
}

}  // namespace cordon
