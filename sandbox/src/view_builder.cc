#include "view_builder.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "cordon/sdk/path_policy.h"

namespace cordon::internal {
namespace {

ViewOp Op(ViewOp::Kind kind, const std::string& target) {
  ViewOp op;
  op.kind = kind;
  op.target = target;
  return op;
}

ViewOp BindOp(const std::string& path, bool read_only, bool executable) {
  ViewOp op = Op(ViewOp::Kind::kBind, path);
  op.source = path;
  op.read_only = read_only;
  op.executable = executable;
  return op;
}

bool MountsOverTarget(ViewOp::Kind kind) {
  switch (kind) {
    case ViewOp::Kind::kBind:
    case ViewOp::Kind::kProtect:
    case ViewOp::Kind::kMask:
    case ViewOp::Kind::kTmpfs:
    case ViewOp::Kind::kProc:
    case ViewOp::Kind::kDev:
    case ViewOp::Kind::kSocket:
      return true;
    case ViewOp::Kind::kDir:
    case ViewOp::Kind::kFile:
    case ViewOp::Kind::kSymlink:
    case ViewOp::Kind::kPin:
      break;
  }
  return false;
}

int MorePins(int a, int b) {
  return a == Wish::kPinAll || b == Wish::kPinAll ? Wish::kPinAll : std::max(a, b);
}

}  // namespace

void ViewBuilder::AddOwnFolder(const std::string& path) { states_[path] = {}; }

void ViewBuilder::AddScratch(const std::string& path, const std::string& source) {
  ViewOp op = Op(ViewOp::Kind::kBind, path);
  op.source = source;
  ops_.push_back(std::move(op));
  states_[path] = {Place::kScratch, true, path, source};
  writable_roots_.push_back(path);
}

void ViewBuilder::Add(const std::string& path, const Wish& wish) {
  const auto [known, is_new] = wishes_.emplace(path, wish);
  if (is_new) return;
  const int levels = MorePins(known->second.pinned_levels, wish.pinned_levels);
  const bool may_vanish = known->second.may_vanish && wish.may_vanish;
  if (wish.shown < known->second.shown) {
    known->second = wish;
  } else if (wish.shown == known->second.shown) {
    known->second.executable = known->second.executable && wish.executable;
  }
  known->second.pinned_levels = levels;
  known->second.may_vanish = may_vanish;
}

std::vector<ViewOp> ViewBuilder::Build() {
  std::set<std::string> paths = mount_points_;
  for (const auto& [path, wish] : wishes_) paths.insert(path);
  // A folder's path is a prefix of what is below it, so it comes first.
  for (const std::string& path : paths) {
    if (mount_points_.contains(path)) EnterMount(path);
    const auto wish = wishes_.find(path);
    if (wish != wishes_.end()) Apply(path, wish->second);
  }
  for (const std::string& path : pin_wishes_) {
    const State& state = StateAt(path);
    if (state.place != Place::kWritable || state.root == path) continue;
    Pin(path, Wish{}, state.root);
    PinFolder(path, state.root, /*may_vanish=*/false);
  }
  std::vector<ViewOp> pins = PinOps();
  ops_.insert(ops_.end(), std::make_move_iterator(pins.begin()),
              std::make_move_iterator(pins.end()));
  std::stable_sort(ops_.begin(), ops_.end(),
                   [](const ViewOp& a, const ViewOp& b) { return a.target < b.target; });
  std::sort(writable_roots_.begin(), writable_roots_.end());
  return std::move(ops_);
}

std::vector<ViewOp> ViewBuilder::PinOps() const {
  std::set<std::string_view> mounted;
  for (const ViewOp& op : ops_) {
    if (MountsOverTarget(op.kind)) mounted.insert(op.target);
  }
  std::vector<ViewOp> pins;
  for (const auto& [path, pinned] : pins_) {
    if (mounted.contains(path)) continue;
    ViewOp op = Op(ViewOp::Kind::kPin, path);
    op.source = pinned.root;
    op.optional = pinned.may_vanish;
    pins.push_back(std::move(op));
  }
  return pins;
}

bool ViewBuilder::IsWritable(const std::string& path) const {
  return StateAt(path).place == Place::kWritable;
}

bool ViewBuilder::IsShown(const std::string& path) const {
  const Place place = StateAt(path).place;
  return place == Place::kWritable || place == Place::kReadable;
}

const ViewBuilder::State& ViewBuilder::StateAt(std::string_view path) const {
  static const State kTop;
  while (true) {
    const auto found = states_.find(path);
    if (found != states_.end()) return found->second;
    if (path.size() <= 1) return kTop;
    const std::size_t slash = path.rfind('/');
    path = slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
  }
}

bool ViewBuilder::ShowsSomethingBelow(const std::string& path) const {
  for (auto next = wishes_.lower_bound(JoinPath(path, "") + (path == "/" ? "" : "/"));
       next != wishes_.end() && IsWithin(next->first, path); ++next) {
    if (next->second.shown != Shown::kHidden) return true;
  }
  return false;
}

// The host's own mount point keeps its place by itself, the folders above it do not.
void ViewBuilder::EnterMount(const std::string& path) {
  const State around = StateAt(path);
  if (around.place != Place::kWritable) return;
  Pin(path, Wish{}, around.root);
  states_[path] = {Place::kWritable, around.executable, path, ""};
}

void ViewBuilder::Apply(const std::string& path, const Wish& wish) {
  const State around = StateAt(path);
  switch (around.place) {
    case Place::kMasked:
      return;
    case Place::kOwn:
    case Place::kScratch:
      if (wish.shown != Shown::kHidden) Bind(path, wish, around);
      return;
    case Place::kReadable:
    case Place::kWritable:
      break;
  }
  const bool writable = around.place == Place::kWritable;
  if (wish.shown == Shown::kHidden) {
    Hide(path, wish, around);
  } else if (wish.shown == Shown::kWritable && !writable) {
    Bind(path, wish, around);
  } else if (wish.executable != around.executable) {
    if (writable) Pin(path, wish, around.root);
    Bind(path, wish, around);
  } else if (wish.shown == Shown::kReadable && writable) {
    Protect(path, wish, around);
  }
}

void ViewBuilder::Hide(const std::string& path, const Wish& wish, const State& around) {
  if (around.place == Place::kWritable) Pin(path, wish, around.root);
  if (wish.type == NodeType::kFolder && ShowsSomethingBelow(path)) {
    ViewOp op = Op(ViewOp::Kind::kTmpfs, path);
    op.read_only = true;
    ops_.push_back(std::move(op));
    states_[path] = {};
    return;
  }
  ops_.push_back(Op(ViewOp::Kind::kMask, path));
  ops_.back().optional = wish.may_vanish;
  states_[path] = {Place::kMasked, false, "", ""};
}

// The folders between are the view's own, on a tmpfs over the first of them: made on the disk, they
// and a mount point for one command's grant would stay for the next command, and writable.
void ViewBuilder::MakePlaceInScratch(const std::string& path, const Wish& wish,
                                     const State& around) {
  const std::string first = path.substr(0, path.find('/', around.root.size() + 1));
  if (first == path) return NeedMountPoint(path, wish.type, around);
  NeedMountPoint(first, NodeType::kFolder, around);
  ViewOp op = Op(ViewOp::Kind::kTmpfs, first);
  op.read_only = true;
  ops_.push_back(std::move(op));
  states_[first] = {};
}

void ViewBuilder::Bind(const std::string& path, const Wish& wish, const State& around) {
  const bool writable = wish.shown == Shown::kWritable;
  if (around.place == Place::kScratch) MakePlaceInScratch(path, wish, around);
  ops_.push_back(BindOp(path, !writable, wish.executable));
  ops_.back().optional = wish.may_vanish;
  if (!wish.source.empty()) ops_.back().source = wish.source;
  states_[path] = {writable ? Place::kWritable : Place::kReadable, wish.executable,
                   writable ? path : "", ""};
  if (writable) writable_roots_.push_back(path);
}

void ViewBuilder::Protect(const std::string& path, const Wish& wish, const State& around) {
  Pin(path, wish, around.root);
  if (wish.type == NodeType::kSymlink) {
    // Nothing can be shown over a link but something else; it keeps its place and its text.
    PinFolder(path, around.root, wish.may_vanish);
    return;
  }
  ops_.push_back(Op(ViewOp::Kind::kProtect, path));
  ops_.back().optional = wish.may_vanish;
  states_[path] = {Place::kReadable, around.executable, "", ""};
}

void ViewBuilder::NeedMountPoint(const std::string& path, NodeType type, const State& around) {
  scratch_mount_points_.push_back(
      {around.source, path.substr(around.root.size() + 1), type == NodeType::kFolder});
  // A folder that was moved would be missing for the next command.
  Pin(path, Wish{}, around.root);
}

void ViewBuilder::Pin(const std::string& path, const Wish& wish, const std::string& root) {
  const bool up_to_root = wish.pinned_levels == Wish::kPinAll;
  int levels = wish.pinned_levels;
  for (std::string above = ParentPath(path); levels != 0 && above != root && IsWithin(above, root);
       above = ParentPath(above)) {
    Pinned& pinned = pins_[above];
    // Then those above it are, too.
    if (pinned.up_to_root && (!pinned.may_vanish || wish.may_vanish)) return;
    pinned.root = root;
    pinned.up_to_root = pinned.up_to_root || up_to_root;
    pinned.may_vanish = pinned.may_vanish && wish.may_vanish;
    if (!up_to_root) --levels;
  }
}

void ViewBuilder::PinFolder(const std::string& path, const std::string& root, bool may_vanish) {
  Pinned& pinned = pins_[path];
  pinned.root = root;
  pinned.up_to_root = true;
  pinned.may_vanish = pinned.may_vanish && may_vanish;
}

}  // namespace cordon::internal
