#include "job_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "cordon/sdk/status.h"
#include "folder_fixture.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using test::FolderFixture;

TEST_CASE("A folder is made for its user alone and used by one at a time") {
  const FolderFixture parent;
  const std::string path = parent.path() / "jobs";
  {
    const auto folder = OpenJobFolder(path);
    REQUIRE(folder.ok());
    CHECK((fs::status(path).permissions() & fs::perms::all) == fs::perms::owner_all);
    CHECK(Is(OpenJobFolder(path).status(), ErrorCode::kBusy));
  }
  CHECK(OpenJobFolder(path).ok());
}

TEST_CASE("A folder that others may enter is refused, and so is a link") {
  const FolderFixture parent;
  const fs::path open_folder = parent.path() / "open";
  fs::create_directory(open_folder);
  fs::permissions(open_folder, fs::perms(0755));
  CHECK(Is(OpenJobFolder(open_folder).status(), ErrorCode::kInvalidOption));
  fs::permissions(open_folder, fs::perms(0700));
  CHECK(OpenJobFolder(open_folder).ok());
  fs::create_directory_symlink(open_folder, parent.path() / "link");
  CHECK_FALSE(OpenJobFolder(parent.path() / "link").ok());
  CHECK(Is(OpenJobFolder("relative").status(), ErrorCode::kInvalidOption));
}

TEST_CASE("A sweep removes what nobody uses and nothing else") {
  const FolderFixture parent;
  auto used = MakeTemporaryJobFolder(parent.path());
  auto left = MakeTemporaryJobFolder(parent.path());
  REQUIRE(used.ok());
  REQUIRE(left.ok());
  const std::string left_path = left->path;
  std::ofstream(left_path + "/journal") << "x";
  left->locked.Reset();
  fs::create_directory(parent.path() / "cordon-other");

  SweepTemporaryJobFolders(parent.path());
  CHECK_FALSE(fs::exists(left_path));
  CHECK(fs::exists(used->path));
  CHECK(fs::exists(parent.path() / "cordon-other"));
}

}  // namespace
}  // namespace cordon::internal
