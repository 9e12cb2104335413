// For tests: a folder of its own, removed at the end.

#ifndef CORDON_SDK_SRC_SCRATCH_FOLDER_H_
#define CORDON_SDK_SRC_SCRATCH_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "support/catch.h"

namespace cordon::test {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name =
        (std::filesystem::canonical(std::filesystem::temp_directory_path()) / "cordon-sdk-XXXXXX")
            .string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

  std::string MakeFile(std::string_view name, std::string_view content = "") const {
    const std::string path = *this / name;
    std::ofstream(path) << content;
    REQUIRE(std::filesystem::is_regular_file(path));
    return path;
  }
  std::string MakeFolder(std::string_view name) const {
    const std::string path = *this / name;
    REQUIRE(std::filesystem::create_directories(path));
    return path;
  }
  std::string MakeLink(std::string_view name, std::string_view target) const {
    const std::string path = *this / name;
    std::filesystem::create_symlink(target, path);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace cordon::test

#endif  // CORDON_SDK_SRC_SCRATCH_FOLDER_H_
