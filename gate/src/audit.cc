#include "cordon/gate/audit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "audit_chain.h"
#include "audit_files.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "file_io.h"

namespace cordon {
namespace {

using internal::ChainEnd;
using internal::ChainLine;

absl::Status LogError(const std::string& path, std::string_view what, int error_number = 0) {
  std::string message = "audit log " + EscapeForDisplay(path) + ": " + std::string(what);
  if (error_number != 0) message += std::string(": ") + strerrordesc_np(error_number);
  return MakeError(ErrorCode::kLogFailed, message);
}

absl::StatusOr<UniqueFd> OpenOwnFile(const std::string& path, int flags) {
  UniqueFd fd(open(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!fd.valid()) return LogError(path, "cannot be opened", errno);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return LogError(path, "cannot be examined", errno);
  if (!S_ISREG(info.st_mode)) return LogError(path, "is not a regular file");
  if (info.st_nlink != 1) return LogError(path, "has several hard links");
  return fd;
}

// Holds the file's lock against other programs, and other logs of this one.
class FileLock {
 public:
  explicit FileLock(int fd) : fd_(fd) {
    int result = 0;
    do {
      result = flock(fd_, LOCK_EX);
    } while (result != 0 && errno == EINTR);
    held_ = result == 0;
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() {
    if (held_) flock(fd_, LOCK_UN);
  }
  [[nodiscard]] bool held() const { return held_; }

 private:
  int fd_;
  bool held_ = false;
};

// The last line of a file of `size` bytes, without its newline; nothing when there is no whole one.
std::optional<std::string> LastLine(int fd, std::uint64_t size) {
  const std::uint64_t wanted = std::min<std::uint64_t>(size, internal::kMaxAuditLineBytes + 1);
  std::string tail(static_cast<std::size_t>(wanted), '\0');
  std::size_t have = 0;
  while (have < tail.size()) {
    const auto offset = static_cast<off_t>(size - wanted + have);
    const ssize_t count = pread(fd, tail.data() + have, tail.size() - have, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    have += static_cast<std::size_t>(count);
  }
  if (tail.empty() || tail.back() != '\n') return std::nullopt;
  tail.pop_back();
  const std::size_t start = tail.rfind('\n');
  if (start == std::string::npos && wanted < size) return std::nullopt;
  return start == std::string::npos ? tail : tail.substr(start + 1);
}

// More than one rotation by others while this one waits for the lock is rare.
constexpr int kMaxReopens = 16;

class FileAuditLog final : public AuditLog {
 public:
  FileAuditLog(std::string path, AuditOptions options, UniqueFd head)
      : path_(std::move(path)), options_(std::move(options)), head_(std::move(head)) {
    if (!options_.clock) options_.clock = std::chrono::system_clock::now;
  }

  bool IsDurable() const override { return options_.sync == AuditSync::kEachRecord; }

  absl::Status Append(const LogRecord& record) override {
    return WithEnd([&] {
      const ChainLine next = internal::MakeChainLine(end_, record, options_.clock());
      return Write(next);
    });
  }

  // Checks that there is a chain to continue.
  absl::Status CheckEnd() {
    return WithEnd([] { return absl::OkStatus(); });
  }

 private:
  // `act` with the lock of the current file held, `end_` and `size_` up to date, and room in it.
  template <typename Act>
  absl::Status WithEnd(const Act& act) {
    const std::lock_guard lock(mutex_);
    for (int attempt = 0; attempt < kMaxReopens; ++attempt) {
      if (!log_.valid()) {
        if (absl::Status status = Open(); !status.ok()) return status;
      }
      const FileLock file_lock(log_.get());
      if (!file_lock.held()) return LogError(path_, "cannot be locked", errno);
      if (!IsCurrent()) {
        stale_ = std::move(log_);  // Its lock is given up when this round ends.
        continue;
      }
      if (absl::Status status = FindEnd(); !status.ok()) return status;
      if (options_.max_file_bytes > 0 && size_ >= options_.max_file_bytes) {
        if (absl::Status status = Rotate(); !status.ok()) return status;
        stale_ = std::move(log_);
        continue;
      }
      if (size_ == 0 && end_.seq > 0) {
        if (absl::Status status = WriteRotated(); !status.ok()) return status;
      }
      return act();
    }
    return LogError(path_, "is rotated again and again by another program");
  }

  absl::Status Open() {
    absl::StatusOr<UniqueFd> log = OpenOwnFile(path_, O_RDWR | O_APPEND);
    if (!log.ok()) return log.status();
    log_ = *std::move(log);
    known_ = false;
    return absl::OkStatus();
  }

  // Whether the open file is still the one behind the path.
  [[nodiscard]] bool IsCurrent() const {
    struct stat open_file {};
    struct stat named {};
    return fstat(log_.get(), &open_file) == 0 && lstat(path_.c_str(), &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
  }

  absl::Status Rotate() {
    std::vector<std::uint64_t> numbers = internal::RotatedNumbers(path_);
    const std::uint64_t next = numbers.empty() ? 1 : numbers.back() + 1;
    if (rename(path_.c_str(), internal::RotatedPath(path_, next).c_str()) != 0) {
      return LogError(path_, "cannot be rotated", errno);
    }
    numbers.push_back(next);
    const std::size_t keep = options_.max_rotated_files;
    for (std::size_t i = 0; keep > 0 && numbers.size() - i > keep; ++i) {
      (void)unlink(internal::RotatedPath(path_, numbers[i]).c_str());
    }
    return absl::OkStatus();
  }

  // The first record of a file that continues another.
  absl::Status WriteRotated() {
    const LogRecord record{std::string(internal::kRotatedEvent), "", {}};
    return Write(internal::MakeChainLine(end_, record, options_.clock()));
  }

  // Brings `end_` and `size_` up to what is in the file. With both locks held.
  absl::Status FindEnd() {
    struct stat info {};
    if (fstat(log_.get(), &info) != 0) return LogError(path_, "cannot be examined", errno);
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (known_ && size == size_) return absl::OkStatus();
    absl::StatusOr<ChainEnd> end = size > 0 ? EndOf(log_.get(), size, path_) : EndOfRotated();
    if (!end.ok()) return end.status();
    if (absl::Status status = CheckHead(*end); !status.ok()) return status;
    end_ = *std::move(end);
    size_ = size;
    known_ = true;
    return absl::OkStatus();
  }

  static absl::StatusOr<ChainEnd> EndOf(int fd, std::uint64_t size, const std::string& path) {
    const std::optional<std::string> line = LastLine(fd, size);
    if (!line.has_value()) return LogError(path, "does not end in a whole record");
    const auto parsed = internal::ParseChainLine(*line);
    if (!parsed.ok()) return LogError(path, "does not end in a whole record");
    return ChainEnd{parsed->record.seq, parsed->record.hash};
  }

  // Where an empty file goes on: behind the newest rotated one, or at the very start.
  [[nodiscard]] absl::StatusOr<ChainEnd> EndOfRotated() const {
    const std::vector<std::uint64_t> numbers = internal::RotatedNumbers(path_);
    if (numbers.empty()) return ChainEnd();
    const std::string path = internal::RotatedPath(path_, numbers.back());
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0) {
      return LogError(path, "cannot be opened", errno);
    }
    return EndOf(fd.get(), static_cast<std::uint64_t>(info.st_size), path);
  }

  // A head that is ahead of the log says that records were cut off. One that is behind was not
  // written before a crash.
  absl::Status CheckHead(const ChainEnd& end) const {
    char text[internal::kHeadBytes];
    const ssize_t count = pread(head_.get(), text, sizeof text, 0);
    if (count == 0) return absl::OkStatus();
    const auto head = internal::ParseHead(std::string_view(text, count > 0 ? sizeof text : 0));
    if (!head.ok()) return LogError(path_ + ".head", "is damaged");
    if (head->seq > end.seq || (head->seq == end.seq && head->hash != end.hash)) {
      return LogError(path_, "is not as long as its head file says: records were removed");
    }
    return absl::OkStatus();
  }

  absl::Status Write(const ChainLine& next) {
    const absl::Status written = internal::WriteAll(log_.get(), next.line);
    if (!written.ok()) {
      // A torn record would make the log unusable: take back what was written of it.
      const int undone = ftruncate(log_.get(), static_cast<off_t>(size_));
      known_ = undone == 0;
      const std::optional<Error> error = ErrorOf(written);
      return LogError(path_, "cannot be written", error.has_value() ? error->error_number : 0);
    }
    end_ = next.end;
    size_ += next.line.size();
    if (options_.sync == AuditSync::kEachRecord && fdatasync(log_.get()) != 0) {
      return LogError(path_, "cannot be synced", errno);
    }
    const std::string head = internal::HeadText(end_);
    if (pwrite(head_.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) {
      return LogError(path_ + ".head", "cannot be written", errno);
    }
    return absl::OkStatus();
  }

  const std::string path_;
  AuditOptions options_;
  UniqueFd log_;    // Empty: to be opened.
  UniqueFd stale_;  // The file before it.
  const UniqueFd head_;
  std::mutex mutex_;
  bool known_ = false;  // Whether the next two describe the file at its size then.
  ChainEnd end_;
  std::uint64_t size_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(std::string path, AuditOptions options) {
  // The log first: where it cannot be, no head file is left behind.
  if (const absl::StatusOr<UniqueFd> log = OpenOwnFile(path, O_RDWR | O_APPEND); !log.ok()) {
    return log.status();
  }
  absl::StatusOr<UniqueFd> head = OpenOwnFile(path + ".head", O_RDWR);
  if (!head.ok()) return head.status();
  auto opened =
      std::make_unique<FileAuditLog>(std::move(path), std::move(options), *std::move(head));
  if (absl::Status status = opened->CheckEnd(); !status.ok()) return status;
  return opened;
}

}  // namespace cordon
