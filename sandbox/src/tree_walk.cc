#include "tree_walk.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "all_signals_blocked.h"
#include "cordon/sdk/status.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

// To start a thread costs as much as to read a few folders, or to ask some fifty about their times.
constexpr std::size_t kManyToRead = 32;
constexpr std::size_t kManyToAsk = 512;
// More of them wait for each other in the kernel.
constexpr std::size_t kMaxHelpers = 3;
// Folders that a thread takes at a time, so that none waits for the lock.
constexpr std::size_t kMaxBatch = 16;

// A tree that is given up beyond a number of names is given up at the same folder each time, and
// watches are for one thread.
std::size_t MaxHelpers(const LookRules& rules, const IndexTree& tree) {
  if (tree.optional || rules.watches != nullptr) return 0;
  static const std::size_t processors = std::thread::hardware_concurrency();  // Reads a file.
  return std::min(kMaxHelpers, std::max(processors, std::size_t{1}) - 1);
}

}  // namespace

// What came of one batch.
struct TreeWalk::Looked {
  absl::Status status;
  WalkResult result;
  Batch below;
};

TreeWalk::TreeWalk(const LookRules& rules, IndexTree& tree, std::size_t names_before)
    : rules_(rules),
      tree_(tree),
      names_before_(names_before),
      max_helpers_(MaxHelpers(rules, tree)) {}

absl::Status TreeWalk::Run() {
  pending_.push_back({&tree_.top, ""});
  Work();
  for (std::thread& helper : helpers_) helper.join();
  std::sort(result_.other_mounts.begin(), result_.other_mounts.end());
  return status_;
}

void TreeWalk::Work() {
  FolderLook look(rules_, tree_);
  std::unique_lock lock(mutex_);
  for (Batch batch = Take(lock); !batch.empty(); batch = Take(lock)) {
    lock.unlock();
    Looked looked = LookAt(batch, look);
    lock.lock();
    Add(std::move(looked));
  }
}

// Nothing when the walk is over.
TreeWalk::Batch TreeWalk::Take(std::unique_lock<std::mutex>& lock) {
  if (helpers_.empty() && IsLarge()) CallHelpers();
  changed_.wait(lock, [this] { return given_up_ || busy_ == 0 || !pending_.empty(); });
  if (given_up_ || pending_.empty()) return {};
  // Fewer towards the end, so that all threads end at the same time.
  const std::size_t share = pending_.size() / (2 * (max_helpers_ + 1));
  const std::size_t count = max_helpers_ == 0 ? 1 : std::clamp(share, std::size_t{1}, kMaxBatch);
  const auto first = pending_.end() - static_cast<std::ptrdiff_t>(count);
  Batch batch(std::make_move_iterator(first), std::make_move_iterator(pending_.end()));
  pending_.erase(first, pending_.end());
  ++busy_;
  return batch;
}

TreeWalk::Looked TreeWalk::LookAt(const Batch& batch, FolderLook& look) const {
  Looked looked;
  const std::size_t read_before = look.folders_read();
  for (const Pending& folder : batch) {
    looked.status = look.At(folder.relative, *folder.record);
    if (!looked.status.ok()) break;
    ++looked.result.folders;
    looked.result.names += folder.record->names;
    if (!folder.record->watch.IsUnchanged()) ++looked.result.folders_unwatched;
    if (folder.record->state == FolderRecord::State::kOtherMount) {
      looked.result.other_mounts.push_back(JoinPath(tree_.path, folder.relative));
    }
    for (const FolderRecord::Child& child : folder.record->children) {
      looked.below.push_back({child.record.get(), JoinPath(folder.relative, child.name)});
    }
  }
  looked.result.folders_read = look.folders_read() - read_before;
  return looked;
}

void TreeWalk::Add(Looked looked) {
  --busy_;
  result_.folders += looked.result.folders;
  result_.folders_unwatched += looked.result.folders_unwatched;
  result_.folders_read += looked.result.folders_read;
  result_.names += looked.result.names;
  result_.other_mounts.insert(result_.other_mounts.end(),
                              std::make_move_iterator(looked.result.other_mounts.begin()),
                              std::make_move_iterator(looked.result.other_mounts.end()));
  pending_.insert(pending_.end(), std::make_move_iterator(looked.below.begin()),
                  std::make_move_iterator(looked.below.end()));
  status_.Update(looked.status);
  status_.Update(CheckNames());
  given_up_ = tree_.incomplete || !status_.ok();
  if (!helpers_.empty()) changed_.notify_all();
}

absl::Status TreeWalk::CheckNames() {
  if (tree_.optional && result_.names > rules_.request->max_optional_names) {
    tree_.incomplete = true;
    return absl::OkStatus();
  }
  if (names_before_ + result_.names <= rules_.request->max_names) return absl::OkStatus();
  return MakeError(ErrorCode::kBusy,
                   absl::StrFormat("cannot apply the deny and protection rules below %s: there are "
                                   "more than %d names; deny or leave out large folders, or use a "
                                   "smaller workspace",
                                   tree_.path, rules_.request->max_names));
}

bool TreeWalk::IsLarge() const {
  return result_.folders_read >= kManyToRead || result_.folders + pending_.size() >= kManyToAsk;
}

// Alone, where the host lets this program have no more threads.
void TreeWalk::CallHelpers() {
  const AllSignalsBlocked blocked;
  try {
    while (helpers_.size() < max_helpers_) helpers_.emplace_back(&TreeWalk::Work, this);
  } catch (const std::system_error&) {
    max_helpers_ = helpers_.size();
  }
}

}  // namespace cordon::internal
