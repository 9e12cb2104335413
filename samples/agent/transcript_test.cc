#include "transcript.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "cordon/sdk/digest.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::agent {
namespace {

namespace fs = std::filesystem;

TEST_CASE("A transcript is kept line by line, for its user alone, and behind no link") {
  const fs::path folder = fs::temp_directory_path() / ("cordon-transcript-" + RandomId());
  const std::string path = folder / "sub" / "one.jsonl";
  for (int run = 0; run < 2; ++run) {
    auto file = TranscriptFile::Open(path);
    REQUIRE(file.ok());
    CHECK(file->Append({Role::kAssistant, "text\n\xff", {{"c", "bash", "{}"}}, "", false}).ok());
    CHECK(file->Append({Role::kTool, "result", {}, "c", true}).ok());
  }
  std::ifstream in(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0]["calls"][0]["id"] == "c");
  CHECK(lines[3]["is_error"] == true);
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);

  fs::create_symlink(path, folder / "link");
  CHECK_FALSE(TranscriptFile::Open(folder / "link").ok());
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace
}  // namespace cordon::agent
