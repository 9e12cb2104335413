#include "output_spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kSuffix = ".out";

std::string SegmentName(std::uint64_t begin) { return absl::StrFormat("%020d%s", begin, kSuffix); }

absl::StatusOr<UniqueFd> OpenFolder(int parent, const std::string& name) {
  UniqueFd folder(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.valid()) return folder;
  return MakeErrnoError(errno, "cannot open the folder of a background job's output");
}

// As many bytes as there were room for.
std::size_t WriteSome(int fd, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

absl::Status ReadAt(int folder, std::uint64_t begin, std::uint64_t offset, std::size_t size,
                    std::string& out) {
  const UniqueFd file(
      openat(folder, SegmentName(begin).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return MakeErrnoError(errno, "cannot read a background job's output");
  const std::size_t before = out.size();
  out.resize(before + size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(file.get(), out.data() + before + done, size - done,
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  out.resize(before + done);
  if (done == size) return absl::OkStatus();
  return MakeError(ErrorCode::kInternal, "a background job's output is shorter than it was");
}

}  // namespace

absl::StatusOr<std::unique_ptr<OutputSpool>> OutputSpool::Create(int parent,
                                                                 const std::string& name,
                                                                 SpoolLimits limits) {
  if (mkdirat(parent, name.c_str(), 0700) != 0) {
    return MakeErrnoError(errno, "cannot make a folder for a background job's output");
  }
  absl::StatusOr<UniqueFd> folder = OpenFolder(parent, name);
  if (!folder.ok()) return folder.status();
  return std::unique_ptr<OutputSpool>(new OutputSpool(*std::move(folder), limits));
}

absl::StatusOr<std::unique_ptr<OutputSpool>> OutputSpool::OpenExisting(int parent,
                                                                       const std::string& name) {
  absl::StatusOr<UniqueFd> folder = OpenFolder(parent, name);
  if (!folder.ok()) return folder.status();
  auto spool = std::unique_ptr<OutputSpool>(new OutputSpool(*std::move(folder), {}));
  // fdopendir takes the descriptor that it is given.
  DIR* listing = fdopendir(fcntl(spool->folder_.get(), F_DUPFD_CLOEXEC, 0));
  if (listing == nullptr) return MakeErrnoError(errno, "cannot list a background job's output");
  while (const dirent* entry = readdir(listing)) {
    std::string_view name_text = entry->d_name;
    Segment segment;
    struct stat info {};
    if (!name_text.ends_with(kSuffix)) continue;
    name_text.remove_suffix(kSuffix.size());
    if (!absl::SimpleAtoi(absl::string_view(name_text.data(), name_text.size()), &segment.begin) ||
        fstatat(spool->folder_.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    segment.size = static_cast<std::uint64_t>(info.st_size);
    spool->segments_.push_back(segment);
  }
  closedir(listing);
  std::sort(spool->segments_.begin(), spool->segments_.end(),
            [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
  if (!spool->segments_.empty()) {
    spool->total_bytes_ = spool->segments_.back().begin + spool->segments_.back().size;
  }
  return spool;
}

absl::Status OutputSpool::OpenSegmentLocked() {
  current_.Reset(openat(folder_.get(), SegmentName(total_bytes_).c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!current_.valid()) return MakeErrnoError(errno, "cannot keep a background job's output");
  segments_.push_back({total_bytes_, 0});
  DropOldLocked();
  return absl::OkStatus();
}

void OutputSpool::DropOldLocked() {
  const auto kept = [this] {
    std::uint64_t bytes = limits_.segment_bytes;  // What the newest one will hold.
    for (const Segment& segment : segments_) bytes += segment.size;
    return bytes;
  };
  while (segments_.size() > 2 && kept() > limits_.max_bytes) {
    (void)unlinkat(folder_.get(), SegmentName(segments_[1].begin).c_str(), 0);
    segments_.erase(segments_.begin() + 1);
  }
}

absl::Status OutputSpool::Append(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  absl::Status status;
  while (!bytes.empty()) {
    if (!current_.valid() || segments_.back().size >= limits_.segment_bytes) {
      status = OpenSegmentLocked();
      if (!status.ok()) break;
    }
    Segment& segment = segments_.back();
    const std::size_t room =
        std::min<std::uint64_t>(bytes.size(), limits_.segment_bytes - segment.size);
    const std::size_t written = WriteSome(current_.get(), bytes.substr(0, room));
    segment.size += written;
    total_bytes_ += written;
    bytes.remove_prefix(written);
    if (written < room) {
      status = MakeErrnoError(errno, "cannot keep a background job's output");
      current_.Reset();  // What follows a gap begins a segment of its own.
      break;
    }
  }
  total_bytes_ += bytes.size();
  return status;
}

void OutputSpool::Finish() {
  const std::lock_guard lock(mutex_);
  current_.Reset();
}

absl::StatusOr<SpoolSlice> OutputSpool::Read(std::uint64_t cursor, std::size_t max_bytes) const {
  const std::lock_guard lock(mutex_);
  SpoolSlice slice;
  slice.next_cursor = cursor;
  for (const Segment& segment : segments_) {
    const std::uint64_t end = segment.begin + segment.size;
    if (end <= slice.next_cursor || slice.bytes.size() >= max_bytes) continue;
    if (segment.begin > slice.next_cursor) {
      // A gap is told between two answers, never in the middle of one.
      if (!slice.bytes.empty()) return slice;
      slice.skipped_bytes += segment.begin - slice.next_cursor;
      slice.next_cursor = segment.begin;
    }
    const std::size_t size =
        std::min<std::uint64_t>(end - slice.next_cursor, max_bytes - slice.bytes.size());
    const absl::Status status =
        ReadAt(folder_.get(), segment.begin, slice.next_cursor - segment.begin, size, slice.bytes);
    if (!status.ok()) return status;
    slice.next_cursor += size;
  }
  if (slice.bytes.empty() && max_bytes > 0 && slice.next_cursor < total_bytes_) {
    slice.skipped_bytes += total_bytes_ - slice.next_cursor;
    slice.next_cursor = total_bytes_;
  }
  return slice;
}

std::uint64_t OutputSpool::total_bytes() const {
  const std::lock_guard lock(mutex_);
  return total_bytes_;
}

}  // namespace cordon::internal
