#include "writable_places.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "directory_reader.h"
#include "landlock_abi.h"

namespace cordon::internal {

WritablePlaces::WritablePlaces(PathPolicy paths, Wishes wishes,
                               std::vector<std::string> own_folders,
                               std::vector<std::string> absent, const HostRules& rules)
    : paths_(std::move(paths)),
      wishes_(std::move(wishes)),
      own_folders_(std::move(own_folders)),
      absent_(absent.begin(), absent.end()) {
  constexpr std::uint64_t kNames = kLandlockRemoveDir | kLandlockRemoveFile | kLandlockMakeDir |
                                   kLandlockMakeReg | kLandlockMakeSym;
  constexpr std::uint64_t kReads = kLandlockReadFile | kLandlockReadDir;
  for (const LandlockRule& rule : rules.rules) {
    if ((rule.access & kNames) == kNames) free_.insert(rule.path);
    if ((rule.access & kReads) == kReads) readable_.insert(rule.path);
  }
  // Who may write may read: see path_policy.h.
  const auto add = [this](const std::vector<std::string>& folders, std::set<std::string>& to) {
    for (const std::string& folder : folders) {
      if (Has(folder)) to.insert(folder);
    }
  };
  add(rules.unread, closed_);
  add(rules.unlisted, closed_);
  add(rules.unlisted, unlisted_);
}

bool WritablePlaces::IsInClosed(const std::string& path) const {
  for (std::string at = path;; at = ParentPath(at)) {
    if (closed_.contains(at)) return true;
    if (at == "/") return false;
  }
}

bool WritablePlaces::Has(const std::string& path) const {
  if (!IsWritableOnHost(wishes_, path)) return false;
  const auto is_above = [&path](const std::string& own) { return IsWithin(path, own); };
  return std::any_of(own_folders_.begin(), own_folders_.end(), is_above) ||
         paths_.Resolve(Axis::kWrite, path).access == Access::kAllow;
}

bool WritablePlaces::MayChange(const std::string& path, bool is_new) const {
  const bool may =
      Has(path) || (is_new && IsWritableOnHost(wishes_, path) && IsOnlyProtected(path));
  return may && std::none_of(absent_.begin(), absent_.end(),
                             [&path](const std::string& name) { return IsWithin(path, name); });
}

bool WritablePlaces::IsOnlyProtected(const std::string& path) const {
  const std::string rule = paths_.Resolve(Axis::kWrite, path).rule;
  bool is_protected = false;
  for (const GlobRule& glob : paths_.globs()) {
    if (glob.pattern != rule) continue;
    if (glob.effect != GlobRule::Effect::kProtect) return false;
    is_protected = true;
  }
  return is_protected;
}

bool WritablePlaces::HasRulesBelow(const std::string& path) const {
  const std::string below = path + "/";
  const auto wish = wishes_.lower_bound(below);
  if (wish != wishes_.end() && wish->first.starts_with(below)) return true;
  const auto name = absent_.lower_bound(below);
  return name != absent_.end() && name->starts_with(below);
}

}  // namespace cordon::internal
