// A folder of its own for a test, removed at the end.

#ifndef CORDON_GATE_SRC_TEMPORARY_FOLDER_H_
#define CORDON_GATE_SRC_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace cordon::internal {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cordon-gate.XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = std::filesystem::canonical(name);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string Path(std::string_view name = "") const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }
  std::string Write(std::string_view name, std::string_view content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }
  [[nodiscard]] std::string Read(std::string_view name) const {
    std::ifstream in(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_TEMPORARY_FOLDER_H_
