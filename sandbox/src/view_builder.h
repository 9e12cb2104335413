// Turns "this path is to be shown like that" into the steps of a mount view: collects wishes in any
// order, then walks them from the top down and emits a step wherever a path differs from what its
// surroundings already show. Pure: touches no file.

#ifndef CORDON_SANDBOX_SRC_VIEW_BUILDER_H_
#define CORDON_SANDBOX_SRC_VIEW_BUILDER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "directory_reader.h"
#include "plan.h"

namespace cordon::internal {

// Ordered: of two wishes for one path the lower one counts.
enum class Shown : std::uint8_t { kHidden, kReadable, kWritable };

struct Wish {
  // Every folder between the writable root and the path is pinned.
  static constexpr int kPinAll = -1;

  NodeType type = NodeType::kFolder;  // Of the host's object at the path; never kMissing.
  Shown shown = Shown::kHidden;
  bool executable = true;
  // How many folders above the path keep their place: those whose names the rule depends on.
  int pinned_levels = kPinAll;
  // Found by looking: when it is gone by the time the view is built, there is nothing to do.
  bool may_vanish = false;
  // What is shown at the path when that is not the host's object there; for `kReadable`.
  std::string source = {};
};

class ViewBuilder {
 public:
  // What the view has of its own. Nothing of the host is in it until something is bound there.
  void AddOwnFolder(const std::string& path);

  // A private folder of the host at `path`: writable; what is bound below it needs a mount point
  // there, see `scratch_mount_points`.
  void AddScratch(const std::string& path, const std::string& source);

  // A step of the caller's own, in its place among the others.
  void AddOp(ViewOp op) { ops_.push_back(std::move(op)); }

  // At most one per path counts: the one that shows least, pinned as far as any asks for.
  void Add(const std::string& path, const Wish& wish);

  // A mount point of the host below a root: pins below it belong to it.
  void AddMountPoint(const std::string& path) { mount_points_.insert(path); }

  // What was asked for so far, before `Build`.
  [[nodiscard]] const std::map<std::string, Wish>& wishes() const { return wishes_; }
  [[nodiscard]] const std::vector<ViewOp>& extra_ops() const { return ops_; }

  // The steps, each after those for the folders above it. Call it once.
  [[nodiscard]] std::vector<ViewOp> Build();

  // After `Build`: the roots that are writable, in order.
  [[nodiscard]] const std::vector<std::string>& writable_roots() const { return writable_roots_; }

  // What must exist in the scratch folders before the steps can be performed.
  struct MountPoint {
    std::string scratch;   // Its source on the host.
    std::string relative;  // The place in it.
    bool is_folder = true;
  };
  [[nodiscard]] const std::vector<MountPoint>& scratch_mount_points() const {
    return scratch_mount_points_;
  }

  // Keeps the folder `path` and all those above it in a writable root from being moved or removed.
  void AddPin(const std::string& path) { pin_wishes_.insert(path); }

  // After `Build`: what is shown at `path`, and whether a wish shows something at or below it.
  [[nodiscard]] bool IsWritable(const std::string& path) const;
  [[nodiscard]] bool IsShown(const std::string& path) const;

 private:
  enum class Place : std::uint8_t { kOwn, kScratch, kMasked, kReadable, kWritable };
  struct State {
    Place place = Place::kOwn;
    bool executable = true;
    std::string root;    // kWritable, kScratch: the path whose mount this is.
    std::string source;  // kScratch.
  };

  [[nodiscard]] const State& StateAt(std::string_view path) const;
  [[nodiscard]] bool ShowsSomethingBelow(const std::string& path) const;
  [[nodiscard]] std::vector<ViewOp> PinOps() const;
  void EnterMount(const std::string& path);
  void Apply(const std::string& path, const Wish& wish);
  void Hide(const std::string& path, const Wish& wish, const State& around);
  void Bind(const std::string& path, const Wish& wish, const State& around);
  void Protect(const std::string& path, const Wish& wish, const State& around);
  void MakePlaceInScratch(const std::string& path, const Wish& wish, const State& around);
  void NeedMountPoint(const std::string& path, NodeType type, const State& around);
  void Pin(const std::string& path, const Wish& wish, const std::string& root);
  void PinFolder(const std::string& path, const std::string& root, bool may_vanish);

  std::map<std::string, Wish> wishes_;
  std::map<std::string, State, std::less<>> states_;
  struct Pinned {
    std::string root;
    bool up_to_root = false;
    bool may_vanish = true;
  };
  std::map<std::string, Pinned> pins_;
  std::set<std::string> mount_points_;
  std::set<std::string> pin_wishes_;
  std::vector<MountPoint> scratch_mount_points_;
  std::vector<std::string> writable_roots_;
  std::vector<ViewOp> ops_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_BUILDER_H_
