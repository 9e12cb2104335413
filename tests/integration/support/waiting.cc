#include "integration/support/waiting.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>

namespace cordon::test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

int MillisecondsUntil(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

bool Within(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  constexpr timespec kPause{0, 10'000'000};
  const auto end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() >= end) return false;
    ppoll(nullptr, 0, &kPause, nullptr);
  }
  return true;
}

bool FileAppears(const std::string& path, std::chrono::milliseconds limit) {
  return Within(limit, [&path] {
    std::error_code error;
    return fs::file_size(path, error) > 0 && !error;
  });
}

std::vector<int> ProcessesWith(std::string_view word) {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) {
      continue;
    }
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string arguments{std::istreambuf_iterator<char>(file), {}};
    if (arguments.find(word) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

std::string SleepMark() {
  std::random_device random;
  return "30." + std::to_string(random()) + std::to_string(getpid());
}

}  // namespace cordon::test
