// Logs of several files; what verification finds however a record is changed; many writers.

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "audit_chain.h"
#include "audit_files.h"
#include "cordon/gate/audit.h"
#include "cordon/sdk/status.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace cordon {
namespace {

using internal::TemporaryFolder;

LogRecord Record(const std::string& event, const std::string& value = "v") {
  return {event, "execution", {{"key", value}}};
}

AuditOptions Rotating(std::uint64_t bytes = 1000, std::size_t keep = 0) {
  AuditOptions options;
  options.max_file_bytes = bytes;
  options.max_rotated_files = keep;
  return options;
}

std::vector<std::string> LinesOf(const TemporaryFolder& folder, const std::string& name) {
  std::vector<std::string> lines;
  std::string text = folder.Read(name);
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end + 1));
    text.erase(0, end + 1);
  }
  return lines;
}

void WriteLines(const TemporaryFolder& folder, const std::string& name,
                const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  folder.Write(name, text);
}

std::vector<std::string> Events(const std::string& path) {
  std::vector<std::string> events;
  REQUIRE(ReadAuditLog(path, [&events](const AuditRecord& record) {
            events.push_back(record.event);
            return true;
          }).ok());
  return events;
}

TEST_CASE("a log that is full goes on in a new file, and the chain goes on with it") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  {
    const auto log = AuditLog::Open(path, Rotating()).value();
    for (int i = 0; i < 20; ++i) REQUIRE(log->Append(Record("e" + std::to_string(i))).ok());
  }
  const std::vector<std::uint64_t> numbers = internal::RotatedNumbers(path);
  REQUIRE(numbers.size() >= 3);
  CHECK(numbers.front() == 1);
  const AuditVerification verified = VerifyAuditLog(path).value();
  CHECK(verified.intact);
  CHECK(verified.end_is_known);
  CHECK(verified.first_record == 1);
  std::size_t mine = 0;
  for (const std::string& event : Events(path)) {
    if (event != "log.rotated") CHECK(event == "e" + std::to_string(mine++));
  }
  CHECK(mine == 20);
  // And after it was closed.
  REQUIRE(AuditLog::Open(path, Rotating()).value()->Append(Record("later")).ok());
  CHECK(VerifyAuditLog(path)->intact);
}

TEST_CASE("old files are removed when that is wished, and verification says where the log begins") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  const auto log = AuditLog::Open(path, Rotating(1000, 2)).value();
  for (int i = 0; i < 30; ++i) REQUIRE(log->Append(Record("e")).ok());
  CHECK(internal::RotatedNumbers(path).size() == 2);
  const AuditVerification verified = VerifyAuditLog(path).value();
  CHECK(verified.intact);
  CHECK(verified.first_record > 1);
}

TEST_CASE("a rotated file that is missing in between, or cut, breaks the chain") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  {
    const auto log = AuditLog::Open(path, Rotating()).value();
    for (int i = 0; i < 20; ++i) REQUIRE(log->Append(Record("e")).ok());
  }
  REQUIRE(VerifyAuditLog(path)->intact);
  SECTION("missing in between") {
    std::filesystem::remove(path + ".2");
    CHECK_FALSE(VerifyAuditLog(path)->intact);
  }
  SECTION("its first records cut off") {
    std::vector<std::string> lines = LinesOf(folder, "log.1");
    lines.erase(lines.begin());
    WriteLines(folder, "log.1", lines);
    CHECK_FALSE(VerifyAuditLog(path)->intact);
  }
  SECTION("its last record cut off") {
    std::vector<std::string> lines = LinesOf(folder, "log.2");
    lines.pop_back();
    WriteLines(folder, "log.2", lines);
    CHECK_FALSE(VerifyAuditLog(path)->intact);
  }
  SECTION("the newest file emptied") {
    folder.Write("log", "");
    CHECK_FALSE(VerifyAuditLog(path)->intact);
    CHECK(Is(AuditLog::Open(path).status(), ErrorCode::kLogFailed));
  }
}

TEST_CASE("a log that was renamed but not yet begun anew is continued") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  { REQUIRE(AuditLog::Open(path).value()->Append(Record("e")).ok()); }
  std::filesystem::rename(path, path + ".1");
  REQUIRE(AuditLog::Open(path).value()->Append(Record("f")).ok());
  CHECK(Events(path) == std::vector<std::string>{"e", "log.rotated", "f"});
  CHECK(VerifyAuditLog(path)->intact);
}

TEST_CASE("a log that is followed shows what comes, through a rotation") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  const auto log = AuditLog::Open(path, Rotating(600)).value();
  REQUIRE(log->Append(Record("e0")).ok());
  std::vector<std::string> seen;
  std::stop_source stop;
  std::thread reader([&] {
    const auto visit = [&](const AuditRecord& record) {
      if (record.event != "log.rotated") seen.push_back(record.event);
      return record.event != "e9";
    };
    (void)FollowAuditLog(path, visit, stop.get_token());
  });
  for (int i = 1; i < 10; ++i) CHECK(log->Append(Record("e" + std::to_string(i))).ok());
  reader.join();
  REQUIRE(seen.size() == 10);
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == "e" + std::to_string(i));
}

// --- however one record is changed

// `line` again with one member changed and a hash of its own that fits.
std::string Forged(const std::string& line, const std::string& member) {
  const auto parsed = internal::ParseChainLine(line.substr(0, line.size() - 1)).value();
  LogRecord record{parsed.record.event, parsed.record.execution_id, parsed.record.fields};
  internal::ChainEnd end{parsed.record.seq - 1, parsed.prev};
  if (member == "event") record.event += "x";
  if (member == "execution_id") record.execution_id += "x";
  if (member == "field") record.fields.front().second += "x";
  if (member == "fields") record.fields.clear();
  if (member == "seq") end.seq += 1;
  if (member == "prev") end.hash[0] = end.hash[0] == '0' ? '1' : '0';
  std::chrono::system_clock::time_point time;
  if (member != "time") time += std::chrono::milliseconds(1769860800123);
  return internal::MakeChainLine(end, record, time).line;
}

TEST_CASE(
    "every change, loss, repetition or move of a single record is found, also with a new hash") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  AuditOptions options;
  options.clock = [] {
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(1769860800123));
  };
  {
    const auto log = AuditLog::Open(path, options).value();
    for (int i = 0; i < 12; ++i) {
      REQUIRE(log->Append(Record("e" + std::to_string(i), std::to_string(i))).ok());
    }
  }
  const std::vector<std::string> lines = LinesOf(folder, "log");
  const auto is_found = [&](const std::vector<std::string>& changed) {
    WriteLines(folder, "log", changed);
    return !VerifyAuditLog(path)->intact;
  };
  REQUIRE_FALSE(is_found(lines));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CAPTURE(i);
    // The same line made again shows that the forgeries differ in what they mean to.
    REQUIRE(Forged(lines[i], "") == lines[i]);
    for (const char* member : {"event", "execution_id", "field", "fields", "seq", "prev", "time"}) {
      CAPTURE(member);
      std::vector<std::string> changed = lines;
      changed[i] = Forged(lines[i], member);
      CHECK(is_found(changed));
    }
    std::vector<std::string> changed = lines;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(is_found(changed));
    changed = lines;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    CHECK(is_found(changed));
    for (std::size_t j = i + 1; j < lines.size(); ++j) {
      changed = lines;
      std::swap(changed[i], changed[j]);
      CHECK(is_found(changed));
    }
    changed = lines;
    changed[i].pop_back();
    CHECK(is_found(changed));
  }
}

TEST_CASE("eight processes that append 10,000 records leave one intact chain") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  const bool rotates = GENERATE(false, true);
  constexpr int kProcesses = 8;
  constexpr int kRecords = 1250;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const auto log = AuditLog::Open(path, rotates ? Rotating(200'000) : AuditOptions{});
      bool good = log.ok();
      for (int j = 0; good && j < kRecords; ++j) good = (*log)->Append(Record("e")).ok();
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const AuditVerification verified = VerifyAuditLog(path).value();
  CHECK(verified.intact);
  const std::size_t rotations = internal::RotatedNumbers(path).size();
  CHECK((rotations > 2) == rotates);
  CHECK(verified.records == std::size_t{kProcesses} * kRecords + rotations);
}

TEST_CASE("what looks like a credential is masked in the log") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("log");
  REQUIRE(AuditLog::Open(path)
              .value()
              ->Append({"request", "id", {{"command", "API_TOKEN=hunter2 curl https://a:b@c/"}}})
              .ok());
  const std::string text = folder.Read("log");
  CHECK(text.find("hunter2") == std::string::npos);
  CHECK(text.find("a:b@") == std::string::npos);
  CHECK(text.find("API_TOKEN=*** curl https://***@c/") != std::string::npos);
  CHECK(VerifyAuditLog(path)->intact);
}

}  // namespace
}  // namespace cordon
