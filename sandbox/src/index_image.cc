#include "index_image.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace cordon::internal {
namespace {

using Kind = FolderRecord::Finding::Kind;

constexpr std::size_t kMaxName = 255;   // NAME_MAX
constexpr std::size_t kMaxPath = 4096;  // PATH_MAX
// As deep as a path can lead.
constexpr std::size_t kMaxDepth = kMaxPath / 2;
// The least that one of them takes.
constexpr std::size_t kFindingBytes = 9;
constexpr std::size_t kChildBytes = 4;
constexpr std::size_t kTreeBytes = 12;

enum : std::uint8_t { kHead = 1, kObjects = 2, kRefs = 4, kMayChange = 8, kAllFlags = 15 };

class Writer {
 public:
  template <typename Number>
  void Add(Number number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);  // Only this machine reads it.
    bytes_.append(bytes, sizeof number);
  }
  void AddText(std::string_view text) {
    Add(static_cast<std::uint16_t>(text.size()));
    bytes_.append(text);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// After something that is not there, everything else is not, either.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename Number>
  Number Take() {
    static_assert(std::is_integral_v<Number>);
    Number number = 0;
    if (rest_.size() < sizeof number) {
      Fail();
      return 0;
    }
    std::memcpy(&number, rest_.data(), sizeof number);
    rest_.remove_prefix(sizeof number);
    return number;
  }
  std::string TakeText(std::size_t max_size) {
    const auto size = Take<std::uint16_t>();
    if (size > max_size || size > rest_.size()) {
      Fail();
      return {};
    }
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  // How many follow, each of at least `bytes`.
  std::uint32_t TakeCount(std::size_t bytes) {
    const auto count = Take<std::uint32_t>();
    if (count <= rest_.size() / bytes) return count;
    Fail();
    return 0;
  }
  std::string TakeName() {
    std::string name = TakeText(kMaxName);
    const bool is_name = !name.empty() && name != "." && name != ".." &&
                         name.find('/') == std::string::npos &&
                         name.find('\0') == std::string::npos;
    if (!is_name) Fail();
    return name;
  }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

bool IsListed(const FolderRecord& record) { return record.state == FolderRecord::State::kListed; }

std::uint8_t FlagsOf(const FolderRecord& record, std::int64_t margin_ns) {
  // mtime may be set to anything, ctime may not.
  const bool may_change =
      record.may_change_unnoticed || record.stamp.changed_ns >= record.listed_at_ns - margin_ns;
  return static_cast<std::uint8_t>((record.has_head ? kHead : 0) |
                                   (record.has_objects ? kObjects : 0) |
                                   (record.has_refs ? kRefs : 0) | (may_change ? kMayChange : 0));
}

void WriteFolder(const FolderRecord& record, std::int64_t margin_ns, Writer& to) {
  to.Add(record.stamp.device);
  to.Add(record.stamp.inode);
  to.Add(record.stamp.modified_ns);
  to.Add(record.stamp.changed_ns);
  to.Add(record.born_ns);
  to.Add(record.listed_at_ns);
  to.Add(static_cast<std::uint32_t>(record.names));
  to.Add(FlagsOf(record, margin_ns));
  to.Add(static_cast<std::uint32_t>(record.findings.size()));
  for (const FolderRecord::Finding& finding : record.findings) {
    to.Add(static_cast<std::uint8_t>(finding.kind));
    to.Add(static_cast<std::uint8_t>(finding.type));
    to.Add(static_cast<std::uint32_t>(finding.pattern));
    to.AddText(finding.name);
  }
  to.Add(static_cast<std::uint32_t>(record.children.size()));
  for (const FolderRecord::Child& child : record.children) {
    to.AddText(child.name);
    to.Add(static_cast<std::uint8_t>(IsListed(*child.record)));
  }
}

// A folder, then what is below it, in the order of the names.
void WriteTree(const IndexTree& tree, std::int64_t margin_ns, Writer& to) {
  to.AddText(tree.path);
  to.Add(tree.mount);
  std::vector<const FolderRecord*> pending = {&tree.top};
  while (!pending.empty()) {
    const FolderRecord& record = *pending.back();
    pending.pop_back();
    WriteFolder(record, margin_ns, to);
    for (auto child = record.children.rbegin(); child != record.children.rend(); ++child) {
      if (IsListed(*child->record)) pending.push_back(child->record.get());
    }
  }
}

FolderRecord::Finding ReadFinding(Reader& from, std::size_t patterns) {
  FolderRecord::Finding finding;
  const auto kind = from.Take<std::uint8_t>();
  const auto type = from.Take<std::uint8_t>();
  finding.pattern = from.Take<std::uint32_t>();
  finding.name = from.TakeName();
  finding.kind = static_cast<Kind>(kind);
  finding.type = static_cast<NodeType>(type);
  const bool is_known = kind <= static_cast<std::uint8_t>(Kind::kSocket) &&
                        type <= static_cast<std::uint8_t>(NodeType::kOther);
  const bool has_pattern =
      finding.kind == Kind::kMatch ? finding.pattern < patterns : finding.pattern == 0;
  if (!is_known || !has_pattern) from.Fail();
  return finding;
}

// Returns which children follow.
std::vector<FolderRecord*> ReadFolder(Reader& from, std::size_t patterns, FolderRecord& record) {
  record.stamp.device = from.Take<std::uint64_t>();
  record.stamp.inode = from.Take<std::uint64_t>();
  record.stamp.modified_ns = from.Take<std::int64_t>();
  record.stamp.changed_ns = from.Take<std::int64_t>();
  record.born_ns = from.Take<std::int64_t>();
  record.listed_at_ns = from.Take<std::int64_t>();
  record.names = from.Take<std::uint32_t>();
  const auto flags = from.Take<std::uint8_t>();
  if (flags > kAllFlags) from.Fail();
  record.has_head = (flags & kHead) != 0;
  record.has_objects = (flags & kObjects) != 0;
  record.has_refs = (flags & kRefs) != 0;
  record.may_change_unnoticed = (flags & kMayChange) != 0;
  record.state = FolderRecord::State::kListed;
  for (auto left = from.TakeCount(kFindingBytes); left > 0 && from.ok(); --left) {
    record.findings.push_back(ReadFinding(from, patterns));
  }
  std::vector<FolderRecord*> following;
  for (auto left = from.TakeCount(kChildBytes); left > 0 && from.ok(); --left) {
    FolderRecord::Child child{from.TakeName(), std::make_unique<FolderRecord>()};
    const auto follows = from.Take<std::uint8_t>();
    const bool is_sorted = record.children.empty() || record.children.back().name < child.name;
    if (follows > 1 || !is_sorted) from.Fail();
    if (follows == 1) following.push_back(child.record.get());
    record.children.push_back(std::move(child));
  }
  return following;
}

std::unique_ptr<IndexTree> ReadTree(Reader& from, std::size_t patterns) {
  auto tree = std::make_unique<IndexTree>();
  tree->path = from.TakeText(kMaxPath);
  tree->mount = from.Take<std::uint64_t>();
  if (tree->path.empty() || tree->path.front() != '/' || tree->mount == 0) from.Fail();
  std::vector<std::pair<FolderRecord*, std::size_t>> pending = {{&tree->top, 0}};
  while (!pending.empty() && from.ok()) {
    const auto [record, depth] = pending.back();
    pending.pop_back();
    if (depth > kMaxDepth) from.Fail();
    const std::vector<FolderRecord*> following = ReadFolder(from, patterns, *record);
    for (auto child = following.rbegin(); child != following.rend(); ++child) {
      pending.emplace_back(*child, depth + 1);
    }
  }
  return tree;
}

}  // namespace

std::string WriteIndexImage(const IndexTrees& trees, std::int64_t margin_ns) {
  const auto is_kept = [](const auto& entry) {
    const IndexTree& tree = *entry.second;
    return tree.keeps_times && tree.mount != 0 && !tree.incomplete && IsListed(tree.top) &&
           tree.path.size() <= kMaxPath && tree.names <= std::numeric_limits<std::uint32_t>::max();
  };
  Writer to;
  to.Add(static_cast<std::uint32_t>(std::count_if(trees.begin(), trees.end(), is_kept)));
  for (const auto& entry : trees) {
    if (is_kept(entry)) WriteTree(*entry.second, margin_ns, to);
  }
  return to.Take();
}

std::optional<IndexTrees> ReadIndexImage(std::string_view bytes, std::size_t patterns) {
  Reader from(bytes);
  IndexTrees trees;
  for (auto left = from.TakeCount(kTreeBytes); left > 0 && from.ok(); --left) {
    std::unique_ptr<IndexTree> tree = ReadTree(from, patterns);
    std::string path = tree->path;
    if (!trees.emplace(std::move(path), std::move(tree)).second) from.Fail();
  }
  if (!from.at_end()) return std::nullopt;
  return trees;
}

}  // namespace cordon::internal
