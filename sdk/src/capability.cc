#include "cordon/sdk/capability.h"

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "normal_path.h"

namespace cordon {
namespace {

constexpr std::string_view kTreePrefix = "tree:";
constexpr std::string_view kHostText = "host:*";

absl::Status MalformedScope(std::string_view text) {
  return MakeError(
      ErrorCode::kInvalidScope,
      absl::StrFormat("the scope \"%s\" is none of /absolute/path, tree:/absolute/root "
                      "and host:*, with normal paths",
                      EscapeForDisplay(text)));
}

}  // namespace

std::string_view CapabilityKindName(CapabilityKind kind) {
  switch (kind) {
    case CapabilityKind::kCommandExecute:
      return "command.execute";
    case CapabilityKind::kNetwork:
      return "network";
    case CapabilityKind::kFilesystemRead:
      return "filesystem.read";
    case CapabilityKind::kFilesystemWrite:
      return "filesystem.write";
  }
  return "unknown";
}

absl::StatusOr<CapabilityKind> ParseCapabilityKind(std::string_view name) {
  for (const CapabilityKind kind :
       {CapabilityKind::kCommandExecute, CapabilityKind::kNetwork, CapabilityKind::kFilesystemRead,
        CapabilityKind::kFilesystemWrite}) {
    if (name == CapabilityKindName(kind)) return kind;
  }
  return MakeError(ErrorCode::kInvalidScope,
                   absl::StrFormat("\"%s\" is no capability; there are command.execute, network, "
                                   "filesystem.read and filesystem.write",
                                   EscapeForDisplay(name)));
}

absl::StatusOr<Scope> ParseScope(std::string_view text) {
  if (text.empty()) return Scope{};
  if (text == kHostText) return Scope{Scope::Form::kHost, ""};
  const bool is_tree = text.starts_with(kTreePrefix);
  const std::string_view path = is_tree ? text.substr(kTreePrefix.size()) : text;
  if (!internal::IsNormalAbsolutePath(path)) return MalformedScope(text);
  return Scope{is_tree ? Scope::Form::kTree : Scope::Form::kPath, std::string(path)};
}

std::string ScopeText(const Scope& scope) {
  switch (scope.form) {
    case Scope::Form::kNone:
      return "";
    case Scope::Form::kPath:
      return scope.path;
    case Scope::Form::kTree:
      return std::string(kTreePrefix) + scope.path;
    case Scope::Form::kHost:
      return std::string(kHostText);
  }
  return "";
}

}  // namespace cordon
