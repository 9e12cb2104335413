#include "cordon/bash/bash_tool.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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
#include "job_rendering.h"
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
  bool background = false;
  bool has_own_timeout = false;
  std::string workdir_to_keep;  // When the call named one.
  std::vector<std::string> notes;
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
                                             const std::string& spelling,
                                             const std::vector<Requirement>& declared) {
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
  if (options.jobs != nullptr && options.owner.empty()) {
    return MakeError(ErrorCode::kInvalidOption, "bash tool: background jobs need an owner");
  }
  return absl::OkStatus();
}

absl::StatusOr<ToolResult> RunToTheEnd(Executor& executor, const BashToolOptions& tool,
                                       const PreparedCommand& prepared, std::vector<Grant> grants,
                                       const std::stop_token& stop) {
  RunOptions options;
  options.execution_id = prepared.execution_id;
  options.grants = std::move(grants);
  options.timeout = prepared.timeout;
  options.max_output_bytes = tool.max_output_bytes;
  options.head_bytes = tool.head_bytes;
  options.tail_bytes = tool.tail_bytes;
  options.merge_output = tool.merge_output;
  options.stop = stop;
  absl::StatusOr<RunResult> result = executor.Run(prepared.command, options);
  if (!result.ok()) return result.status();
  internal::CallContext context;
  context.workdir = prepared.command.working_directory;
  context.notes = prepared.notes;
  context.output_is_merged = tool.merge_output;
  context.has_jobs = tool.jobs != nullptr;
  return internal::RenderRunResult(*result, {prepared.timeout, tool.max_output_bytes},
                                   executor.profile(), context);
}

absl::StatusOr<ToolResult> StartJob(ProcessRegistry& jobs, const std::string& owner,
                                    const std::shared_ptr<Executor>& executor,
                                    const PreparedCommand& prepared, std::vector<Grant> grants) {
  JobOptions options;
  options.execution_id = prepared.execution_id;
  options.grants = std::move(grants);
  if (prepared.has_own_timeout) options.timeout = prepared.timeout;
  absl::StatusOr<JobInfo> job = jobs.Start(owner, executor, prepared.command, std::move(options));
  if (!job.ok()) return job.status();
  return internal::RenderStartedJob(*job, prepared.notes);
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
  return internal::BashArgumentsSchema(options_.default_timeout, options_.max_timeout,
                                       options_.jobs != nullptr);
}

struct BashTool::Place {
  std::string directory;
  std::vector<std::string> notes;
};

// Without a `workdir` it is the kept one for as long as that is what it was, else the start
// directory.
absl::StatusOr<BashTool::Place> BashTool::PlaceOf(const std::optional<std::string>& workdir,
                                                  const std::vector<Requirement>& declared) {
  const std::string start = StartDirectory(*executor_, options_);
  const Profile& profile = executor_->profile();
  if (workdir.has_value()) {
    absl::StatusOr<std::string> named = WorkingDirectory(profile, start, *workdir, declared);
    if (!named.ok()) return named.status();
    return Place{*std::move(named), {}};
  }
  std::string kept;
  {
    const std::lock_guard lock(mutex_);
    kept = kept_workdir_;
  }
  Place place;
  if (!kept.empty()) {
    const absl::StatusOr<std::string> there = WorkingDirectory(profile, start, kept, declared);
    if (there.ok() && *there == kept) return Place{kept, {}};
    place.notes.push_back(
        absl::StrFormat("the folder of earlier calls, %s, is gone; this call started in %s",
                        EscapeForDisplay(kept), EscapeForDisplay(start)));
  }
  absl::StatusOr<std::string> directory = WorkingDirectory(profile, start, start, declared);
  if (!directory.ok()) return directory.status();
  place.directory = *std::move(directory);
  return place;
}

absl::StatusOr<PreparedCall> BashTool::Prepare(std::string_view arguments_json,
                                               const PrepareContext& context) {
  absl::StatusOr<BashArguments> arguments =
      internal::ParseBashArguments(arguments_json, options_.max_timeout);
  if (!arguments.ok()) return arguments.status();
  if (arguments->background && options_.jobs == nullptr) {
    return MakeError(ErrorCode::kInvalidArguments,
                     "\"background\": there are no background jobs here; run it in the foreground");
  }

  const std::string base = StartDirectory(*executor_, options_);
  absl::StatusOr<std::vector<Requirement>> declared = DeclaredRequirements(*arguments, base);
  if (!declared.ok()) return declared.status();
  PreparedCommand prepared;
  absl::StatusOr<Place> place = PlaceOf(arguments->workdir, *declared);
  if (!place.ok()) return place.status();

  if (arguments->workdir.has_value()) prepared.workdir_to_keep = place->directory;
  prepared.notes = std::move(place->notes);
  prepared.command =
      Command::Shell(std::move(arguments->command), std::move(place->directory), options_.shell);
  prepared.background = arguments->background;
  prepared.has_own_timeout = arguments->timeout.has_value();
  prepared.timeout = arguments->timeout.value_or(options_.default_timeout);
  prepared.execution_id = context.execution_id;

  Request request;
  request.tool = std::string(name());
  request.call_id = context.call_id;
  request.execution_id = context.execution_id;
  request.command = prepared.command;
  request.model_description = std::move(arguments->description);
  if (prepared.background) {
    request.details = {
        {"background", "keeps running until it ends, is stopped, or the session ends"}};
  }
  if (!prepared.background || prepared.has_own_timeout) {
    request.details.emplace_back("timeout", internal::DurationText(prepared.timeout));
  }
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
  if (!prepared->workdir_to_keep.empty()) {
    const std::lock_guard lock(mutex_);
    kept_workdir_ = prepared->workdir_to_keep;
  }
  absl::StatusOr<ToolResult> result =
      prepared->background
          ? StartJob(*options_.jobs, options_.owner, executor_, *prepared, std::move(grants))
          : RunToTheEnd(*executor_, options_, *prepared, std::move(grants), stop);
  // What nobody will read must not take the news with it.
  if (result.ok() && options_.jobs != nullptr && !stop.stop_requested()) {
    internal::AppendEndedJobs(*options_.jobs, options_.owner, *result);
  }
  return result;
}

}  // namespace cordon
