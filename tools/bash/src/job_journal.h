// The record of background jobs that survives this process: one JSON object a line, appended and
// synced before what it tells of is relied on. It holds no process id.

#ifndef CORDON_TOOLS_BASH_JOB_JOURNAL_H_
#define CORDON_TOOLS_BASH_JOB_JOURNAL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/bash/process_registry.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

struct JournalEntry {
  std::string owner;
  JobInfo job;
};

// Whether `text` has the form of a handle; such a text is safe as a file name.
[[nodiscard]] bool IsJobHandle(std::string_view text);

// Used under its owner's lock.
class JobJournal {
 public:
  // Reads what the open folder `folder` (borrowed, outlives this) has, marks what never ended as
  // lost, and writes the file anew with that. A line that was torn by a crash is passed over.
  [[nodiscard]] static absl::StatusOr<JobJournal> Open(int folder);

  // What was found by `Open`, oldest first.
  [[nodiscard]] const std::vector<JournalEntry>& found() const { return found_; }

  // Returns kInternal when it is not safely on disk.
  [[nodiscard]] absl::Status Append(const JournalEntry& entry);
  // Replaces the file by these entries.
  [[nodiscard]] absl::Status Rewrite(const std::vector<JournalEntry>& entries);

  [[nodiscard]] std::size_t lines() const { return lines_; }

 private:
  explicit JobJournal(int folder) : folder_(folder) {}

  int folder_;
  UniqueFd file_;
  std::size_t lines_ = 0;
  bool torn_ = false;
  std::vector<JournalEntry> found_;
};

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_JOB_JOURNAL_H_
