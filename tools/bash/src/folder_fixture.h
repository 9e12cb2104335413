// A private folder for a test, removed at the end.

#ifndef CORDON_TOOLS_BASH_FOLDER_FIXTURE_H_
#define CORDON_TOOLS_BASH_FOLDER_FIXTURE_H_

#include <fcntl.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "cordon/sdk/digest.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::test {

class FolderFixture {
 public:
  FolderFixture()
      : path_(std::filesystem::canonical(std::filesystem::temp_directory_path()) /
              ("cordon-folder-test-" + RandomId())) {
    std::filesystem::create_directory(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    fd_.Reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~FolderFixture() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderFixture(const FolderFixture&) = delete;
  FolderFixture& operator=(const FolderFixture&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  const std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace cordon::test

#endif  // CORDON_TOOLS_BASH_FOLDER_FIXTURE_H_
