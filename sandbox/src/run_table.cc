#include "run_table.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <numeric>
#include <utility>

#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kBytes = kMaxNotedRuns * sizeof(std::uint32_t);

}  // namespace

absl::StatusOr<std::shared_ptr<RunTable>> RunTable::Create() {
  UniqueFd file(memfd_create("cordon-runs", MFD_CLOEXEC));
  if (!file.valid() || ftruncate(file.get(), kBytes) != 0) {
    return MakeErrnoError(errno, "cannot make a memory file");
  }
  void* const start = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) return MakeErrnoError(errno, "cannot map a memory file");
  return std::shared_ptr<RunTable>(
      new RunTable(std::move(file), static_cast<std::uint32_t*>(start)));
}

RunTable::RunTable(UniqueFd file, std::uint32_t* runs)
    : file_(std::move(file)), runs_(runs), free_(kMaxNotedRuns) {
  // The lowest first.
  std::iota(free_.rbegin(), free_.rend(), 0);
}

RunTable::~RunTable() { (void)munmap(runs_, kBytes); }

NotedRun RunTable::Take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return {};
  const std::uint32_t index = free_.back();
  free_.pop_back();
  if (++last_id_ == 0) ++last_id_;
  return {shared_from_this(), index, last_id_};
}

// Before anything that the caller does after it, for whoever looks when this process is dead.
void RunTable::Write(std::uint32_t index, std::uint32_t id) {
  std::atomic_ref(runs_[index]).store(id);
}

void RunTable::Return(std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  free_.push_back(index);
}

NotedRun::NotedRun(NotedRun&& other) noexcept
    : table_(std::move(other.table_)),
      index_(other.index_),
      id_(other.id_),
      has_begun_(other.has_begun_) {}

NotedRun& NotedRun::operator=(NotedRun&& other) noexcept {
  if (this == &other) return *this;
  if (!has_begun_) Tidied();
  table_ = std::move(other.table_);
  index_ = other.index_;
  id_ = other.id_;
  has_begun_ = other.has_begun_;
  return *this;
}

NotedRun::~NotedRun() {
  if (!has_begun_) Tidied();
}

void NotedRun::Begin() {
  if (table_ == nullptr) return;
  has_begun_ = true;
  table_->Write(index_, id_);
}

void NotedRun::Tidied() {
  if (table_ == nullptr) return;
  if (has_begun_) table_->Write(index_, 0);
  table_->Return(index_);
  table_.reset();
}

}  // namespace cordon::internal
