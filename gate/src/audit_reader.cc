#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "audit_chain.h"
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

  // Nothing at the end.
  absl::StatusOr<std::optional<Line>> Next() {
    while (true) {
      const std::size_t end = buffer_.find('\n', start_);
      if (end != std::string::npos) return Take(end, true);
      if (buffer_.size() - start_ > internal::kMaxAuditLineBytes)
        return Take(buffer_.size(), false);
      const absl::StatusOr<bool> more = Fill();
      if (!more.ok()) return more.status();
      if (*more) continue;
      if (start_ == buffer_.size()) return std::optional<Line>();
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

AuditVerification Broken(std::uint64_t record, std::string reason) {
  return {false, record - 1, record, std::move(reason), false};
}

// What is wrong with `line` as the successor of `end`; empty when nothing is.
std::string Fault(const ChainEnd& end, const LineReader::Line& line,
                  const absl::StatusOr<ParsedLine>& parsed) {
  if (!line.whole) return "it is cut off";
  if (!parsed.ok()) return Text(parsed.status());
  if (parsed->record.seq != end.seq + 1) {
    return "its number is " + std::to_string(parsed->record.seq) + ": one is missing or moved";
  }
  if (parsed->prev != end.hash) return "it does not continue the record before it";
  return {};
}

// Compares the end of an unbroken chain with the head file.
AuditVerification CheckEnd(const ChainEnd& end, const Head& head, bool head_matched) {
  if (head.damaged) return Broken(end.seq + 1, "the head file is damaged");
  if (head.present && head.end.seq > end.seq) {
    return Broken(end.seq + 1, "the log ends before record " + std::to_string(head.end.seq) +
                                   ", which its head file names as the last");
  }
  if (head.present && !head_matched) {
    return Broken(head.end.seq, "it is not the record that the head file names");
  }
  return {true, end.seq, 0, "", head.present || end.seq == 0};
}

}  // namespace

absl::StatusOr<AuditVerification> VerifyAuditLog(const std::string& path) {
  // Before the log: a record that is appended meanwhile makes the log longer, never the head.
  const Head head = ReadHead(path);
  absl::StatusOr<LineReader> reader = LineReader::Open(path);
  if (!reader.ok()) return ReadError(reader.status());
  ChainEnd end;
  bool head_matched = head.end == end;
  while (true) {
    const absl::StatusOr<std::optional<LineReader::Line>> line = reader->Next();
    if (!line.ok()) return ReadError(line.status());
    if (!line->has_value()) return CheckEnd(end, head, head_matched);
    const absl::StatusOr<ParsedLine> parsed = internal::ParseChainLine((*line)->text);
    std::string fault = Fault(end, **line, parsed);
    if (!fault.empty()) return Broken(end.seq + 1, std::move(fault));
    end = {parsed->record.seq, parsed->record.hash};
    if (end == head.end) head_matched = true;
  }
}

absl::Status ReadAuditLog(const std::string& path,
                          const std::function<bool(const AuditRecord&)>& visit) {
  absl::StatusOr<LineReader> reader = LineReader::Open(path);
  if (!reader.ok()) return ReadError(reader.status());
  for (std::uint64_t number = 1;; ++number) {
    const absl::StatusOr<std::optional<LineReader::Line>> line = reader->Next();
    if (!line.ok()) return ReadError(line.status());
    if (!line->has_value()) return absl::OkStatus();
    const absl::StatusOr<ParsedLine> parsed = internal::ParseChainLine((*line)->text);
    if (!parsed.ok()) {
      return MakeError(ErrorCode::kLogFailed,
                       "line " + std::to_string(number) +
                           " of the audit log is no record: " + Text(parsed.status()));
    }
    if (!visit(parsed->record)) return absl::OkStatus();
  }
}

}  // namespace cordon
