#include "cordon/gate/audit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace cordon {
namespace {

using internal::TemporaryFolder;

LogRecord Record(std::string event, std::string value = "v") {
  return {std::move(event), "execution", {{"key", std::move(value)}}};
}

AuditOptions FixedClock() {
  AuditOptions options;
  options.clock = [] {
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(1769860800123));
  };
  return options;
}

std::string WriteLog(const TemporaryFolder& folder, int records) {
  const auto log = AuditLog::Open(folder.Path("log"), FixedClock()).value();
  for (int i = 1; i <= records; ++i) {
    REQUIRE(log->Append(Record("event-" + std::to_string(i))).ok());
  }
  return folder.Path("log");
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    lines.push_back(text.substr(start, end - start + 1));
    start = end + 1;
  }
  return lines;
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::vector<AuditRecord> ReadRecords(const std::string& path) {
  std::vector<AuditRecord> records;
  REQUIRE(ReadAuditLog(path, [&records](const AuditRecord& record) {
            records.push_back(record);
            return true;
          }).ok());
  return records;
}

TEST_CASE("records are read as they were written") {
  const TemporaryFolder folder;
  const auto log = AuditLog::Open(folder.Path("log"), FixedClock()).value();
  REQUIRE(log->Append({"request", "id", {{"b", "1"}, {"a", "two \"words\"\n"}}}).ok());
  REQUIRE(log->Append({"exit", "id", {{"k", "1"}, {"k", "2"}, {"bad", "\xff"}}}).ok());
  const std::vector<AuditRecord> records = ReadRecords(folder.Path("log"));
  REQUIRE(records.size() == 2);
  CHECK(records[0].seq == 1);
  CHECK(records[0].time == "2026-01-31T12:00:00.123Z");
  CHECK(records[0].event == "request");
  CHECK(records[0].execution_id == "id");
  using Fields = std::vector<std::pair<std::string, std::string>>;
  CHECK(records[0].fields == Fields{{"b", "1"}, {"a", "two \"words\"\n"}});
  CHECK(records[1].fields == Fields{{"k", "1"}, {"k#2", "2"}, {"bad", "\xef\xbf\xbd"}});
}

TEST_CASE("an empty log and a written one are intact") {
  const TemporaryFolder folder;
  (void)AuditLog::Open(folder.Path("log")).value();
  CHECK(VerifyAuditLog(folder.Path("log"))->intact);
  const std::string path = WriteLog(folder, 5);
  const AuditVerification verified = VerifyAuditLog(path).value();
  CHECK(verified.intact);
  CHECK(verified.records == 5);
  CHECK(verified.end_is_known);
}

TEST_CASE("a log is continued after it was closed") {
  const TemporaryFolder folder;
  WriteLog(folder, 3);
  const std::string path = WriteLog(folder, 2);
  CHECK(VerifyAuditLog(path)->records == 5);
}

TEST_CASE("no change of a single byte goes unnoticed") {
  const TemporaryFolder folder;
  const std::string path = WriteLog(folder, 3);
  const std::string good = folder.Read("log");
  const std::size_t first_line = good.find('\n') + 1;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    folder.Write("log", changed);
    const AuditVerification verified = VerifyAuditLog(path).value();
    if (verified.intact) FAIL("byte " << i << " can be changed");
    if (i < first_line && verified.broken_record != 1) FAIL("byte " << i << " blames another");
  }
  folder.Write("log", good);
  CHECK(VerifyAuditLog(path)->intact);
}

TEST_CASE("removed, repeated, reordered and cut records are found") {
  const TemporaryFolder folder;
  const std::string path = WriteLog(folder, 5);
  const std::vector<std::string> lines = Lines(folder.Read("log"));
  REQUIRE(lines.size() == 5);
  const auto broken_record = [&](const std::vector<std::string>& changed) {
    folder.Write("log", Join(changed));
    return VerifyAuditLog(path)->broken_record;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> removed = lines;
    removed.erase(removed.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(broken_record(removed) == i + 1);
    std::vector<std::string> repeated = lines;
    repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    CHECK(broken_record(repeated) == i + 2);
    if (i + 1 == lines.size()) continue;
    std::vector<std::string> swapped = lines;
    std::swap(swapped[i], swapped[i + 1]);
    CHECK(broken_record(swapped) == i + 1);
  }
  const std::string all = Join(lines);
  folder.Write("log", all.substr(0, all.size() - 3));
  CHECK(VerifyAuditLog(path)->broken_record == 5);
  folder.Write("log", "");
  CHECK(VerifyAuditLog(path)->broken_record == 1);
}

TEST_CASE("without the head file a cut at the end is not seen, and that is said") {
  const TemporaryFolder folder;
  const std::string path = WriteLog(folder, 3);
  REQUIRE(unlink((path + ".head").c_str()) == 0);
  const std::vector<std::string> lines = Lines(folder.Read("log"));
  folder.Write("log", lines[0] + lines[1]);
  const AuditVerification verified = VerifyAuditLog(path).value();
  CHECK(verified.intact);
  CHECK_FALSE(verified.end_is_known);
}

TEST_CASE("a history that was written anew does not fit the head file") {
  const TemporaryFolder folder;
  const std::string path = WriteLog(folder, 3);
  const TemporaryFolder other;
  const auto forged = AuditLog::Open(other.Path("log"), FixedClock()).value();
  for (int i = 0; i < 4; ++i) REQUIRE(forged->Append(Record("forged")).ok());
  folder.Write("log", other.Read("log"));
  CHECK(VerifyAuditLog(path)->broken_record == 3);
}

TEST_CASE("a log that was cut, torn or damaged is not continued") {
  const TemporaryFolder folder;
  const std::string path = WriteLog(folder, 3);
  const std::vector<std::string> lines = Lines(folder.Read("log"));
  folder.Write("log", lines[0] + lines[1]);
  CHECK(Is(AuditLog::Open(path).status(), ErrorCode::kLogFailed));
  folder.Write("log", lines[0] + lines[1] + lines[2].substr(0, 40));
  CHECK(Is(AuditLog::Open(path).status(), ErrorCode::kLogFailed));
  folder.Write("log", lines[0] + lines[1] + "{}\n");
  CHECK(Is(AuditLog::Open(path).status(), ErrorCode::kLogFailed));
  folder.Write("log", Join(lines));
  CHECK(AuditLog::Open(path).ok());
}

TEST_CASE("a head that lags behind after a crash is accepted") {
  const TemporaryFolder folder;
  const std::string path = WriteLog(folder, 2);
  const std::string head = folder.Read("log.head");
  WriteLog(folder, 1);
  folder.Write("log.head", head);
  CHECK(VerifyAuditLog(path)->intact);
  WriteLog(folder, 1);
  CHECK(VerifyAuditLog(path)->records == 4);
}

TEST_CASE("links and other kinds of files are not written to") {
  const TemporaryFolder folder;
  folder.Write("victim", "kept");
  REQUIRE(symlink(folder.Path("victim").c_str(), folder.Path("link").c_str()) == 0);
  CHECK(Is(AuditLog::Open(folder.Path("link")).status(), ErrorCode::kLogFailed));
  REQUIRE(link(folder.Path("victim").c_str(), folder.Path("hard").c_str()) == 0);
  CHECK(Is(AuditLog::Open(folder.Path("hard")).status(), ErrorCode::kLogFailed));
  REQUIRE(mkfifo(folder.Path("fifo").c_str(), 0600) == 0);
  CHECK(Is(AuditLog::Open(folder.Path("fifo")).status(), ErrorCode::kLogFailed));
  CHECK(Is(AuditLog::Open(folder.Path("no/such/folder")).status(), ErrorCode::kLogFailed));
  CHECK(folder.Read("victim") == "kept");
}

TEST_CASE("huge records are cut with a mark and stay readable") {
  const TemporaryFolder folder;
  const auto log = AuditLog::Open(folder.Path("log")).value();
  LogRecord record = Record("event", std::string(3'000'000, '\x01'));
  for (int i = 0; i < 1000; ++i) record.fields.emplace_back("k", std::string(1000, '\x02'));
  REQUIRE(log->Append(record).ok());
  REQUIRE(log->Append(Record("next")).ok());
  CHECK(VerifyAuditLog(folder.Path("log"))->records == 2);
  CHECK(ReadRecords(folder.Path("log"))[0].fields[0].second.ends_with("(3000000 bytes)"));
}

TEST_CASE("a full disk is reported and leaves whole records") {
  const TemporaryFolder folder;
  const std::string path = WriteLog(folder, 1);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const auto log = AuditLog::Open(path);
    const rlimit limit{500, 500};  // Room for a part of the next record.
    setrlimit(RLIMIT_FSIZE, &limit);
    const bool failed = log.ok() && Is((*log)->Append(Record("event", std::string(900, 'x'))),
                                       ErrorCode::kLogFailed);
    _exit(failed ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(VerifyAuditLog(path)->intact);
  WriteLog(folder, 1);
  CHECK(VerifyAuditLog(path)->records == 2);
}

TEST_CASE("threads and processes that append at once leave one intact chain") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  constexpr int kProcesses = 4;
  constexpr int kRecords = 50;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto log = AuditLog::Open(path);
      bool good = log.ok();
      for (int j = 0; good && j < kRecords; ++j) good = (*log)->Append(Record("child")).ok();
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  const auto log = AuditLog::Open(path).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&log] {
      for (int j = 0; j < kRecords; ++j) (void)log->Append(Record("thread"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const pid_t child : children) {
    int status = 1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const AuditVerification verified = VerifyAuditLog(path).value();
  CHECK(verified.intact);
  CHECK(verified.records == (kProcesses + 2) * kRecords);
}

TEST_CASE("a missing log is not found") {
  const TemporaryFolder folder;
  CHECK(Is(VerifyAuditLog(folder.Path("log")).status(), ErrorCode::kNotFound));
  CHECK(Is(ReadAuditLog(folder.Path("log"), [](const AuditRecord&) { return true; }),
           ErrorCode::kNotFound));
}

TEST_CASE("reading stops when the visitor has enough") {
  const TemporaryFolder folder;
  const std::string path = WriteLog(folder, 5);
  int seen = 0;
  REQUIRE(ReadAuditLog(path, [&seen](const AuditRecord&) { return ++seen < 2; }).ok());
  CHECK(seen == 2);
}

}  // namespace
}  // namespace cordon
