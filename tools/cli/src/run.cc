// cordon run: one command, admitted, confined, supervised and reported.

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "command_line.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/status.h"
#include "own_terminal.h"
#include "policy_options.h"
#include "run_report.h"
#include "session.h"
#include "supervise.h"
#include "terminal_pause.h"
#include "values.h"

namespace cordon::cli {
namespace {

struct RunOptionsText {
  SessionOptions session;
  std::string shell_text;
  bool shell_text_given = false;
  std::string chdir;
  std::string timeout;
  std::string max_output;
  bool tty = false;
  bool no_tty = false;

  [[nodiscard]] TerminalChoice terminal() const {
    if (no_tty) return TerminalChoice::kNever;
    return tty ? TerminalChoice::kAlways : TerminalChoice::kWhenAtTerminal;
  }
  std::string report;
  bool quiet = false;
};

// The options as values.
struct RunRequest {
  Profile profile;
  Command command;
  SupervisionLimits limits;
  std::optional<TerminalSize> terminal;  // Nothing: none of its own.
};

absl::StatusOr<SupervisionLimits> LimitsOf(const RunOptionsText& options) {
  SupervisionLimits limits;
  if (!options.timeout.empty()) {
    const auto timeout = ParseDuration(options.timeout);
    if (!timeout.ok()) return Annotate(timeout.status(), "--timeout");
    limits.timeout = *timeout;
  }
  if (!options.max_output.empty()) {
    const auto bytes = ParseSize(options.max_output);
    if (!bytes.ok()) return Annotate(bytes.status(), "--max-output");
    limits.max_output_bytes = *bytes;
  }
  return limits;
}

absl::StatusOr<Command> CommandOf(const RunOptionsText& options, const Invocation& invocation,
                                  const std::string& directory) {
  if (options.shell_text_given && invocation.has_separator) {
    return MakeError(ErrorCode::kInvalidOption, "give either -c TEXT or -- ARGV, not both");
  }
  const Command command = options.shell_text_given
                              ? Command::Shell(options.shell_text, directory)
                              : Command::Argv(invocation.after_separator, directory);
  if (!options.shell_text_given && command.argv.empty()) {
    return MakeError(ErrorCode::kInvalidOption, "no command: add -- ARGV or -c 'SHELL TEXT'");
  }
  if (const auto status = ValidateCommand(command); !status.ok()) return status;
  return command;
}

absl::StatusOr<RunRequest> RequestOf(const RunOptionsText& options, const Invocation& invocation) {
  RunRequest request;
  auto limits = LimitsOf(options);
  if (!limits.ok()) return limits.status();
  request.limits = *limits;
  request.terminal = ChooseTerminal(options.terminal());
  auto profile = BuildSessionProfile(options.session);
  if (!profile.ok()) return profile.status();
  request.profile = *std::move(profile);
  const auto directory = StartDirectory(options.chdir, request.profile.Settings().workspace_root);
  if (!directory.ok()) return directory.status();
  auto command = CommandOf(options, invocation, *directory);
  if (!command.ok()) return command.status();
  request.command = *std::move(command);
  return request;
}

// Admitted, and everything but started.
absl::StatusOr<std::unique_ptr<PreparedProcess>> Prepare(Session& session,
                                                         const RunRequest& request,
                                                         const std::string& execution_id) {
  auto grants = session.AdmitCommand(request.command, execution_id);
  if (!grants.ok()) return grants.status();
  ProcessOptions process_options;
  process_options.execution_id = execution_id;
  process_options.grants = *std::move(grants);
  process_options.standard_input = StandardInputOption();
  process_options.terminal = request.terminal;
  return session.executor().PrepareProcess(request.command, process_options);
}

absl::StatusOr<RunResult> StartAndSupervise(PreparedProcess& prepared, const RunRequest& request,
                                            TerminalPause& pause) {
  auto process = prepared.Start();
  if (!process.ok()) return process.status();
  if (request.terminal) return SuperviseTerminal(**process, request.limits, pause);
  return Supervise(**process, request.limits, pause);
}

// Whether nobody is asked and nothing is written down before it is known that a sandbox can be made
// here. Where it cannot, all of that is done again.
bool MayProveLate(const Profile& profile, const SessionOptions& options) {
  return profile.Settings().command == Access::kAllow && options.audit.empty();
}

// Programs cannot say why a name did not exist, so that a person would not learn it otherwise.
void SayWhatWasRefused(const RunResult& result) {
  constexpr std::size_t kMostLines = 10;
  std::size_t said = 0;
  std::size_t network = 0;
  for (const Denial& denial : result.denials) {
    if (denial.kind != "network") continue;
    ++network;
    if (said == kMostLines) continue;
    ++said;
    PrintError(absl::StrFormat(
        "refused %s%s: %s%s%s", denial.target,
        denial.count > 1 ? absl::StrFormat(" (%d times)", denial.count) : "", denial.reason,
        denial.allow_with.empty() ? "" : "; to allow it: ", denial.allow_with));
  }
  if (network > said) {
    PrintError(absl::StrFormat("and %d more targets; --report has all of them", network - said));
  }
}

// The status alone would look like a crash of the command's own.
void SayWhichLimitEnded(const RunResult& result) {
  for (const ReportEntry& entry : result.report.entries) {
    if (entry.feature == "limits.ended_by") PrintError(entry.detail);
  }
}

int ExitStatus(const RunResult& result) {
  switch (result.outcome.kind) {
    case Outcome::Kind::kTimedOut:
      return kExitTimedOut;
    case Outcome::Kind::kOutputLimit:
      return kExitOutputLimit;
    case Outcome::Kind::kExited:
    case Outcome::Kind::kSignaled:
    case Outcome::Kind::kCancelled:
      break;
  }
  if (result.outcome.signal) return kExitSignalBase + *result.outcome.signal;
  return result.outcome.code.value_or(kExitNotStarted);
}

int ExitStatus(const absl::Status& status) {
  const auto error = ErrorOf(status);
  if (error && error->code == ErrorCode::kSetupFailed && error->step == "exec") {
    return error->error_number == ENOENT ? kExitNotFound : kExitCannotExecute;
  }
  return kExitNotStarted;
}

// One run from the options to the report; never returns early without the report.
class RunCommandLine {
 public:
  RunCommandLine(const RunOptionsText& options, const Invocation& invocation)
      : options_(options), invocation_(invocation) {}

  int Execute() {
    std::optional<ReportFile> report;
    if (!options_.report.empty()) {
      auto opened = ReportFile::Open(options_.report);
      if (!opened.ok()) return Fail(opened.status());
      report = *std::move(opened);
    }
    int status = RunToResult();
    if (report) {
      const absl::Status written = report->Write(RunReportJson(facts_));
      if (!written.ok()) PrintError(std::string(written.message()));
    }
    return status;
  }

 private:
  int RunToResult() {
    facts_.execution_id = RandomId();
    const auto result = Run();
    if (!result.ok()) {
      facts_.error = result.status();
      // Refusals are always said; `--quiet` silences only what is not the reason of a failure.
      PrintError(std::string(result.status().message()));
      return ExitStatus(result.status());
    }
    facts_.result = *result;
    if (result->end_proved) {
      facts_.compile = result->report;
    } else {
      SayThatItMayRun();
    }
    if (!options_.quiet) SayWhatWasRefused(*result);
    if (!options_.quiet) SayWhichLimitEnded(*result);
    // A refusal is told in one line, so that this is said of what ran.
    for (const ReportEntry& entry : facts_.extra_entries) {
      if (entry.feature == "rules" && !options_.quiet) PrintError(entry.detail);
    }
    return ExitStatus(*result);
  }

  void SayThatItMayRun() {
    constexpr const char* kMayRun =
        "processes of the command may still run: their end could not be proved";
    PrintError(kMayRun);
    facts_.compile.lifetime = LifetimeContainment::kUnspecified;
    facts_.extra_entries.push_back({"lifetime", FeatureStatus::kUnenforced, kMayRun});
  }

  absl::StatusOr<RunResult> Run() {
    auto request = RequestOf(options_, invocation_);
    if (!request.ok()) return request.status();
    facts_.command = request->command;
    facts_.workspace = request->profile.Settings().workspace_root;
    SessionOptions session_options = options_.session;
    if (AtTerminal()) session_options.approver = std::make_shared<PausingApprover>(pause_);
    session_options.late_proof = MayProveLate(request->profile, session_options);
    auto prepared = OpenAndPrepare(*request, session_options);
    if (session_options.late_proof && Is(prepared.status(), ErrorCode::kUnavailable)) {
      session_options.late_proof = false;
      prepared = OpenAndPrepare(*request, session_options);
    }
    if (!prepared.ok()) return prepared.status();
    auto result = StartAndSupervise(**prepared, *request, *pause_);
    if (const auto closed = session_->Close(); !closed.ok() && result.ok()) {
      PrintError(std::string(closed.message()));
    }
    return result;
  }

  absl::StatusOr<std::unique_ptr<PreparedProcess>> OpenAndPrepare(const RunRequest& request,
                                                                  const SessionOptions& options) {
    session_.reset();
    auto session = Session::Open(request.profile, options);
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    facts_.compile = session_->executor().Report();
    facts_.extra_entries = session_->Entries();
    return Prepare(*session_, request, facts_.execution_id);
  }

  const RunOptionsText& options_;
  const Invocation& invocation_;
  const std::shared_ptr<TerminalPause> pause_ = std::make_shared<TerminalPause>();
  RunFacts facts_;
  std::unique_ptr<Session> session_;
};

}  // namespace

void AddRunCommand(CLI::App& run, Invocation& invocation) {
  run.footer(
      "Examples:\n"
      "  cordon run -c 'make test 2>&1 | tail'\n"
      "  cordon run --read ~/.cache/ccache --deny-read '**/.env' --report - -- make -j2\n"
      "\n"
      "Exit status: the command's own; 128+N when signal N ended it; 124 time limit;\n"
      "123 output limit; 125 not started, with the reason; 126 cannot be executed; 127 not found.");
  auto options = std::make_shared<RunOptionsText>();
  AddSessionOptions(run, options->session);
  run.add_option_function<std::string>(
         "-c",
         [options](const std::string& text) {
           options->shell_text = text;
           options->shell_text_given = true;
         },
         "Run TEXT through /bin/sh")
      ->type_name("TEXT");
  run.add_option("-C,--chdir", options->chdir, "Where the command starts")->type_name("DIR");
  run.add_option("--timeout", options->timeout, "End the command after this time")
      ->type_name("DURATION");
  run.add_option("--max-output", options->max_output, "End the command after this much output")
      ->type_name("SIZE");
  CLI::Option* tty = run.add_flag(
      "--tty", options->tty, "Give the command a terminal of its own (the default at a terminal)");
  run.add_flag("--no-tty", options->no_tty, "Never give it a terminal")->excludes(tty);
  run.add_option("--report", options->report, "Write the report there, - is standard error")
      ->type_name("FILE");
  run.add_flag("--explain", options->session.explain,
               "Also report refused paths; path system calls take some microseconds longer");
  run.add_flag("--quiet", options->quiet, "Nothing of cordon's own on standard error");
  run.callback([&invocation, options] {
    invocation.action = [&invocation, options] {
      PrepareSignals();
      RunCommandLine command_line(*options, invocation);
      return Leave(command_line.Execute());
    };
  });
}

}  // namespace cordon::cli
