#include "unix_socket_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "directory_reader.h"
#include "host_journal.h"

namespace cordon::internal {
namespace {

// Num RefCount Protocol Flags Type St Inode, then the path.
constexpr int kFieldsBeforePath = 7;

constexpr std::string_view kHeading = "Num ";
constexpr char kTable[] = "/proc/net/unix";

void SkipField(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  line.remove_prefix(std::min(line.find(' '), line.size()));
}

}  // namespace

UnixSocketTable UnixSocketTable::OfThisHost() {
  std::string names = BoundNamesIn(Open().get());
  UnixSocketTable table;
  table.TakeNames(names);
  HostJournal* const journal = HostJournal::OfThisThread();
  if (journal != nullptr) journal->Note(LookKind::kSockets, kTable, std::move(names));
  return table;
}

UnixSocketTable UnixSocketTable::Parse(std::string_view text) {
  UnixSocketTable table;
  table.TakeNames(BoundNames(text));
  return table;
}

UniqueFd UnixSocketTable::Open() { return UniqueFd(open(kTable, O_RDONLY | O_CLOEXEC)); }

std::string UnixSocketTable::BoundNamesIn(int file) {
  std::string text;
  std::array<char, std::size_t{16} * 1024> buffer;
  while (true) {
    const auto offset = static_cast<off_t>(text.size());
    const ssize_t bytes = pread(file, buffer.data(), buffer.size(), offset);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return {};
    if (bytes == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  return BoundNames(text);
}

std::string UnixSocketTable::BoundNames(std::string_view text) {
  if (!text.starts_with(kHeading)) return {};
  std::vector<std::string_view> names;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    for (int i = 0; i < kFieldsBeforePath; ++i) SkipField(line);
    if (line.size() >= 2 && line[1] != '@') names.push_back(line.substr(1));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string bound(kHeading);
  for (const std::string_view name : names) bound.append("\n").append(name);
  return bound;
}

void UnixSocketTable::TakeNames(std::string_view bound) {
  known_ = !bound.empty();
  bound.remove_prefix(std::min(bound.size(), kHeading.size()));
  while (!bound.empty()) {
    bound.remove_prefix(1);
    const std::string_view path = bound.substr(0, bound.find('\n'));
    names_.emplace(BaseName(path));
    if (path.starts_with('/')) paths_.emplace(path);
    bound.remove_prefix(path.size());
  }
}

bool UnixSocketTable::MayBeBound(std::string_view path) const {
  return !known_ || names_.contains(BaseName(path));
}

}  // namespace cordon::internal
