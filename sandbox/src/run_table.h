// Which commands run, in memory that the launcher sees, too: when this process dies the launcher
// removes what they must not leave behind, and nothing that somebody else put there later. No
// message says so, since that would wake the launcher for each command.

#ifndef CORDON_SANDBOX_SRC_RUN_TABLE_H_
#define CORDON_SANDBOX_SRC_RUN_TABLE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"
#include "launcher_protocol.h"

namespace cordon::internal {

class RunTable;

// The place of one command in it, or none. Used by one thread at a time.
class NotedRun {
 public:
  NotedRun() = default;
  NotedRun(NotedRun&& other) noexcept;
  NotedRun& operator=(NotedRun&& other) noexcept;
  ~NotedRun();  // After `Begin` without `Tidied` the command is noted for ever.

  // For the launcher. Both 0 for none.
  [[nodiscard]] std::uint32_t place() const { return table_ == nullptr ? 0 : index_ + 1; }
  [[nodiscard]] std::uint32_t id() const { return table_ == nullptr ? 0 : id_; }

  // The command is about to be handed over.
  void Begin();
  // Nothing is left of what it, which has ended, must not leave behind: what appears under those
  // names from now on is somebody else's. Idempotent.
  void Tidied();

 private:
  friend class RunTable;
  NotedRun(std::shared_ptr<RunTable> table, std::uint32_t index, std::uint32_t id)
      : table_(std::move(table)), index_(index), id_(id) {}

  std::shared_ptr<RunTable> table_;
  std::uint32_t index_ = 0;
  std::uint32_t id_ = 0;
  bool has_begun_ = false;
};

// Safe from any thread.
class RunTable : public std::enable_shared_from_this<RunTable> {
 public:
  // Returns kInternal with the errno.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<RunTable>> Create();
  RunTable(const RunTable&) = delete;
  RunTable& operator=(const RunTable&) = delete;
  ~RunTable();

  // The memory file, for the launcher: an array of kMaxNotedRuns numbers of commands that run.
  // Once.
  [[nodiscard]] UniqueFd TakeFile() { return std::move(file_); }

  // A place for one more; none when all are taken.
  [[nodiscard]] NotedRun Take();

 private:
  friend class NotedRun;
  RunTable(UniqueFd file, std::uint32_t* runs);
  void Write(std::uint32_t index, std::uint32_t id);
  void Return(std::uint32_t index);

  UniqueFd file_;
  std::uint32_t* const runs_;
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::uint32_t last_id_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_RUN_TABLE_H_
