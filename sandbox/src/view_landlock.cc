#include "view_landlock.h"

namespace cordon::internal {
namespace {

constexpr std::uint64_t kExecute = 1U << 0U;
constexpr std::uint64_t kWriteFile = 1U << 1U;
constexpr std::uint64_t kReadFile = 1U << 2U;
constexpr std::uint64_t kReadDir = 1U << 3U;
constexpr std::uint64_t kLastOfAbi1 = 1U << 12U;  // LANDLOCK_ACCESS_FS_MAKE_SYM
constexpr std::uint64_t kRefer = 1U << 13U;       // ABI 2
constexpr std::uint64_t kTruncate = 1U << 14U;    // ABI 3
constexpr std::uint64_t kIoctlDev = 1U << 15U;    // ABI 5

constexpr std::uint64_t kScopeAbstractUnixSocket = 1U << 0U;  // ABI 6
constexpr std::uint64_t kScopeSignal = 1U << 1U;

}  // namespace

std::uint64_t LandlockFileRights(int abi) {
  if (abi < 1) return 0;
  std::uint64_t rights = (kLastOfAbi1 << 1U) - 1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDev;
  return rights;
}

std::uint64_t LandlockScopes(int abi) {
  return abi >= 6 ? kScopeAbstractUnixSocket | kScopeSignal : 0;
}

std::vector<LandlockRule> ViewLandlockRules(int abi,
                                            const std::vector<std::string>& writable_roots) {
  const std::uint64_t all = LandlockFileRights(abi);
  if (all == 0) return {};
  const std::uint64_t use = (kWriteFile | kTruncate | kReadFile | kReadDir | kIoctlDev) & all;
  std::vector<LandlockRule> rules;
  rules.push_back({"/", kExecute | kReadFile | kReadDir, false});
  for (const std::string& root : writable_roots) rules.push_back({root, all, false});
  rules.push_back({"/dev/shm", all, true});
  rules.push_back({"/dev", use, true});
  rules.push_back({"/proc", use & ~kIoctlDev, true});
  return rules;
}

}  // namespace cordon::internal
