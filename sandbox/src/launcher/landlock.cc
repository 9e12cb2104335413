#include "launcher/landlock.h"

#include "landlock_abi.h"
#include "launcher/mount.h"
#include "launcher/status.h"

namespace cordon::launcher {
namespace {

bool IsObject(int place, const wire::LandlockRuleRecord& rule) {
  FileStatus status;
  return StatusOf(place, &status) == 0 && DeviceNumber(status) == rule.device &&
         status.stx_ino == rule.inode;
}

int AddRule(int ruleset, const char* path, const wire::LandlockRuleRecord& record) {
  std::uint64_t access = record.access;
  const Fd place = OpenHost(path);
  if (!place.ok()) return place.error();
  if (record.inode != 0 && !IsObject(place.get(), record)) return ESTALE;
  if (!IsFolder(place.get())) access &= internal::kLandlockFileRights;
  if (access == 0) return 0;
  const internal::LandlockPathRule rule = {access, place.get()};
  return ErrorOf(
      Call(__NR_landlock_add_rule, ruleset, internal::kLandlockRulePathBeneath, &rule, 0));
}

Outcome AddRules(int ruleset, const Block& block, wire::List list) {
  const auto* rules = block.Records<wire::LandlockRuleRecord>(list);
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const char* path = block.Text(rules[i].path);
    const int error = AddRule(ruleset, path, rules[i]);
    const bool vanished = error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES;
    const bool skipped = rules[i].optional != 0 && vanished;
    if (error != 0 && !skipped) return At(Step::kLandlock, error, path);
  }
  return {};
}

}  // namespace

Outcome EnterLandlock(const Plan& plan, const Command& command) {
  const wire::PlanHeader& header = *plan.header;
  if (header.landlock_handled_fs == 0 && header.landlock_scoped == 0) return {};
  const internal::LandlockRulesetAttributes attributes = {
      header.landlock_handled_fs, header.landlock_handled_net, header.landlock_scoped};
  const Fd ruleset(Call(__NR_landlock_create_ruleset, &attributes, sizeof(attributes), 0));
  if (!ruleset.ok()) return At(Step::kLandlock, ruleset.error());
  if (Outcome o = AddRules(ruleset.get(), plan, header.landlock_rules); !o.ok()) return o;
  if (command.header != nullptr) {
    const wire::List extra = command.header->extra_landlock_rules;
    if (Outcome o = AddRules(ruleset.get(), command, extra); !o.ok()) return o;
  }
  return At(Step::kLandlock, ErrorOf(Call(__NR_landlock_restrict_self, ruleset.get(), 0)));
}

}  // namespace cordon::launcher
