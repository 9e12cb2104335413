#include "audit_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace cordon::internal {

std::vector<std::uint64_t> RotatedNumbers(const std::string& path) {
  const std::filesystem::path log(path);
  const std::string prefix = log.filename().string() + ".";
  const std::filesystem::path folder = log.has_parent_path() ? log.parent_path() : ".";
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    std::uint64_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, fault] = std::from_chars(name.data() + prefix.size(), end, number);
    // Only the spelling that `RotatedPath` gives.
    if (fault == std::errc() && rest == end && number > 0 && name[prefix.size()] != '0') {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string RotatedPath(const std::string& path, std::uint64_t number) {
  return path + "." + std::to_string(number);
}

std::vector<std::string> AuditFiles(const std::string& path) {
  std::vector<std::string> files;
  for (const std::uint64_t number : RotatedNumbers(path)) {
    files.push_back(RotatedPath(path, number));
  }
  files.push_back(path);
  return files;
}

}  // namespace cordon::internal
