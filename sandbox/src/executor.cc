#include "executor.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/status.h"
#include "directory_reader.h"
#include "fork_limit.h"
#include "handler_chain.h"
#include "metadata_mediator.h"
#include "name_mediator.h"
#include "output_pump.h"
#include "process.h"
#include "process_files.h"
#include "shared_memory_names.h"
#include "unix_mediator.h"

namespace cordon::internal {
namespace {

constexpr char kDirectRoute[] = "direct";

absl::Status Cancelled() {
  return MakeError(ErrorCode::kCancelled, "cancelled before the command started");
}

void AddEntries(const ReadyPlan& plan, CompileReport& report) {
  const std::vector<ReportEntry> entries = plan.entries();
  report.entries.insert(report.entries.end(), entries.begin(), entries.end());
}

// A new name beside the executor's folders, where no command looks.
std::string FolderBeside(const ScratchFolders& folders, std::string_view name) {
  return absl::StrCat(ParentPath(folders.temporary), "/", std::string(name), "-", RandomId());
}

// Unless the profile gives the host's own.
bool HasOwnSharedMemory(const PathPolicy& paths) {
  return paths.Resolve(Axis::kWrite, "/dev/shm/any").access != Access::kAllow;
}

}  // namespace

SandboxExecutor::SandboxExecutor(Parts parts)
    : parts_(std::move(parts)), plans_(parts_.plan_inputs, parts_.launcher) {}

absl::StatusOr<std::shared_ptr<SandboxExecutor>> SandboxExecutor::Create(Parts parts) {
  std::shared_ptr<SandboxExecutor> executor(new SandboxExecutor(std::move(parts)));
  absl::StatusOr<ReadyPlan> plan = executor->plans_.Compile();
  if (!plan.ok()) return plan.status();
  executor->report_ = executor->parts_.report;
  AddEntries(*plan, executor->report_);
  return executor;
}

absl::Status SandboxExecutor::Prove() {
  const auto prove = [this](const std::shared_ptr<NetworkNamespaces>& network) {
    return plans_.Prove(network);
  };
  absl::Status proved = parts_.networks == nullptr ? prove(nullptr) : parts_.networks->Try(prove);
  if (proved.ok()) owes_proof_ = false;
  return proved;
}

absl::Status SandboxExecutor::BeginProof() {
  owes_proof_ = true;
  if (parts_.networks == nullptr) return plans_.BeginProof(nullptr);
  return parts_.networks->Try([this](const std::shared_ptr<NetworkNamespaces>& network) {
    return plans_.BeginProof(network);
  });
}

absl::Status SandboxExecutor::AwaitProof(const CommandNetwork* network) {
  const absl::Status proved = plans_.Prove(network != nullptr ? network->network() : nullptr);
  if (!proved.ok()) {
    return MakeError(ErrorCode::kUnavailable,
                     absl::StrCat("no sandbox can be made here: ", proved.message()));
  }
  owes_proof_ = false;
  return absl::OkStatus();
}

absl::StatusOr<RunResult> SandboxExecutor::Run(const Command& command, const RunOptions& options) {
  if (options.stop.stop_requested()) return Cancelled();
  // What may fail for want of descriptors comes before any grant is spent.
  absl::StatusOr<std::unique_ptr<OutputPump>> pump = OutputPump::Create(options);
  if (!pump.ok()) return pump.status();
  absl::StatusOr<UniqueFd> null = OpenNull();
  if (!null.ok()) return null.status();

  absl::StatusOr<PreparedSpawn> spawn = Prepare(command, options.execution_id, options.grants);
  if (!spawn.ok()) return spawn.status();
  if (options.stop.stop_requested()) return Cancelled();
  absl::StatusOr<std::shared_ptr<Execution>> execution =
      StartPrepared(live_, *std::move(spawn),
                    {null->get(), (*pump)->standard_output(), (*pump)->standard_error()});
  if (!execution.ok()) return execution.status();
  return (*pump)->Run(**execution);
}

absl::StatusOr<std::unique_ptr<PreparedProcess>> SandboxExecutor::PrepareProcess(
    const Command& command, const ProcessOptions& options) {
  absl::StatusOr<ProcessStreams> streams = MakeProcessStreams(options);
  if (!streams.ok()) return streams.status();
  absl::StatusOr<PreparedSpawn> spawn = Prepare(command, options.execution_id, options.grants);
  if (!spawn.ok()) return spawn.status();
  if (options.terminal.has_value()) {
    spawn->plan.terminal_rows = options.terminal->rows;
    spawn->plan.terminal_columns = options.terminal->columns;
  }
  return MakePreparedProcess(live_, *std::move(spawn), *std::move(streams));
}

GrantBinding SandboxExecutor::BindingFor(const Command& command,
                                         std::string_view execution_id) const {
  return BindingIn(command, execution_id, ResolveSymlinks(command.working_directory));
}

GrantBinding SandboxExecutor::BindingIn(const Command& command, std::string_view execution_id,
                                        const absl::StatusOr<std::string>& directory) const {
  GrantBinding binding;
  binding.executor_id = parts_.executor_id;
  binding.execution_id = std::string(execution_id);
  binding.command_digest = CommandDigest(command);
  binding.working_directory = directory.ok() ? *directory : command.working_directory;
  binding.profile_fingerprint = profile().Fingerprint();
  binding.route_fingerprint =
      parts_.egress != nullptr ? parts_.egress->RouteFingerprint() : kDirectRoute;
  binding.guarantees = GuaranteesToBits(report_.guarantees);
  return binding;
}

absl::Status SandboxExecutor::Close() {
  absl::Status status = live_->Close();
  plans_.CloseReady();
  if (parts_.networks != nullptr) parts_.networks->Close();
  if (parts_.authority != nullptr) parts_.authority->Close();
  return status;
}

absl::StatusOr<PreparedSpawn> SandboxExecutor::Prepare(const Command& command,
                                                       const std::string& execution_id,
                                                       absl::Span<const Grant> grants) {
  if (live_->closed()) return MakeError(ErrorCode::kClosed, "the executor is closed");
  const std::string id = execution_id.empty() ? RandomId() : execution_id;
  absl::StatusOr<PreparedSpawn> spawn = PrepareUnlogged(command, id, grants);
  if (!spawn.ok()) LogRefusal(id, !grants.empty(), spawn.status());
  return spawn;
}

absl::StatusOr<PreparedSpawn> SandboxExecutor::PrepareUnlogged(const Command& command,
                                                               const std::string& execution_id,
                                                               absl::Span<const Grant> grants) {
  absl::Status status = ValidateCommand(command);
  if (!status.ok()) return status;
  const absl::StatusOr<std::string> directory = ResolveSymlinks(command.working_directory);
  GrantBinding binding;  // Of no command where no grant is bound to it.
  if (!grants.empty()) binding = BindingIn(command, execution_id, directory);
  absl::StatusOr<CommandAdmission> admission =
      AdmitCommand(profile(), parts_.authority.get(), grants, binding, parts_.egress != nullptr);
  if (!admission.ok()) return admission.status();
  absl::StatusOr<Command> resolved = InDirectory(command, directory);
  if (!resolved.ok()) return resolved.status();
  status = CheckDirectory(admission->paths, resolved->working_directory);
  if (!status.ok()) return status;
  // Before the view is compiled: see running_names.h.
  auto names = std::make_unique<RunningNames>(parts_.published_names);
  absl::StatusOr<ReadyPlan> plan = admission->has_file_grants
                                       ? plans_.CompileGranted(admission->paths, admission->targets)
                                       : plans_.Compile();
  if (!plan.ok()) return plan.status();
  if (!names->SetOwn(plan->view)) {
    return MakeError(ErrorCode::kUnavailable, "the scratch folder of this set cannot be written");
  }
  absl::StatusOr<std::unique_ptr<CommandNetwork>> network = OpenNetwork(execution_id, *admission);
  if (!network.ok()) return network.status();
  status = owes_proof_ ? AwaitProof(network->get()) : plan->registered->Register();
  if (!status.ok()) return status;
  status = Spend(*admission, execution_id);
  if (!status.ok()) return status;

  PreparedSpawn spawn;
  spawn.plan.argv = EffectiveArgv(*resolved);
  spawn.plan.environment = parts_.environment;
  if (*network != nullptr) (*network)->AddVariables(spawn.plan.environment);
  spawn.plan.working_directory = resolved->working_directory;
  spawn.paths = std::move(admission->paths);
  Observe(*admission, *plan, network->get(), spawn);
  spawn.context.execution_id = execution_id;
  spawn.context.report = parts_.report;
  AddEntries(*plan, spawn.context.report);
  spawn.context.grants = std::move(admission->grants);
  spawn.context.plan = *std::move(plan);
  spawn.context.names = std::move(names);
  spawn.context.network = *std::move(network);
  spawn.context.log = parts_.log;
  spawn.command = *std::move(resolved);
  return spawn;
}

void SandboxExecutor::Observe(const CommandAdmission& admission, const ReadyPlan& plan,
                              const CommandNetwork* network, PreparedSpawn& spawn) const {
  if (parts_.observer == nullptr) return;
  const PlanInputs& inputs = parts_.plan_inputs;
  ExecutionContext& context = spawn.context;
  context.observer = parts_.observer;
  if (inputs.lists_refusals) {
    const std::shared_ptr<EgressDoor> door = network != nullptr ? network->door() : nullptr;
    context.observation = std::make_shared<Observation>(
        ObservationInputs{profile(), spawn.paths, admission.grants, inputs.tier == Tier::kLandlock,
                          inputs.folders.Private(), door, door != nullptr, inputs.lists_paths});
  }
  const auto chain = std::make_shared<HandlerChain>();
  if (inputs.mediates) context.tree = std::make_shared<CommandTree>();
  if (inputs.has_unix_sockets) {
    // Before those who would let a connect go on.
    chain->Add(std::make_shared<UnixMediator>(context.tree, plan.view->writable,
                                              context.observation,
                                              OpenListedSockets(profile(), spawn.paths)));
  }
  if (context.observation != nullptr) chain->Add(context.observation);
  if (inputs.mediates) {
    chain->Add(std::make_shared<MetadataMediator>(plan.view->writable));
    chain->Add(std::make_shared<NameMediator>(plan.view->writable, context.tree));
    chain->Add(
        std::make_shared<ProcessFiles>(context.tree, FolderBeside(inputs.folders, "processes")));
    if (HasOwnSharedMemory(spawn.paths)) {
      chain->Add(std::make_shared<SharedMemoryNames>(FolderBeside(inputs.folders, "shared-memory"),
                                                     context.tree));
    }
    const std::uint64_t most = inputs.limits.counted_processes;
    if (most != 0) chain->Add(std::make_shared<ForkLimit>(most, context.tree));
  }
  context.handler = chain;
}

absl::StatusOr<std::unique_ptr<CommandNetwork>> SandboxExecutor::OpenNetwork(
    const std::string& execution_id, const CommandAdmission& admission) const {
  if (parts_.networks == nullptr) return nullptr;
  const bool has_more = admission.has_file_grants || !admission.network_targets.empty();
  if (parts_.share_network && !has_more) return parts_.networks->Join();
  if (parts_.egress == nullptr) return nullptr;
  return parts_.networks->Open(execution_id, admission.network_targets);
}

absl::StatusOr<Command> SandboxExecutor::InDirectory(
    const Command& command, const absl::StatusOr<std::string>& directory) const {
  if (!directory.ok()) return directory.status();
  struct stat status = {};
  const std::string shown = EscapeForDisplay(command.working_directory);
  if (stat(directory->c_str(), &status) != 0) {
    return MakeErrnoError(errno, absl::StrFormat("cannot start in %s", shown));
  }
  if (!S_ISDIR(status.st_mode)) {
    return MakeError(ErrorCode::kNotFound,
                     absl::StrFormat("cannot start in %s: it is no folder", shown));
  }
  Command resolved = command;
  resolved.working_directory = *directory;
  return resolved;
}

absl::Status SandboxExecutor::CheckDirectory(const PathPolicy& paths,
                                             const std::string& directory) const {
  if (profile().Settings().isolation == Isolation::kUnconfined) return absl::OkStatus();
  const PathDecision decision = paths.Resolve(Axis::kRead, directory);
  if (decision.access == Access::kAllow) return absl::OkStatus();
  return MakeError(ErrorCode::kPolicyDenied,
                   absl::StrFormat("cannot start in %s: reading it is not allowed (%s)",
                                   EscapeForDisplay(directory), decision.origin));
}

absl::Status SandboxExecutor::Spend(CommandAdmission& admission,
                                    const std::string& execution_id) const {
  if (admission.redemption == nullptr) return absl::OkStatus();
  absl::Status status = admission.redemption->Consume();
  for (const ConsumedGrant& grant : admission.grants) {
    if (!status.ok() || parts_.log == nullptr) break;
    const absl::Status logged = parts_.log->Append(
        {"grant.consumed",
         execution_id,
         {{"class", std::string(GrantClassName(grant.grant_class))}, {"target", grant.target}}});
    if (!logged.ok()) {
      status = MakeError(ErrorCode::kLogFailed, "the command was not started: the log failed");
    }
  }
  return status;
}

void SandboxExecutor::LogRefusal(const std::string& execution_id, bool had_grants,
                                 const absl::Status& refusal) const {
  if (parts_.log == nullptr) return;
  const std::optional<Error> error = ErrorOf(refusal);
  LogRecord record{had_grants ? "grant.refused" : "refused", execution_id, {}};
  if (error.has_value()) {
    record.fields.emplace_back("code", std::string(ErrorCodeName(error->code)));
  }
  record.fields.emplace_back("message", std::string(refusal.message()));
  (void)parts_.log->Append(record);
}

}  // namespace cordon::internal
