// The report of `cordon run` (cli.md, "The report"), and where it is written.

#ifndef CORDON_TOOLS_CLI_SRC_RUN_REPORT_H_
#define CORDON_TOOLS_CLI_SRC_RUN_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::cli {

// Everything that the report tells; `result` is absent when nothing was started, then `error` says
// why.
struct RunFacts {
  Command command;
  std::string workspace;
  std::string execution_id;
  CompileReport compile;
  std::vector<ReportEntry> extra_entries;
  std::optional<RunResult> result;
  absl::Status error;
};

[[nodiscard]] std::string RunReportJson(const RunFacts& facts);

// A place for the report, taken before the command starts: the folder is held open and the file is
// put into it by renaming, so that no link which the command plants is ever followed.
class ReportFile {
 public:
  // `path` is a file, or `-` for standard error. Returns kInvalidOption when it cannot be written.
  [[nodiscard]] static absl::StatusOr<ReportFile> Open(const std::string& path);

  [[nodiscard]] absl::Status Write(const std::string& text);

 private:
  UniqueFd folder_;
  UniqueFd stream_;  // Instead of a folder: standard error, a fifo, a device.
  std::string name_;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_RUN_REPORT_H_
