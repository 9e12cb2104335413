#include "output_spool.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "cordon/sdk/status.h"
#include "folder_fixture.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using test::FolderFixture;

constexpr SpoolLimits kLimits{10, 40};

std::unique_ptr<OutputSpool> MakeSpool(const FolderFixture& folder) {
  auto spool = OutputSpool::Create(folder.fd(), "one", kLimits);
  REQUIRE(spool.ok());
  return *std::move(spool);
}

// Lines of ten bytes: "line-00000", ...
std::string Lines(int from, int count) {
  std::string text;
  for (int i = from; i < from + count; ++i) {
    const std::string number = std::to_string(i);
    text += "line-" + std::string(5 - number.size(), '0') + number;
  }
  return text;
}

std::uint64_t FilesIn(const std::filesystem::path& path) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) bytes += entry.file_size();
  return bytes;
}

TEST_CASE("What was written is read in parts from a cursor") {
  const FolderFixture folder;
  const auto spool = MakeSpool(folder);
  REQUIRE(spool->Append("abcdef").ok());
  REQUIRE(spool->Append("ghijklmnop").ok());
  std::string all;
  std::uint64_t cursor = 0;
  for (int i = 0; i < 10; ++i) {
    const auto slice = spool->Read(cursor, 7);
    REQUIRE(slice.ok());
    CHECK(slice->skipped_bytes == 0);
    CHECK(slice->bytes.size() <= 7);
    CHECK(slice->next_cursor == cursor + slice->bytes.size());
    all += slice->bytes;
    cursor = slice->next_cursor;
  }
  CHECK(all == "abcdefghijklmnop");
  CHECK(spool->total_bytes() == 16);
  const auto beyond = spool->Read(100, 7);
  REQUIRE(beyond.ok());
  CHECK(beyond->bytes.empty());
  CHECK(beyond->next_cursor == 100);
}

TEST_CASE("A stream beyond the cap keeps its first and its newest segments") {
  const FolderFixture folder;
  const auto spool = MakeSpool(folder);
  REQUIRE(spool->Append(Lines(0, 100)).ok());
  CHECK(FilesIn(folder.path() / "one") <= kLimits.max_bytes);
  CHECK(spool->total_bytes() == 1000);

  const auto head = spool->Read(0, 1000);
  REQUIRE(head.ok());
  CHECK(head->bytes == Lines(0, 1));
  CHECK(head->skipped_bytes == 0);
  const auto tail = spool->Read(head->next_cursor, 1000);
  REQUIRE(tail.ok());
  CHECK(tail->skipped_bytes > 0);
  CHECK(tail->bytes.ends_with(Lines(99, 1)));
  CHECK(10 + tail->skipped_bytes + tail->bytes.size() == 1000);
  CHECK(tail->next_cursor == 1000);
}

TEST_CASE("Nothing is written twice") {
  const FolderFixture folder;
  const auto spool = MakeSpool(folder);
  REQUIRE(spool->Append(Lines(0, 2)).ok());
  std::vector<std::filesystem::file_time_type> before;
  const auto first = folder.path() / "one" / "00000000000000000000.out";
  const auto written = std::filesystem::last_write_time(first);
  REQUIRE(spool->Append(Lines(2, 50)).ok());
  CHECK(std::filesystem::last_write_time(first) == written);
  CHECK(std::filesystem::file_size(first) == 10);
}

TEST_CASE("A later process reads what an earlier one left") {
  const FolderFixture folder;
  {
    const auto spool = MakeSpool(folder);
    REQUIRE(spool->Append(Lines(0, 3)).ok());
    spool->Finish();
  }
  const auto spool = OutputSpool::OpenExisting(folder.fd(), "one");
  REQUIRE(spool.ok());
  CHECK((*spool)->total_bytes() == 30);
  CHECK((*spool)->Read(5, 10)->bytes == "00000line-");
  CHECK_FALSE(OutputSpool::OpenExisting(folder.fd(), "other").ok());
}

TEST_CASE("What the disk does not take is counted and skipped") {
  const FolderFixture folder;
  const auto spool = MakeSpool(folder);
  REQUIRE(spool->Append(Lines(0, 1)).ok());
  std::filesystem::remove_all(folder.path() / "one");
  CHECK_FALSE(spool->Append(Lines(1, 1)).ok());
  CHECK(spool->total_bytes() == 20);
}

}  // namespace
}  // namespace cordon::internal
