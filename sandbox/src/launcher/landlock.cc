#include "launcher/landlock.h"

#include <asm/statfs.h>

#include "landlock_abi.h"
#include "launcher/mount.h"
#include "launcher/status.h"
#include "launcher/view.h"

namespace cordon::launcher {
namespace {

bool IsObject(int place, const wire::LandlockRuleRecord& rule) {
  FileStatus status;
  return StatusOf(place, &status) == 0 && DeviceNumber(status) == rule.device &&
         status.stx_ino == rule.inode;
}

bool RenewsInodes(int place) {
  constexpr long kProc = 0x9fa0;         // PROC_SUPER_MAGIC
  constexpr long kOverlay = 0x794c7630;  // OVERLAYFS_SUPER_MAGIC, for files with several names.
  struct statfs status;
  if (ErrorOf(Call(__NR_fstatfs, place, &status)) != 0) return true;
  return status.f_type == kProc || (status.f_type == kOverlay && !IsFolder(place));
}

int Hold(Fd place, HeldObjects* held) {
  if (held == nullptr || !RenewsInodes(place.get())) return 0;
  if (held->count == HeldObjects::kMost) return E2BIG;
  held->all[held->count++] = static_cast<Fd&&>(place);
  return 0;
}

int AddRule(int ruleset, Fd place, const wire::LandlockRuleRecord& record, HeldObjects* held) {
  std::uint64_t access = record.access;
  if (!place.ok()) return place.error();
  const bool is_pinned = record.device != 0 || record.inode != 0;
  if (is_pinned && !IsObject(place.get(), record)) return ESTALE;
  if (!IsFolder(place.get())) access &= internal::kLandlockFileRights;
  if (access == 0) return 0;
  const internal::LandlockPathRule rule = {access, place.get()};
  const int error =
      ErrorOf(Call(__NR_landlock_add_rule, ruleset, internal::kLandlockRulePathBeneath, &rule, 0));
  return error != 0 ? error : Hold(static_cast<Fd&&>(place), held);
}

// The rules about places that are there already, and the others.
enum class Part { kAll, kShared, kOwn };

struct RuleSource {
  int tree = -1;  // Negative: paths are those of the root.
  Part part = Part::kAll;
  const Plan* plan = nullptr;  // Whose view it is, for parts.
  const ViewRole* roles = nullptr;

  [[nodiscard]] bool Has(const char* path) const {
    if (part == Part::kAll) return true;
    return IsOwnPlace(*plan, roles, path) == (part == Part::kOwn);
  }
  [[nodiscard]] Fd Open(const char* path) const {
    return tree < 0 ? OpenHost(path) : OpenBeneath(tree, Relative(path));
  }
};

Outcome AddRules(int ruleset, const Block& block, wire::List list, const RuleSource& source,
                 HeldObjects* held) {
  const auto* rules = block.Records<wire::LandlockRuleRecord>(list);
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const char* path = block.Text(rules[i].path);
    if (!source.Has(path)) continue;
    const int error = AddRule(ruleset, source.Open(path), rules[i], held);
    const bool vanished = error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES;
    const bool skipped = rules[i].optional != 0 && vanished;
    if (error != 0 && !skipped) return At(Step::kLandlock, error, path);
  }
  return {};
}

Fd NewRuleset(const wire::PlanHeader& header) {
  const internal::LandlockRulesetAttributes attributes = {
      header.landlock_handled_fs, header.landlock_handled_net, header.landlock_scoped};
  return Fd(Call(__NR_landlock_create_ruleset, &attributes, sizeof(attributes), 0));
}

bool HandlesAny(const Plan& plan) {
  return plan.header->landlock_handled_fs != 0 || plan.header->landlock_scoped != 0;
}

bool HasOwnRules(const Command& command) {
  return command.header != nullptr && command.header->extra_landlock_rules.count != 0;
}

}  // namespace

Outcome MakeRuleset(const Plan& plan, HeldObjects* held, Fd* ruleset) {
  *ruleset = NewRuleset(*plan.header);
  if (!ruleset->ok()) return At(Step::kLandlock, ruleset->error());
  return AddRules(ruleset->get(), plan, plan.header->landlock_rules, {}, held);
}

Outcome BeginRuleset(const Plan& plan, const ViewRole* roles, int tree, Fd* ruleset) {
  if (!HandlesAny(plan)) return {};
  *ruleset = NewRuleset(*plan.header);
  if (!ruleset->ok()) return At(Step::kLandlock, ruleset->error());
  return AddRules(ruleset->get(), plan, plan.header->landlock_rules,
                  {tree, Part::kShared, &plan, roles}, nullptr);
}

Outcome EnterLandlock(const Plan& plan, const Command& command, const MadeRuleset& made) {
  if (!HandlesAny(plan)) return {};
  int ruleset = made.descriptor;
  Fd own;
  if (made.roles != nullptr) {
    const RuleSource rest = {-1, Part::kOwn, &plan, made.roles};
    Outcome o = AddRules(ruleset, plan, plan.header->landlock_rules, rest, nullptr);
    if (!o.ok()) return o;
  } else if (ruleset < 0 || HasOwnRules(command)) {
    if (Outcome o = MakeRuleset(plan, nullptr, &own); !o.ok()) return o;
    ruleset = own.get();
  }
  if (HasOwnRules(command)) {
    const wire::List extra = command.header->extra_landlock_rules;
    if (Outcome o = AddRules(ruleset, command, extra, {}, nullptr); !o.ok()) return o;
  }
  return At(Step::kLandlock, ErrorOf(Call(__NR_landlock_restrict_self, ruleset, 0)));
}

}  // namespace cordon::launcher
