// What a background job writes, kept in files that are only ever appended to. A stream without end
// keeps its first segment and its newest ones; whole segments between them are removed, and nothing
// is written twice.

#ifndef CORDON_TOOLS_BASH_OUTPUT_SPOOL_H_
#define CORDON_TOOLS_BASH_OUTPUT_SPOOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

struct SpoolLimits {
  std::uint64_t segment_bytes = 0;
  std::uint64_t max_bytes = 0;  // At least three segments.
};

// A part of the stream. A cursor is a number of bytes from the stream's beginning.
struct SpoolSlice {
  std::string bytes;
  std::uint64_t skipped_bytes = 0;  // Asked for, but not kept any more.
  std::uint64_t next_cursor = 0;
};

// Written by one thread, read by any.
class OutputSpool {
 public:
  // Makes the folder `name`, 0700, in the open folder `parent`.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<OutputSpool>> Create(int parent,
                                                                           const std::string& name,
                                                                           SpoolLimits limits);
  // What an earlier process left there, for reading. Returns kNotFound when there is nothing.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<OutputSpool>> OpenExisting(
      int parent, const std::string& name);

  // Returns kInternal when the bytes could not be kept; they are counted, and skipped by readers.
  [[nodiscard]] absl::Status Append(std::string_view bytes);
  // No more will come; closes the file.
  void Finish();

  // At most `max_bytes` from `cursor` on; a cursor beyond the end reads nothing and stays.
  [[nodiscard]] absl::StatusOr<SpoolSlice> Read(std::uint64_t cursor, std::size_t max_bytes) const;

  [[nodiscard]] std::uint64_t total_bytes() const;

 private:
  struct Segment {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };

  OutputSpool(UniqueFd folder, SpoolLimits limits) : folder_(std::move(folder)), limits_(limits) {}

  [[nodiscard]] absl::Status OpenSegmentLocked();
  void DropOldLocked();

  const UniqueFd folder_;
  const SpoolLimits limits_;
  mutable std::mutex mutex_;
  UniqueFd current_;
  std::vector<Segment> segments_;  // In order, with gaps where segments were removed.
  std::uint64_t total_bytes_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_OUTPUT_SPOOL_H_
