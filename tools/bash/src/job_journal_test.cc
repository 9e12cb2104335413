#include "job_journal.h"

#include <fstream>
#include <sstream>
#include <string>

#include "folder_fixture.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using test::FolderFixture;

JournalEntry MakeEntry(char digit, JobState state) {
  JournalEntry entry{"owner", {}};
  entry.job.handle = "job-" + std::string(kJobHandleDigits, digit);
  entry.job.execution_id = "e";
  entry.job.command = "sleep 1";
  entry.job.working_directory = "/w";
  entry.job.state = state;
  return entry;
}

JobJournal OpenJournal(const FolderFixture& folder) {
  auto journal = JobJournal::Open(folder.fd());
  REQUIRE(journal.ok());
  return *std::move(journal);
}

std::string TextIn(const FolderFixture& folder) {
  std::ifstream file(folder.path() / "journal");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("A restart finds what ended and calls the rest lost") {
  const FolderFixture folder;
  {
    JobJournal journal = OpenJournal(folder);
    CHECK(journal.found().empty());
    REQUIRE(journal.Append(MakeEntry('a', JobState::kStarting)).ok());
    REQUIRE(journal.Append(MakeEntry('b', JobState::kStarting)).ok());
    REQUIRE(journal.Append(MakeEntry('c', JobState::kStarting)).ok());
    REQUIRE(journal.Append(MakeEntry('b', JobState::kRunning)).ok());
    JournalEntry ended = MakeEntry('a', JobState::kEnded);
    ended.job.outcome.emplace();
    ended.job.outcome->kind = Outcome::Kind::kSignaled;
    ended.job.outcome->signal = 9;
    ended.job.outcome->wall = std::chrono::milliseconds(1234);
    REQUIRE(journal.Append(ended).ok());
  }
  for (int restart = 0; restart < 2; ++restart) {
    const JobJournal journal = OpenJournal(folder);
    REQUIRE(journal.found().size() == 3);
    const JobInfo& ended = journal.found()[0].job;
    CHECK(ended.state == JobState::kEnded);
    CHECK(ended.outcome->kind == Outcome::Kind::kSignaled);
    CHECK(ended.outcome->signal == 9);
    CHECK(ended.outcome->wall.count() == 1234);
    CHECK(journal.found()[1].job.state == JobState::kLost);
    CHECK(journal.found()[2].job.state == JobState::kLost);
    CHECK(journal.found()[2].owner == "owner");
    CHECK(journal.lines() == 3);
  }
}

TEST_CASE("A torn line and a line of somebody else spoil nothing") {
  const FolderFixture folder;
  {
    JobJournal journal = OpenJournal(folder);
    REQUIRE(journal.Append(MakeEntry('a', JobState::kStarting)).ok());
  }
  std::ofstream(folder.path() / "journal", std::ios::app)
      << "no json\n{\"handle\": \"../../etc\", \"owner\": \"x\"}\n{\"handle\": \"job-";
  const JobJournal journal = OpenJournal(folder);
  REQUIRE(journal.found().size() == 1);
  CHECK(TextIn(folder).find("etc") == std::string::npos);
}

TEST_CASE("The journal holds no process id") {
  const FolderFixture folder;
  JobJournal journal = OpenJournal(folder);
  REQUIRE(journal.Append(MakeEntry('a', JobState::kRunning)).ok());
  CHECK(TextIn(folder).find("pid") == std::string::npos);
}

TEST_CASE("Only a handle of ours is taken for a file name") {
  CHECK(IsJobHandle("job-0123456789abcdef01234567"));
  for (const char* text :
       {"", "job-", "job-0123456789abcdef0123456", "job-0123456789ABCDEF01234567",
        "../-0123456789abcdef01234567", "job-0123456789abcdef0123456/"}) {
    CHECK_FALSE(IsJobHandle(text));
  }
}

}  // namespace
}  // namespace cordon::internal
