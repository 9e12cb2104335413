#include "host_rules.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "directory_reader.h"
#include "host_looks.h"
#include "landlock_abi.h"

namespace cordon::internal {
namespace {

constexpr std::uint64_t kChangesNames = kLandlockRemoveDir | kLandlockRemoveFile |
                                        kLandlockMakeChar | kLandlockMakeDir | kLandlockMakeReg |
                                        kLandlockMakeSock | kLandlockMakeFifo | kLandlockMakeBlock |
                                        kLandlockMakeSym | kLandlockRefer;
constexpr std::uint64_t kReads = kLandlockReadFile | kLandlockReadDir;

struct Node {
  const Wish* wish = nullptr;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
  std::uint64_t common = ~std::uint64_t{0};  // What all that is below it may.
};

class RuleWriter {
 public:
  RuleWriter(const Wishes& wishes, int abi) : all_(LandlockRightsOf(abi)) {
    for (const auto& [path, wish] : wishes) NodeAt(path).wish = &wish;
    NoteCommon(top_);
  }

  absl::StatusOr<HostRules> Write() {
    Give("/", top_, 0, 0);
    if (result_.rules.size() > HostRules::kMaxRules) {
      return MakeError(
          ErrorCode::kBusy,
          absl::StrFormat("cannot apply the rules of this profile without a mount view: there are "
                          "more than %d entries beside what they deny or protect; deny whole "
                          "folders, or use the namespaces tier",
                          HostRules::kMaxRules));
    }
    return std::move(result_);
  }

 private:
  Node& NodeAt(std::string_view path) {
    Node* node = &top_;
    while (path.size() > 1) {
      path.remove_prefix(1);
      const std::string_view name = path.substr(0, path.find('/'));
      std::unique_ptr<Node>& child = node->children[std::string(name)];
      if (child == nullptr) child = std::make_unique<Node>();
      node = child.get();
      path.remove_prefix(name.size());
    }
    return *node;
  }

  [[nodiscard]] std::uint64_t RightsOf(const Wish& wish) const {
    std::uint64_t rights = 0;
    switch (wish.shown) {
      case Shown::kHidden:
        break;
      case Shown::kReadable:
        rights = kReads | kLandlockExecute;
        break;
      case Shown::kWritable:
        rights = all_;
        break;
    }
    return wish.executable ? rights : rights & ~kLandlockExecute;
  }

  // What a rule on a folder above may say without giving `wish` more than it is to have.
  [[nodiscard]] std::uint64_t AllowedAbove(const Wish& wish) const {
    const std::uint64_t rights = RightsOf(wish);
    if (wish.type == NodeType::kFolder) return rights;
    // A file has no entries, but its own name is one: it goes with the right to write.
    const bool keeps_name = (rights & kLandlockWriteFile) != 0;
    return (rights & kLandlockFileRights) | (~kLandlockFileRights & ~kChangesNames) |
           (keeps_name ? kChangesNames : 0);
  }

  void NoteCommon(Node& node) {
    for (auto& [name, child] : node.children) {
      NoteCommon(*child);
      node.common &= child->common;
      if (child->wish != nullptr) node.common &= AllowedAbove(*child->wish);
    }
  }

  // Writes the rules for `path` and what is below it. `around` is what holds for it unless it has a
  // wish of its own, `given` what the rules above have given already.
  void Give(const std::string& path, const Node& node, std::uint64_t around, std::uint64_t given) {
    const std::uint64_t rights = node.wish == nullptr ? around : RightsOf(*node.wish);
    const bool optional = node.wish == nullptr || node.wish->may_vanish;
    const bool is_link = node.wish != nullptr && node.wish->type == NodeType::kSymlink;
    if (!is_link) AddRule(path, rights & node.common & ~given, optional);
    given |= rights & node.common;
    const std::uint64_t rest = rights & ~given;
    if (rest != 0) GiveEntries(path, node, rights, rest);
    for (const auto& [name, child] : node.children) {
      Give(JoinPath(path, name), *child, rights, given);
    }
  }

  void GiveEntries(const std::string& path, const Node& node, std::uint64_t rights,
                   std::uint64_t rest) {
    const int error = ListFolder(path, [&](std::string_view name, NodeType type) {
      const bool counts = type == NodeType::kFolder || type == NodeType::kFile;
      if (!counts || node.children.contains(name)) return;
      AddRule(JoinPath(path, name), rights, true);
    });
    if (error != 0) {
      result_.unseen.push_back(path);
      return;
    }
    if ((rest & kLandlockReadDir) != 0) {
      result_.unlisted.push_back(path);
    } else if ((rest & kLandlockReadFile) != 0) {
      result_.unread.push_back(path);
    }
    if ((rest & kChangesNames) != 0) result_.fixed.push_back(path);
  }

  void AddRule(const std::string& path, std::uint64_t access, bool optional) {
    access &= all_;
    if (access == 0 || result_.rules.size() > HostRules::kMaxRules) return;
    result_.rules.push_back({path, access, optional});
  }

  const std::uint64_t all_;
  Node top_;
  HostRules result_;
};

}  // namespace

absl::StatusOr<HostRules> CompileHostRules(const Wishes& wishes, int abi) {
  return RuleWriter(wishes, abi).Write();
}

bool IsWritableOnHost(const Wishes& wishes, const std::string& path) {
  for (std::string at = path;; at = ParentPath(at)) {
    const auto wish = wishes.find(at);
    if (wish != wishes.end()) return wish->second.shown == Shown::kWritable;
    if (at == "/") return false;
  }
}

}  // namespace cordon::internal
