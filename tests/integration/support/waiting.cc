#include "integration/support/waiting.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <random>
#include <system_error>

#include "cordon/sdk/unique_fd.h"

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

namespace {

// Empty when the process has ended meanwhile.
std::string ArgumentsOf(const std::string& pid) {
  const UniqueFd file(open(("/proc/" + pid + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC));
  std::string arguments(64 * 1024, '\0');
  const ssize_t size = read(file.get(), arguments.data(), arguments.size());
  arguments.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return arguments;
}

}  // namespace

std::vector<int> ProcessesWith(std::string_view word) {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) {
      continue;
    }
    if (ArgumentsOf(name).find(word) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

std::string SleepMark() {
  std::random_device random;
  return "30." + std::to_string(random()) + std::to_string(getpid());
}

}  // namespace cordon::test
