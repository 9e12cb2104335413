#include "redirections.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/str_format.h"
#include "command_match.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "shell_words.h"
#include "wrappers.h"

namespace cordon::internal {
namespace {

// Programs behind which a relative name may be elsewhere.
constexpr std::array<std::string_view, 8> kChangeFolder = {"cd", "pushd",  "popd",    "eval",
                                                           ".",  "source", "command", "builtin"};

// A sandbox shows the command its own of these.
constexpr std::array<std::string_view, 5> kOwnPlaces = {"/dev", "/proc", "/run", "/sys", "/tmp"};

bool MayChangeFolder(const SimpleCommand& command) {
  if (command.words.empty()) return false;
  const ShellWord& program = command.words[0];
  return !program.exact ||
         std::find(kChangeFolder.begin(), kChangeFolder.end(), program.text) != kChangeFolder.end();
}

std::optional<std::string> PathOf(const Redirection& redirection, const std::string& folder,
                                  bool folder_is_known) {
  const ShellWord& target = redirection.target;
  if (redirection.kind == Redirection::Kind::kDuplicate) return std::nullopt;
  if (!target.exact || target.text.empty()) return std::nullopt;
  const bool absolute = target.text[0] == '/';
  if (!absolute && !folder_is_known) return std::nullopt;
  absl::StatusOr<std::string> path =
      ResolveSymlinks(absolute ? target.text : folder + "/" + target.text);
  if (!path.ok()) return std::nullopt;
  return *std::move(path);
}

bool IsOwnPlace(const std::string& path, const PathDecision& decision) {
  return std::any_of(kOwnPlaces.begin(), kOwnPlaces.end(), [&](std::string_view place) {
    return IsWithin(path, place) && !IsWithin(decision.rule, place);
  });
}

bool IsMissing(const std::string& path) {
  std::error_code error;
  return !std::filesystem::exists(path, error);
}

class FileList {
 public:
  explicit FileList(const Profile& profile) : profile_(profile) {}

  void Add(const Redirection& redirection, const std::string& path) {
    const bool writes = redirection.kind != Redirection::Kind::kInput;
    const PathDecision read = profile_.Explain(Axis::kRead, path);
    const PathDecision decision = writes ? profile_.Explain(Axis::kWrite, path) : read;
    if (IsOwnPlace(path, decision)) return;
    if (decision.access == Access::kGated && IsMissing(path)) {
      if (writes) AddFolder(std::filesystem::path(path).parent_path().string());
      return;
    }
    AddOnce({writes ? CapabilityKind::kFilesystemWrite : CapabilityKind::kFilesystemRead, path,
             PathShape::kExact, decision.access, decision.origin});
    if (decision.access == Access::kGated) AddReading(path, PathShape::kExact, read);
  }

  std::vector<RedirectedFile> files;

 private:
  // For a file that is to be made in it.
  void AddFolder(const std::string& folder) {
    const PathDecision write = profile_.paths().ResolveTree(Axis::kWrite, folder);
    std::error_code error;
    const bool is_folder = std::filesystem::is_directory(folder, error);
    if (folder == "/" || !is_folder || write.access != Access::kGated) return;
    AddOnce(
        {CapabilityKind::kFilesystemWrite, folder, PathShape::kTree, write.access, write.origin});
    AddReading(folder, PathShape::kTree, profile_.paths().ResolveTree(Axis::kRead, folder));
  }

  // No grant makes writing wider than reading.
  void AddReading(const std::string& path, PathShape shape, const PathDecision& read) {
    if (read.access != Access::kGated) return;
    AddOnce({CapabilityKind::kFilesystemRead, path, shape, read.access, read.origin});
  }

  void AddOnce(RedirectedFile file) {
    const auto same = [&file](const RedirectedFile& other) {
      return other.kind == file.kind && other.path == file.path && other.shape == file.shape;
    };
    if (std::none_of(files.begin(), files.end(), same)) files.push_back(std::move(file));
  }

  const Profile& profile_;
};

bool IsCovered(const std::vector<Requirement>& requirements, const RedirectedFile& file) {
  return std::any_of(requirements.begin(), requirements.end(), [&file](const Requirement& known) {
    if (known.kind != file.kind) return false;
    const absl::StatusOr<Scope> scope = ParseScope(known.scope);
    if (!scope.ok()) return false;
    if (scope->form != Scope::Form::kPath) return IsWithin(file.path, known.match);
    return file.shape == PathShape::kExact && known.match == file.path;
  });
}

}  // namespace

absl::StatusOr<std::vector<RedirectedFile>> FilesOfRedirections(const Command& command,
                                                                const Profile& profile) {
  const ShellText text = UnwrapAll(ReadCommand(command));
  const bool folder_is_known =
      std::none_of(text.commands.begin(), text.commands.end(), MayChangeFolder);
  FileList list(profile);
  for (const SimpleCommand& simple : text.commands) {
    for (const Redirection& redirection : simple.redirections) {
      const std::optional<std::string> path =
          PathOf(redirection, command.working_directory, folder_is_known);
      if (path.has_value()) list.Add(redirection, *path);
      if (list.files.size() > kMaxRedirectedFiles) {
        return MakeError(ErrorCode::kInvalidRequest,
                         absl::StrFormat("the command redirects to or from more than %d files; "
                                         "split it, or let a script do it",
                                         kMaxRedirectedFiles));
      }
    }
  }
  return std::move(list.files);
}

absl::StatusOr<Request> WithRedirections(Request request, const Profile& profile) {
  auto* const needs = std::get_if<std::vector<Requirement>>(&request.authority);
  if (needs == nullptr || !request.command.has_value()) return request;
  const absl::StatusOr<std::vector<RedirectedFile>> files =
      FilesOfRedirections(*request.command, profile);
  if (!files.ok()) return files.status();
  for (const RedirectedFile& file : *files) {
    if (file.access == Access::kDeny || IsCovered(*needs, file)) continue;
    absl::StatusOr<Requirement> need = RequirePath(file.kind, file.shape, file.path);
    // What cannot be looked at is not granted: it stays as closed as the profile has it.
    if (need.ok()) needs->push_back(*std::move(need));
  }
  return request;
}

std::vector<std::string> RedirectionsThatFail(const Request& request, const Profile& profile) {
  std::vector<std::string> lines;
  if (!request.command.has_value()) return lines;
  const absl::StatusOr<std::vector<RedirectedFile>> files =
      FilesOfRedirections(*request.command, profile);
  if (!files.ok()) return lines;
  for (const RedirectedFile& file : *files) {
    if (file.access != Access::kDeny) continue;
    const bool writes = file.kind == CapabilityKind::kFilesystemWrite;
    lines.push_back(absl::StrFormat("cannot %s %s, which the profile denies (%s)",
                                    writes ? "write" : "read", EscapeForDisplay(file.path),
                                    EscapeForDisplay(file.origin)));
  }
  return lines;
}

}  // namespace cordon::internal
