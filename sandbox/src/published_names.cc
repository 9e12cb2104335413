#include "published_names.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"
#include "scratch.h"

namespace cordon::internal {
namespace {

constexpr char kFileName[] = "names";
constexpr std::size_t kNamesAt = 4096;  // A page: the header is changed in memory.
constexpr std::size_t kMaxNamesBytes = std::size_t{16} << 20U;  // That a reader takes in.
constexpr int kTries = 100;

// At the start of the file; the names follow, each with a NUL at its end.
struct Header {
  std::uint32_t running = 0;  // How many commands; without any the names say nothing.
  std::uint32_t bytes = 0;    // Of the names.
  std::uint32_t version = 0;  // Another one after each change that is no addition.
  std::uint32_t reserved = 0;
};

// Memory of a file that cannot grow would kill this program (SIGBUS), and so would a write beyond
// its limit (SIGXFSZ).
bool WriteAt(int file, std::size_t at, std::string_view bytes) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || at + bytes.size() > limit.rlim_cur) return false;
  return pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at)) ==
         static_cast<ssize_t>(bytes.size());
}

std::string NamesIn(int file) {
  for (int i = 0; i < kTries; ++i) {
    Header before;
    Header after;
    if (pread(file, &before, sizeof(before), 0) != sizeof(before)) return {};
    if (before.running == 0 || before.bytes > kMaxNamesBytes) return {};
    std::string names(before.bytes, '\0');
    const ssize_t size = pread(file, names.data(), names.size(), kNamesAt);
    if (size != static_cast<ssize_t>(names.size())) return {};
    if (pread(file, &after, sizeof(after), 0) != sizeof(after)) return {};
    if (before.version == after.version) return names;
  }
  return {};
}

// In the folder of a set whose owner lives.
std::string NamesOfSet(int root, const std::string& name) {
  const UniqueFd folder(
      openat(root, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!folder.valid() || fstat(folder.get(), &status) != 0 || status.st_uid != geteuid()) return {};
  const UniqueFd file(
      openat(folder.get(), kFileName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return HasOwner(folder.get()) ? NamesIn(file.get()) : std::string();
}

}  // namespace

struct PublishedNames::Shared {
  Header header;
};

PublishedNames::~PublishedNames() {
  if (shared_ != nullptr) (void)munmap(shared_, kNamesAt);
}

bool PublishedNames::OpenLocked() {
  if (shared_ != nullptr) return true;
  const std::string path = absl::StrCat(folder_, "/", kFileName);
  file_.Reset(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_.valid() || !WriteAt(file_.get(), 0, std::string(kNamesAt, '\0'))) return false;
  void* const start = mmap(nullptr, kNamesAt, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (start == MAP_FAILED) return false;
  shared_ = static_cast<Shared*>(start);
  return true;
}

bool PublishedNames::Begin(const std::shared_ptr<const CompiledView>& view,
                           const std::vector<std::string>& more) {
  const std::lock_guard lock(mutex_);
  if (!OpenLocked()) return false;
  Header& header = shared_->header;
  const bool is_known = views_.contains(view) && more.empty();
  if (!is_known && std::atomic_ref(header.running).load() == 0) {
    views_.clear();
    written_.clear();
    std::atomic_ref(header.bytes).store(0);
    std::atomic_ref(header.version).fetch_add(1);
  }
  if (!is_known && !WriteLocked(*view, more)) return false;
  if (!is_known) views_.insert(view);
  std::atomic_ref(header.running).fetch_add(1);
  return true;
}

bool PublishedNames::WriteLocked(const CompiledView& view, const std::vector<std::string>& more) {
  std::string text;
  const auto add = [&](const std::string& name) {
    if (written_.contains(name)) return;
    written_.insert(name);
    text.append(name).push_back('\0');
  };
  for (const AbsentName& name : view.absent) add(name.path);
  for (const std::string& name : more) add(name);
  const std::size_t at = std::atomic_ref(shared_->header.bytes).load();
  const bool fits = at + text.size() <= kMaxNamesBytes;
  if (!fits || (!text.empty() && !WriteAt(file_.get(), kNamesAt + at, text))) {
    written_.clear();
    views_.clear();
    return false;
  }
  std::atomic_ref(shared_->header.bytes).store(static_cast<std::uint32_t>(at + text.size()));
  return true;
}

void PublishedNames::End() {
  const std::lock_guard lock(mutex_);
  std::atomic_ref(shared_->header.running).fetch_sub(1);
}

std::set<std::string> PublishedNames::OfOthers(const std::string& own_folder) {
  std::set<std::string> all;
  const UniqueFd root(open(ParentPath(own_folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return all;
  for (const std::string& name : ScratchFoldersIn(root.get())) {
    if (name == BaseName(own_folder)) continue;
    const std::string names = NamesOfSet(root.get(), name);
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = names.find('\0', at);
      all.emplace(names, at, end - at);
      if (end == std::string::npos) break;
      at = end + 1;
    }
  }
  return all;
}

}  // namespace cordon::internal
