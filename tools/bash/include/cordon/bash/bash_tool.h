// The shell as a tool that a model can call: strict arguments in, one confined command, and a text
// that a model can act on. It decides nothing: an Admission does, and an Executor enforces.

#ifndef CORDON_BASH_BASH_TOOL_H_
#define CORDON_BASH_BASH_TOOL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/bash/process_registry.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/tool.h"

namespace cordon {

struct BashToolOptions {
  // When the model names no `timeout_ms`.
  std::chrono::milliseconds default_timeout = std::chrono::minutes(2);
  // A larger `timeout_ms` is an error, not cut down in silence.
  std::chrono::milliseconds max_timeout = std::chrono::minutes(10);
  // Of both streams together; a command that writes more is ended.
  std::uint64_t max_output_bytes = std::uint64_t{256} * 1024 * 1024;
  // Shown to the model of each stream; what lies between is counted and left out.
  std::size_t head_bytes = 16 * 1024;
  std::size_t tail_bytes = 16 * 1024;
  // One text in the order in which it was written, as "stdout"; "stderr" is always empty then.
  bool merge_output = false;
  // Where a command without `workdir` starts, and what relative paths start from. Empty: the
  // workspace of the executor's profile.
  std::string start_directory;
  // The absolute path of the shell. Empty: /bin/bash where the host has it, else /bin/sh.
  std::string shell;
  // Where `background` starts jobs. Null: such a call is refused.
  std::shared_ptr<ProcessRegistry> jobs;
  // Whose jobs they are; not empty.
  std::string owner = "session";
};

// The tool `bash`. Its arguments are one JSON object; unknown or repeated members refuse the call:
//
//   command      string, required   run as `SHELL -c -- TEXT`, standard input at end of file
//   workdir      string             absolute, or relative to the start directory
//   timeout_ms   integer            1 to `max_timeout`; of a background job: none when not given
//   background   true or false      start it as a job and return its handle at once
//   description  string             the model's own words; shown to a person as such
//   access       array              what the command needs beyond the profile:
//     {"kind": "network", "target": "HOST:PORT"}
//     {"kind": "filesystem.read" or "filesystem.write", "path": "PATH", "tree": true or false}
//
// The result's text states how the command ended, both streams as head and tail in valid UTF-8
// without control codes, and what the sandbox refused with how to allow it. `structured_json` has
// `exit_code`, `signal`, `outcome`, `stdout`, `stderr`, `truncated`, `denials`,
// `changed_protected`, `invalid_utf8`, `left_running`, `notes` and `workdir`; of a background job
// `outcome` is "running" and `handle` is set. A failing command is no error; one that was ended by
// a limit or cancelled is (`is_error`), with what it had written. What could not be started is the
// status of `Run`. Every result also tells of background jobs that have ended since the last one
// (`ended_jobs`).
//
// Between calls it keeps one thing: a `workdir` stays for later calls that name none. (A `cd` does
// not: where a shell is as it ends can be learned only from text inside the command that was
// approved, which that command can change or skip.) When that
// folder has vanished, is a link now, or may not be read any more, the call starts in the start
// directory and says so in its notes. Safe from any thread.
class BashTool final : public Tool {
 public:
  // Returns kInvalidOption for a null executor, limits that are zero or contradict each other, or a
  // start directory or shell that is not absolute.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<BashTool>> Create(
      std::shared_ptr<Executor> executor, BashToolOptions options = {});

  [[nodiscard]] std::string_view name() const override;
  // States the readable and writable roots, the network mode, the limits, and how to ask for more.
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::string input_schema_json() const override;

  // Besides kInvalidArguments: kPolicyDenied for a `workdir` that the profile does not let read,
  // whether it exists or not; kNotFound for one that is not there or is no folder.
  [[nodiscard]] absl::StatusOr<PreparedCall> Prepare(std::string_view arguments_json,
                                                     const PrepareContext& context) override;

  // Returns kInvalidRequest for a call that another tool prepared or that ran before; else the
  // errors of `Executor::Run`.
  [[nodiscard]] absl::StatusOr<ToolResult> Run(const PreparedCall& call, std::vector<Grant> grants,
                                               std::stop_token stop) override;

 private:
  struct Place;

  BashTool(std::shared_ptr<Executor> executor, BashToolOptions options);
  [[nodiscard]] absl::StatusOr<Place> PlaceOf(const std::optional<std::string>& workdir,
                                              const std::vector<Requirement>& declared);

  const std::shared_ptr<Executor> executor_;
  const BashToolOptions options_;
  std::mutex mutex_;
  std::string kept_workdir_;  // Resolved; empty: none.
};

}  // namespace cordon

#endif  // CORDON_BASH_BASH_TOOL_H_
