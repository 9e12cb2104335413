#include "host_looks.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"
#include "unix_socket_table.h"

namespace cordon::internal {
namespace {

// What any `TextAt` asks for, so that the journal has one question for each file.
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20U;

void Note(LookKind kind, std::string_view path, std::string answer) {
  HostJournal* const journal = HostJournal::OfThisThread();
  if (journal != nullptr) journal->Note(kind, path, std::move(answer));
}

std::string Answer(NodeType type) {
  return std::string(1, static_cast<char>('0' + static_cast<int>(type)));
}

static_assert(static_cast<int>(NodeType::kMissing) == 0);  // See kMissingAnswer.

std::string Answer(const FileAt& file) {
  return absl::StrCat(Answer(file.type), " ", file.device, " ", file.inode, " ",
                      static_cast<int>(file.has_other_names));
}

std::string Answer(const absl::StatusOr<std::string>& resolved) {
  return resolved.ok() ? absl::StrCat("=", *resolved) : resolved.status().ToString();
}

std::string Answer(std::optional<uid_t> owner) {
  return owner.has_value() ? absl::StrCat(*owner) : std::string();
}

NodeType AskType(const std::string& path) {
  const HostJournal::Unnoted unnoted;
  return StatusOf(path).type;
}

FileAt AskFile(const std::string& path) {
  const HostJournal::Unnoted unnoted;
  const NodeStatus status = StatusOf(path);
  return {status.type, status.stamp.device, status.stamp.inode, status.links > 1};
}

std::string AskLink(const std::string& path) {
  const HostJournal::Unnoted unnoted;
  return ReadLink(path);
}

std::string AskText(const std::string& path) {
  const HostJournal::Unnoted unnoted;
  return ReadSmallFile(path, kMaxTextBytes);
}

std::optional<uid_t> AskOwner(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_uid;
}

struct Entry {
  std::string name;
  NodeType type = NodeType::kOther;

  friend auto operator<=>(const Entry&, const Entry&) = default;
};

struct Listing {
  int error = 0;
  std::vector<Entry> entries;  // Sorted.
};

Listing AskNames(const std::string& path) {
  const HostJournal::Unnoted unnoted;
  Listing listing;
  const OpenedNode folder = OpenFolderAt(path);
  listing.error = folder.error_number;
  if (!folder.fd.valid()) return listing;
  listing.error =
      ReadNames(folder.fd.get(), [&](std::string_view name, NodeType type, std::uint64_t) {
        listing.entries.push_back({std::string(name), type});
      });
  std::sort(listing.entries.begin(), listing.entries.end());
  return listing;
}

std::string Answer(const Listing& listing) {
  if (listing.error != 0) return absl::StrCat("/", listing.error);  // Not the start of any name.
  std::string text;
  for (const Entry& entry : listing.entries) {
    absl::StrAppend(&text, entry.name, "/", Answer(entry.type));
  }
  return text;
}

// Notes each link on the way of `path`, as the kernel goes it. False when it does not lead to
// `end`.
bool NoteWay(std::string_view path, std::string_view end) {
  constexpr int kMaxSteps = 1000;
  std::string rest(path);
  std::string at;  // Empty stands for the root.
  for (int steps = 0; !rest.empty(); ++steps) {
    if (steps > kMaxSteps) return false;
    const std::string name = rest.substr(0, rest.find('/'));
    rest.erase(0, std::min(name.size() + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at.erase(std::min(at.rfind('/'), at.size()));
      continue;
    }
    std::string next = absl::StrCat(at, "/", name);
    const std::string target = LinkAt(next);
    if (target.empty()) {
      at = std::move(next);
      continue;
    }
    if (target[0] == '/') at.clear();
    rest = absl::StrCat(target, "/", rest);
  }
  return at == (end == "/" ? "" : end);
}

}  // namespace

NodeType TypeAt(const std::string& path) {
  const NodeType type = AskType(path);
  Note(LookKind::kType, path, Answer(type));
  return type;
}

void NoteType(const std::string& path, NodeType type) { Note(LookKind::kType, path, Answer(type)); }

FileAt LookAtFile(const std::string& path) {
  const FileAt file = AskFile(path);
  Note(LookKind::kFile, path, Answer(file));
  return file;
}

std::string LinkAt(const std::string& path) {
  std::string text = AskLink(path);
  Note(LookKind::kLink, path, text);
  return text;
}

std::string TextAt(const std::string& path, std::size_t max_bytes) {
  std::string text = AskText(path);
  // What is not there shows in its folder.
  if (text.empty() && AskType(path) == NodeType::kMissing) {
    Note(LookKind::kType, path, Answer(NodeType::kMissing));
  } else {
    Note(LookKind::kText, path, text);
  }
  text.resize(std::min(text.size(), max_bytes));
  return text;
}

absl::StatusOr<std::string> ResolveLinks(std::string_view path) {
  absl::StatusOr<std::string> resolved = ResolveSymlinks(path);
  if (HostJournal::OfThisThread() == nullptr) return resolved;
  if (!resolved.ok() || !NoteWay(path, *resolved)) {
    Note(LookKind::kResolved, path, Answer(resolved));
  }
  return resolved;
}

int ListFolder(const std::string& path, VisitEntry visit) {
  const Listing listing = AskNames(path);
  if (listing.error != 0 && AskType(path) == NodeType::kMissing) {
    Note(LookKind::kType, path, Answer(NodeType::kMissing));
  } else {
    Note(LookKind::kNames, path, Answer(listing));
  }
  if (listing.error != 0) return listing.error;
  for (const Entry& entry : listing.entries) visit(entry.name, entry.type);
  return 0;
}

std::optional<uid_t> OwnerAt(const std::string& path) {
  const std::optional<uid_t> owner = AskOwner(path);
  Note(LookKind::kOwner, path, Answer(owner));
  return owner;
}

std::string AskAgain(LookKind kind, const std::string& path) {
  switch (kind) {
    case LookKind::kType:
      return Answer(AskType(path));
    case LookKind::kFile:
      return Answer(AskFile(path));
    case LookKind::kLink:
      return AskLink(path);
    case LookKind::kNames:
      return Answer(AskNames(path));
    case LookKind::kText:
      return AskText(path);
    case LookKind::kOwner:
      return Answer(AskOwner(path));
    case LookKind::kResolved:
      return Answer(ResolveSymlinks(path));
    case LookKind::kSockets:
      return UnixSocketTable::BoundNamesIn(UnixSocketTable::Open().get());
  }
  return {};
}

}  // namespace cordon::internal
