#include "rule_usage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "cordon/gate/rules.h"
#include "cordon/sdk/unique_fd.h"
#include "file_io.h"
#include "strict_json.h"

namespace cordon {
namespace {

using internal::Json;

constexpr std::size_t kMaxUsageBytes = 256 * 1024;

// Written in place, without a copy: it holds nothing that cannot be lost.
UniqueFd OpenUsage(const std::string& path, int flags) {
  UniqueFd fd(open((path + ".used").c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat info {};
  if (fd.valid() && (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))) return UniqueFd();
  return fd;
}

std::map<std::string, RuleUsage> ReadUsage(int fd) {
  std::map<std::string, RuleUsage> usage;
  const absl::StatusOr<std::string> text = internal::ReadAll(fd, kMaxUsageBytes);
  if (!text.ok()) return usage;
  const absl::StatusOr<Json> json = internal::ParseStrictJson(*text);
  if (!json.ok() || !json->is_object()) return usage;
  for (const auto& [id, entry] : json->items()) {
    if (!entry.is_array() || entry.size() != 2) return {};
    if (!entry[0].is_number_unsigned() || !entry[1].is_number_unsigned()) return {};
    const std::chrono::seconds last(entry[1].get<std::uint32_t>());
    usage[id] = {entry[0].get<std::uint64_t>(), std::chrono::system_clock::time_point(last)};
  }
  return usage;
}

std::string UsageText(const std::map<std::string, RuleUsage>& usage) {
  Json json = Json::object();
  for (const auto& [id, entry] : usage) {
    const auto last =
        std::chrono::duration_cast<std::chrono::seconds>(entry.last.time_since_epoch()).count();
    json[id] = {entry.count, static_cast<std::uint64_t>(std::max<std::int64_t>(last, 0))};
  }
  return internal::DumpJson(json) + "\n";
}

}  // namespace

std::map<std::string, RuleUsage> LoadRuleUsage(const std::string& path) {
  const UniqueFd fd = OpenUsage(path, O_RDONLY);
  return fd.valid() ? ReadUsage(fd.get()) : std::map<std::string, RuleUsage>{};
}

namespace internal {

void CountRuleUsage(const std::string& path, const std::vector<std::string>& ids,
                    std::chrono::system_clock::time_point now) {
  const UniqueFd fd = OpenUsage(path, O_RDWR | O_CREAT);
  // Whoever holds the lock for long makes others lose counts, not time.
  if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::map<std::string, RuleUsage> usage = ReadUsage(fd.get());
  for (const std::string& id : ids) {
    ++usage[id].count;
    usage[id].last = now;
  }
  const std::string text = UsageText(usage);
  if (text.size() > kMaxUsageBytes || ftruncate(fd.get(), 0) != 0) return;
  if (lseek(fd.get(), 0, SEEK_SET) == 0) WriteAll(fd.get(), text).IgnoreError();
}

bool IsSha256Text(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace internal
}  // namespace cordon
