#include "launcher/view_roles.h"

#include "launcher/text.h"
#include "view_op_kind.h"

namespace cordon::launcher {
namespace {

using internal::ViewOpKind;

constexpr const char* kOwnInDev[] = {"/pts", "/shm"};

ViewOpKind KindOf(const wire::ViewOpRecord& op) { return static_cast<ViewOpKind>(op.kind); }

// At `place` or below it.
bool IsWithin(const char* path, const char* place) {
  const std::size_t length = Length(place);
  if (length == 1) return true;  // The root.
  return StartsWith(path, place) && (path[length] == '\0' || path[length] == '/');
}

bool IsBelow(const char* path, const char* place) {
  return IsWithin(path, place) && !Equal(path, place);
}

bool IsInOwnPartOfDev(const char* path, const char* dev) {
  if (!IsWithin(path, dev)) return false;
  const char* below = path + Length(dev);
  for (const char* part : kOwnInDev) {
    if (IsWithin(below, part)) return true;
  }
  return false;
}

// Needs nothing of the host, which a sandbox with a shared view does not see.
bool IsMadeOfNothing(ViewOpKind kind) {
  return kind == ViewOpKind::kDir || kind == ViewOpKind::kFile || kind == ViewOpKind::kSymlink;
}

// By one of the first `count` steps.
bool IsOwnOf(const Plan& plan, const ViewRole* roles, std::uint32_t count, const char* path) {
  const auto* ops = plan.Records<wire::ViewOpRecord>(plan.header->view);
  for (std::uint32_t i = 0; i < count; ++i) {
    const char* target = plan.Text(ops[i].target);
    if (roles[i] == ViewRole::kOwn && IsWithin(path, target)) return true;
    if (roles[i] == ViewRole::kDivided && IsInOwnPartOfDev(path, target)) return true;
  }
  return false;
}

class Roles {
 public:
  Roles(const Plan& plan, ViewRole* roles)
      : plan_(plan),
        ops_(plan.Records<wire::ViewOpRecord>(plan.header->view)),
        count_(plan.header->view.count),
        roles_(roles) {}

  bool Assign() {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (!AssignOne(i)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] const char* Target(std::uint32_t i) const { return plan_.Text(ops_[i].target); }

  bool AssignOne(std::uint32_t i) {
    const ViewOpKind kind = KindOf(ops_[i]);
    if (IsInOwnPlace(i)) {
      roles_[i] = ViewRole::kOwn;
      return IsMadeOfNothing(kind);
    }
    // It would lie over what is made later.
    if (CoversOwnPlace(i)) return false;
    roles_[i] = OrdinaryRole(i);
    return true;
  }

  [[nodiscard]] ViewRole OrdinaryRole(std::uint32_t i) const {
    switch (KindOf(ops_[i])) {
      case ViewOpKind::kProc:
        return ViewRole::kOwn;
      case ViewOpKind::kDev:
        return ViewRole::kDivided;
      case ViewOpKind::kProtect:
      case ViewOpKind::kMask:
      case ViewOpKind::kPin:
        return ViewRole::kChecked;
      case ViewOpKind::kTmpfs:
        if (ops_[i].read_only == 0) return ViewRole::kOwn;
        [[fallthrough]];
      case ViewOpKind::kBind:
      case ViewOpKind::kSocket:
        return IsInBind(i) ? ViewRole::kChecked : ViewRole::kShared;
      case ViewOpKind::kDir:
      case ViewOpKind::kFile:
      case ViewOpKind::kSymlink:
        return ViewRole::kShared;
    }
    return ViewRole::kShared;
  }

  [[nodiscard]] bool IsInOwnPlace(std::uint32_t i) const {
    return IsOwnOf(plan_, roles_, i, Target(i));
  }

  [[nodiscard]] bool CoversOwnPlace(std::uint32_t i) const {
    if (IsMadeOfNothing(KindOf(ops_[i]))) return false;
    for (std::uint32_t j = 0; j < i; ++j) {
      const bool has_own = roles_[j] == ViewRole::kOwn || roles_[j] == ViewRole::kDivided;
      if (has_own && IsWithin(Target(j), Target(i))) return true;
    }
    return false;
  }

  [[nodiscard]] bool IsInBind(std::uint32_t i) const {
    for (std::uint32_t j = 0; j < i; ++j) {
      if (KindOf(ops_[j]) == ViewOpKind::kBind && IsBelow(Target(i), Target(j))) return true;
    }
    return false;
  }

  const Plan& plan_;
  const wire::ViewOpRecord* const ops_;
  const std::uint32_t count_;
  ViewRole* const roles_;
};

}  // namespace

bool IsOwnPlace(const Plan& plan, const ViewRole* roles, const char* path) {
  return IsOwnOf(plan, roles, plan.header->view.count, path);
}

bool AssignRoles(const Plan& plan, ViewRole* roles) { return Roles(plan, roles).Assign(); }

}  // namespace cordon::launcher
