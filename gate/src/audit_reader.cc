#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "audit_chain.h"
#include "audit_files.h"
#include "cordon/gate/audit.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "file_io.h"

namespace cordon {
namespace {

using internal::ChainEnd;
using internal::ParsedLine;

// The lines of a file, each bounded.
class LineReader {
 public:
  [[nodiscard]] static absl::StatusOr<LineReader> Open(const std::string& path) {
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) {
      return MakeErrnoError(errno, "cannot open the audit log " + EscapeForDisplay(path));
    }
    return LineReader(std::move(fd));
  }

  struct Line {
    std::string text;    // Without its newline.
    bool whole = false;  // It had a newline and was not too long.
  };

  [[nodiscard]] int fd() const { return fd_.get(); }

  // Nothing at the end; where the file `may_grow` nothing either for a line that has no end yet.
  absl::StatusOr<std::optional<Line>> Next(bool may_grow = false) {
    while (true) {
      const std::size_t end = buffer_.find('\n', start_);
      if (end != std::string::npos) return Take(end, true);
      if (buffer_.size() - start_ > internal::kMaxAuditLineBytes)
        return Take(buffer_.size(), false);
      const absl::StatusOr<bool> more = Fill();
      if (!more.ok()) return more.status();
      if (*more) continue;
      if (start_ == buffer_.size() || may_grow) return std::optional<Line>();
      return Take(buffer_.size(), false);
    }
  }

 private:
  explicit LineReader(UniqueFd fd) : fd_(std::move(fd)) {}

  std::optional<Line> Take(std::size_t end, bool whole) {
    Line line{buffer_.substr(start_, end - start_), whole};
    start_ = std::min(buffer_.size(), end + 1);
    return line;
  }

  absl::StatusOr<bool> Fill() {
    buffer_.erase(0, start_);
    start_ = 0;
    char chunk[64 * 1024];
    ssize_t count = 0;
    do {
      count = read(fd_.get(), chunk, sizeof chunk);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return MakeErrnoError(errno, "cannot read the audit log");
    buffer_.append(chunk, static_cast<std::size_t>(count));
    return count > 0;
  }

  UniqueFd fd_;
  std::string buffer_;
  std::size_t start_ = 0;
};

std::string Text(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

absl::Status ReadError(const absl::Status& status) {
  if (Is(status, ErrorCode::kNotFound)) return status;
  return MakeError(ErrorCode::kLogFailed, Text(status));
}

// The head file, when there is one that can be read.
struct Head {
  bool present = false;
  bool damaged = false;
  ChainEnd end;
};

Head ReadHead(const std::string& path) {
  Head head;
  const UniqueFd fd(open((path + ".head").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return head;
  const absl::StatusOr<std::string> text = internal::ReadAll(fd.get(), internal::kHeadBytes);
  if (text.ok() && text->empty()) return head;
  head.present = true;
  absl::StatusOr<ChainEnd> end = text.ok() ? internal::ParseHead(*text) : text.status();
  head.damaged = !end.ok();
  if (end.ok()) head.end = *std::move(end);
  return head;
}

// Walks along the chain through all files.
class ChainCheck {
 public:
  explicit ChainCheck(Head head) : head_(std::move(head)), head_matched_(head_.end == end_) {}

  // Broken, or nothing and on with the next file.
  absl::StatusOr<std::optional<AuditVerification>> CheckFile(const std::string& path) {
    absl::StatusOr<LineReader> reader = LineReader::Open(path);
    if (!reader.ok()) return reader.status();
    bool first_of_file = true;
    while (true) {
      const absl::StatusOr<std::optional<LineReader::Line>> line = reader->Next();
      if (!line.ok()) return line.status();
      if (!line->has_value()) return std::optional<AuditVerification>();
      const absl::StatusOr<ParsedLine> parsed = internal::ParseChainLine((*line)->text);
      if (first_of_file && !any_ && parsed.ok()) StartAt(*parsed);
      first_of_file = false;
      std::string fault = Fault(**line, parsed);
      if (!fault.empty()) return Broken(end_.seq + 1, std::move(fault));
      any_ = true;
      end_ = {parsed->record.seq, parsed->record.hash};
      if (end_ == head_.end) head_matched_ = true;
    }
  }

  // Compares the end of an unbroken chain with the head file.
  [[nodiscard]] AuditVerification CheckEnd() const {
    if (head_.damaged) return Broken(end_.seq + 1, "the head file is damaged");
    if (head_.present && head_.end.seq > end_.seq) {
      return Broken(end_.seq + 1, "the log ends before record " + std::to_string(head_.end.seq) +
                                      ", which its head file names as the last");
    }
    if (head_.present && !head_matched_) {
      return Broken(head_.end.seq, "it is not the record that the head file names");
    }
    AuditVerification intact;
    intact.intact = true;
    intact.records = end_.seq - (first_ - 1);
    intact.first_record = first_;
    intact.end_is_known = head_.present || end_.seq == 0;
    return intact;
  }

 private:
  [[nodiscard]] AuditVerification Broken(std::uint64_t record, std::string reason) const {
    AuditVerification broken;
    broken.records = record < first_ ? 0 : record - first_;
    broken.first_record = first_;
    broken.broken_record = record;
    broken.reason = std::move(reason);
    return broken;
  }

  // Earlier files may be gone, but only whole ones.
  void StartAt(const ParsedLine& line) {
    if (line.record.event != internal::kRotatedEvent || line.record.seq < 2) return;
    end_ = {line.record.seq - 1, line.prev};
    first_ = line.record.seq;
  }

  // What is wrong with `line` as the successor of `end_`; empty when nothing is.
  [[nodiscard]] std::string Fault(const LineReader::Line& line,
                                  const absl::StatusOr<ParsedLine>& parsed) const {
    if (!line.whole) return "it is cut off";
    if (!parsed.ok()) return Text(parsed.status());
    if (parsed->record.seq != end_.seq + 1) {
      return "its number is " + std::to_string(parsed->record.seq) + ": one is missing or moved";
    }
    if (parsed->prev != end_.hash) return "it does not continue the record before it";
    return {};
  }

  const Head head_;
  ChainEnd end_;
  std::uint64_t first_ = 1;
  bool any_ = false;
  bool head_matched_;
};

absl::StatusOr<AuditVerification> VerifyFiles(const std::string& path,
                                              const std::vector<std::string>& files) {
  // Before the log: a record that is appended meanwhile makes the log longer, never the head.
  ChainCheck check(ReadHead(path));
  for (const std::string& file : files) {
    absl::StatusOr<std::optional<AuditVerification>> broken = check.CheckFile(file);
    if (!broken.ok()) return ReadError(broken.status());
    if (broken->has_value()) return **broken;
  }
  return check.CheckEnd();
}

// Visits the records of one file from where `reader` stands; false when the visitor had enough.
absl::StatusOr<bool> VisitFile(LineReader& reader, std::uint64_t& number, bool may_grow,
                               const std::function<bool(const AuditRecord&)>& visit) {
  while (true) {
    const absl::StatusOr<std::optional<LineReader::Line>> line = reader.Next(may_grow);
    if (!line.ok()) return ReadError(line.status());
    if (!line->has_value()) return true;
    ++number;
    const absl::StatusOr<ParsedLine> parsed = internal::ParseChainLine((*line)->text);
    if (!parsed.ok()) {
      return MakeError(ErrorCode::kLogFailed,
                       "line " + std::to_string(number) +
                           " of the audit log is no record: " + Text(parsed.status()));
    }
    if (!visit(parsed->record)) return false;
  }
}

// Wakes up when something happens in the folder of a file, or after a while.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& path) : fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (fd_.valid()) {
      (void)inotify_add_watch(fd_.get(), folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
    }
  }
  void Wait() {
    pollfd fds[] = {{fd_.get(), POLLIN, 0}};
    (void)poll(fds, fd_.valid() ? 1 : 0, 200);
    char events[4096];
    while (fd_.valid() && read(fd_.get(), events, sizeof events) > 0) continue;
  }

 private:
  UniqueFd fd_;
};

bool IsFileBehind(int fd, const std::string& path) {
  struct stat open_file {};
  struct stat named {};
  return fstat(fd, &open_file) == 0 && stat(path.c_str(), &named) == 0 &&
         open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

// All files of the log, oldest first, as they were at one time: while another program rotates them
// a name may be gone, or already another file's.
absl::StatusOr<std::vector<LineReader>> OpenAll(const std::string& path) {
  constexpr int kTries = 1000;  // A rotation is a few renames.
  absl::Status problem = MakeError(ErrorCode::kLogFailed, "the audit log is rotated all the time");
  for (int i = 0; i < kTries; ++i) {
    const std::vector<std::string> names = internal::AuditFiles(path);
    std::vector<LineReader> files;
    for (const std::string& name : names) {
      absl::StatusOr<LineReader> opened = LineReader::Open(name);
      if (!opened.ok()) {
        problem = opened.status();
        break;
      }
      files.push_back(*std::move(opened));
    }
    bool is_whole = files.size() == names.size() && internal::AuditFiles(path) == names;
    for (std::size_t at = 0; is_whole && at < files.size(); ++at) {
      is_whole = IsFileBehind(files[at].fd(), names[at]);
    }
    if (is_whole) return files;
    std::this_thread::yield();
  }
  return problem;
}

}  // namespace

absl::StatusOr<AuditVerification> VerifyAuditLog(const std::string& path) {
  while (true) {
    const std::vector<std::string> files = internal::AuditFiles(path);
    absl::StatusOr<AuditVerification> verification = VerifyFiles(path, files);
    const bool good = verification.ok() && verification->intact;
    // A rotation in between looks like a missing file.
    if (good || internal::AuditFiles(path) == files) return verification;
  }
}

absl::Status ReadAuditLog(const std::string& path,
                          const std::function<bool(const AuditRecord&)>& visit) {
  std::uint64_t number = 0;
  for (const std::string& file : internal::AuditFiles(path)) {
    absl::StatusOr<LineReader> reader = LineReader::Open(file);
    if (!reader.ok()) return ReadError(reader.status());
    const absl::StatusOr<bool> more = VisitFile(*reader, number, false, visit);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status FollowAuditLog(const std::string& path,
                            const std::function<bool(const AuditRecord&)>& visit,
                            std::stop_token stop) {
  FolderWatch watch(path);
  std::uint64_t number = 0;
  std::uint64_t last_seq = 0;
  const auto visit_new = [&](const AuditRecord& record) {
    if (record.seq <= last_seq) return true;
    last_seq = record.seq;
    return visit(record);
  };
  while (!stop.stop_requested()) {
    // From the start of all files after each rotation: what was seen is skipped by its number.
    absl::StatusOr<std::vector<LineReader>> files = OpenAll(path);
    if (!files.ok()) return ReadError(files.status());
    for (LineReader& file : *files) {
      const absl::StatusOr<bool> more = VisitFile(file, number, true, visit_new);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
    }
    LineReader& newest = files->back();
    while (!stop.stop_requested() && IsFileBehind(newest.fd(), path)) {
      watch.Wait();
      const absl::StatusOr<bool> more = VisitFile(newest, number, true, visit_new);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace cordon
