#include "index_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/sdk/digest.h"
#include "directory_reader.h"
#include "index_image.h"
#include "own_files.h"
#include "user_key.h"

namespace cordon::internal {
namespace {

// Another one for every change of what is in the file.
constexpr std::string_view kVersion = "cordon-index-1\n";

constexpr std::size_t kMaxBytes = std::size_t{64} * 1024 * 1024;
constexpr std::int64_t kClockToleranceNs = 500'000'000;

std::int64_t Now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// By how much the clock that gives files their times was set; it changes only when somebody sets
// it.
std::int64_t ClockOffset() { return Now(CLOCK_REALTIME) - Now(CLOCK_BOOTTIME); }

std::string BootId() { return ReadSmallFile("/proc/sys/kernel/random/boot_id", 64); }

void AddPaths(const std::vector<std::string>& paths, FieldHasher& hasher) {
  hasher.Add(paths.size());
  for (const std::string& path : paths) hasher.Add(path);
}

// Who looks: what may be listed depends on it.
void AddUser(FieldHasher& hasher) {
  hasher.Add(geteuid()).Add(getegid());
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, getgroups(0, nullptr))));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(0, count)));
  hasher.Add(groups.size());
  for (const gid_t group : groups) hasher.Add(group);
}

Digest DigestOf(const IndexRequest& request) {
  FieldHasher hasher;
  hasher.Add(kVersion);
  AddUser(hasher);
  AddPaths(request.roots, hasher);
  AddPaths(request.optional_roots, hasher);
  hasher.Add(request.patterns.size());
  for (const IndexPattern& pattern : request.patterns) {
    hasher.Add(pattern.text).Add(static_cast<std::uint64_t>(pattern.hides));
  }
  AddPaths(request.skip, hasher);
  hasher.Add(static_cast<std::uint64_t>(request.whole_repositories));
  hasher.Add(request.max_names).Add(request.max_optional_names);
  return hasher.Finish();
}

std::string_view Bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// One a request, so that those of one workspace do not replace each other.
std::string FileName(const Digest& request) { return DigestHex(request).substr(0, 32); }

// Takes `expected` off the start of `text`.
bool TakeText(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// What is in a file, beginning with the version and the signature of all that follows that.
struct Sealed {
  Digest signature;
  std::string_view signed_text;
};

std::optional<Sealed> Unseal(std::string_view file) {
  Sealed sealed;
  if (!TakeText(file, kVersion) || file.size() < sealed.signature.size()) return std::nullopt;
  std::memcpy(sealed.signature.data(), file.data(), sealed.signature.size());
  sealed.signed_text = file.substr(sealed.signature.size());
  return sealed;
}

// In a time that does not tell how much of it is right.
bool IsSame(const Digest& a, const Digest& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

bool IsSameClock(std::string_view& text) {
  std::int64_t offset = 0;
  if (text.size() < sizeof offset) return false;
  std::memcpy(&offset, text.data(), sizeof offset);
  text.remove_prefix(sizeof offset);
  const std::int64_t now = ClockOffset();
  return offset >= now - kClockToleranceNs && offset <= now + kClockToleranceNs;
}

}  // namespace

IndexCache::IndexCache(std::string folder, std::int64_t margin_ns)
    : folder_(std::move(folder)), margin_ns_(margin_ns), clock_offset_(ClockOffset()) {}

IndexTrees IndexCache::Load(const IndexRequest& request) const {
  const UniqueFd folder = OpenOwnFolder(folder_);
  if (!folder.valid()) return {};
  const Digest digest = DigestOf(request);
  const std::optional<std::string> file = ReadOwnFile(folder.get(), FileName(digest), kMaxBytes);
  if (!file.has_value()) return {};
  const std::optional<Sealed> sealed = Unseal(*file);
  const std::optional<UserKey> key = UserKey::Find();
  const std::string boot = BootId();
  if (!sealed.has_value() || !key.has_value() || boot.empty()) return {};
  if (!IsSame(key->Sign(sealed->signed_text), sealed->signature)) return {};
  std::string_view text = sealed->signed_text;
  if (!TakeText(text, Bytes(digest)) || !TakeText(text, boot) || !IsSameClock(text)) return {};
  return ReadIndexImage(text, request.patterns.size()).value_or(IndexTrees());
}

void IndexCache::Save(const IndexRequest& request, const IndexTrees& trees) const {
  const std::string boot = BootId();
  if (boot.empty()) return;
  const UniqueFd folder = OpenOrMakeOwnFolder(folder_);
  if (!folder.valid()) return;
  const std::optional<UserKey> key = UserKey::FindOrMake();
  if (!key.has_value()) return;
  const Digest digest = DigestOf(request);
  std::string text(Bytes(digest));
  text += boot;
  text.append(reinterpret_cast<const char*>(&clock_offset_), sizeof clock_offset_);
  text += WriteIndexImage(trees, margin_ns_);
  std::string file(kVersion);
  file += Bytes(key->Sign(text));
  file += text;
  if (file.size() > kMaxBytes) return;
  WriteOwnFile(folder.get(), FileName(digest), file);
  RemoveOldest(folder.get(), kMaxFiles);
}

}  // namespace cordon::internal
