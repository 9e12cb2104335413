#include "cordon/bash/bash_tool.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "arguments.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/request.h"
#include "cordon/sdk/status.h"
#include "description.h"
#include "rendering.h"

namespace cordon {
namespace {

using internal::BashArguments;
using internal::DeclaredAccess;
using internal::DeclaredPath;

// What `Prepare` decided and `Run` does.
struct PreparedCommand {
  Command command;
  std::chrono::milliseconds timeout{0};
  std::string execution_id;
  // Whose `Prepare` this was.
  std::string executor_id;
  std::shared_ptr<std::atomic<bool>> ran = std::make_shared<std::atomic<bool>>(false);
};

std::string StartDirectory(const Executor& executor, const BashToolOptions& options) {
  return options.start_directory.empty() ? executor.profile().Settings().workspace_root
                                         : options.start_directory;
}

// `spelling` below `base` unless it is absolute, with symbolic links resolved.
absl::StatusOr<std::string> ResolvePath(const std::string& base, const std::string& spelling) {
  const bool absolute = spelling.starts_with('/');
  return ResolveSymlinks(absolute ? spelling : base + "/" + spelling);
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// True when a person will be asked to let this call read `path`.
bool ReadIsDeclared(const std::vector<Requirement>& requirements, const std::string& path) {
  for (const Requirement& requirement : requirements) {
    if (requirement.kind != CapabilityKind::kFilesystemRead) continue;
    const absl::StatusOr<Scope> scope = ParseScope(requirement.scope);
    if (!scope.ok()) continue;
    if (scope->form == Scope::Form::kTree && IsWithin(path, scope->path)) return true;
  }
  return false;
}

absl::StatusOr<Requirement> MakeRequirement(const DeclaredAccess& declared,
                                            const std::string& base) {
  if (const auto* target = std::get_if<NetworkTarget>(&declared)) return RequireNetwork(*target);
  const DeclaredPath& entry = std::get<DeclaredPath>(declared);
  absl::StatusOr<std::string> path = ResolvePath(base, entry.path);
  if (!path.ok()) return path.status();
  return RequirePath(entry.kind, entry.shape, *path);
}

// Everything that was declared, without the command itself. Two spellings of one path are one.
absl::StatusOr<std::vector<Requirement>> DeclaredRequirements(const BashArguments& arguments,
                                                              const std::string& base) {
  std::vector<Requirement> requirements;
  for (std::size_t i = 0; i < arguments.access.size(); ++i) {
    absl::StatusOr<Requirement> requirement = MakeRequirement(arguments.access[i], base);
    if (!requirement.ok()) {
      return MakeError(
          ErrorCode::kInvalidArguments,
          absl::StrFormat("access[%d]: %s", i, std::string(requirement.status().message())));
    }
    if (std::find(requirements.begin(), requirements.end(), *requirement) == requirements.end()) {
      requirements.push_back(*std::move(requirement));
    }
  }
  return requirements;
}

// The folder to start in. What the profile hides is refused before it is looked at, so that the
// answer does not tell whether it exists.
absl::StatusOr<std::string> WorkingDirectory(const Profile& profile, const std::string& base,
                                             const BashArguments& arguments,
                                             const std::vector<Requirement>& declared) {
  const std::string spelling = arguments.workdir.value_or(base);
  absl::StatusOr<std::string> path = ResolvePath(base, spelling);
  if (!path.ok()) {
    return MakeError(ErrorCode::kPolicyDenied,
                     absl::StrFormat("workdir %s cannot be resolved", EscapeForDisplay(spelling)));
  }
  const PathDecision read = profile.Explain(Axis::kRead, *path);
  const bool readable = read.access == Access::kAllow ||
                        (read.access == Access::kGated && ReadIsDeclared(declared, *path));
  if (!readable) {
    return MakeError(
        ErrorCode::kPolicyDenied,
        absl::StrFormat("workdir %s is not readable under this profile%s",
                        EscapeForDisplay(spelling),
                        read.access == Access::kGated
                            ? ": declare it in \"access\" as filesystem.read with \"tree\": true"
                            : ""));
  }
  if (!IsFolder(*path)) {
    return MakeError(ErrorCode::kNotFound, absl::StrFormat("workdir %s is not an existing folder",
                                                           EscapeForDisplay(spelling)));
  }
  return *std::move(path);
}

absl::Status CheckOptions(const BashToolOptions& options) {
  if (options.default_timeout.count() <= 0 || options.default_timeout > options.max_timeout) {
    return MakeError(ErrorCode::kInvalidOption,
                     "bash tool: default_timeout must be positive and at most max_timeout");
  }
  if (options.max_output_bytes == 0 || options.head_bytes + options.tail_bytes == 0) {
    return MakeError(ErrorCode::kInvalidOption,
                     "bash tool: max_output_bytes and head_bytes + tail_bytes must not be zero");
  }
  if (!options.start_directory.empty() && !options.start_directory.starts_with('/')) {
    return MakeError(ErrorCode::kInvalidOption, "bash tool: start_directory must be absolute");
  }
  if (!options.shell.empty() && !options.shell.starts_with('/')) {
    return MakeError(ErrorCode::kInvalidOption, "bash tool: shell must be absolute");
  }
  return absl::OkStatus();
}

std::string DefaultShell() {
  constexpr const char* kBash = "/bin/bash";
  return ::access(kBash, X_OK) == 0 ? kBash : Command::kDefaultShell;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BashTool>> BashTool::Create(std::shared_ptr<Executor> executor,
                                                           BashToolOptions options) {
  if (executor == nullptr) {
    return MakeError(ErrorCode::kInvalidOption, "bash tool: an executor is needed");
  }
  if (absl::Status valid = CheckOptions(options); !valid.ok()) return valid;
  if (options.shell.empty()) options.shell = DefaultShell();
  return std::unique_ptr<BashTool>(new BashTool(std::move(executor), std::move(options)));
}

BashTool::BashTool(std::shared_ptr<Executor> executor, BashToolOptions options)
    : executor_(std::move(executor)), options_(std::move(options)) {}

std::string_view BashTool::name() const { return "bash"; }

std::string BashTool::description() const {
  return internal::DescribeBashTool(executor_->profile(), options_,
                                    StartDirectory(*executor_, options_));
}

std::string BashTool::input_schema_json() const {
  return internal::BashArgumentsSchema(options_.default_timeout, options_.max_timeout);
}

absl::StatusOr<PreparedCall> BashTool::Prepare(std::string_view arguments_json,
                                               const PrepareContext& context) {
  absl::StatusOr<BashArguments> arguments =
      internal::ParseBashArguments(arguments_json, options_.max_timeout);
  if (!arguments.ok()) return arguments.status();

  const std::string base = StartDirectory(*executor_, options_);
  absl::StatusOr<std::vector<Requirement>> declared = DeclaredRequirements(*arguments, base);
  if (!declared.ok()) return declared.status();
  absl::StatusOr<std::string> directory =
      WorkingDirectory(executor_->profile(), base, *arguments, *declared);
  if (!directory.ok()) return directory.status();

  PreparedCommand prepared;
  prepared.command =
      Command::Shell(std::move(arguments->command), *std::move(directory), options_.shell);
  prepared.timeout = arguments->timeout.value_or(options_.default_timeout);
  prepared.execution_id = context.execution_id;

  Request request;
  request.tool = std::string(name());
  request.call_id = context.call_id;
  request.execution_id = context.execution_id;
  request.command = prepared.command;
  request.model_description = std::move(arguments->description);
  request.details = {{"timeout", internal::DurationText(prepared.timeout)}};
  request.binding = executor_->BindingFor(prepared.command, context.execution_id);
  prepared.executor_id = request.binding->executor_id;

  std::vector<Requirement> requirements = {RequireCommand(prepared.command)};
  requirements.insert(requirements.end(), declared->begin(), declared->end());
  request.authority = std::move(requirements);
  return PreparedCall(std::move(request), SealedArtifact::Seal(std::move(prepared)));
}

absl::StatusOr<ToolResult> BashTool::Run(const PreparedCall& call, std::vector<Grant> grants,
                                         std::stop_token stop) {
  const auto* prepared = call.artifact().Open<PreparedCommand>();
  const bool ours =
      prepared != nullptr &&
      prepared->executor_id ==
          executor_->BindingFor(prepared->command, prepared->execution_id).executor_id;
  if (!ours) {
    return MakeError(ErrorCode::kInvalidRequest, "bash tool: another tool prepared this call");
  }
  if (prepared->ran->exchange(true)) {
    return MakeError(ErrorCode::kInvalidRequest, "bash tool: this call ran before");
  }

  RunOptions options;
  options.execution_id = prepared->execution_id;
  options.grants = std::move(grants);
  options.timeout = prepared->timeout;
  options.max_output_bytes = options_.max_output_bytes;
  options.head_bytes = options_.head_bytes;
  options.tail_bytes = options_.tail_bytes;
  options.stop = std::move(stop);
  absl::StatusOr<RunResult> result = executor_->Run(prepared->command, options);
  if (!result.ok()) return result.status();
  return internal::RenderRunResult(*result, {prepared->timeout, options_.max_output_bytes},
                                   executor_->profile());
}

}  // namespace cordon
