// Landlock's numbers up to ABI 7, our own because the build's headers may be older than the kernel
// it runs on. Source: the kernel's include/uapi/linux/landlock.h. Included by the launcher too.

#ifndef CORDON_SANDBOX_SRC_LANDLOCK_ABI_H_
#define CORDON_SANDBOX_SRC_LANDLOCK_ABI_H_

#include <cstdint>

namespace cordon::internal {

// LANDLOCK_ACCESS_FS_*
enum LandlockRight : std::uint64_t {
  kLandlockExecute = 1u << 0,
  kLandlockWriteFile = 1u << 1,
  kLandlockReadFile = 1u << 2,
  kLandlockReadDir = 1u << 3,
  kLandlockRemoveDir = 1u << 4,
  kLandlockRemoveFile = 1u << 5,
  kLandlockMakeChar = 1u << 6,
  kLandlockMakeDir = 1u << 7,
  kLandlockMakeReg = 1u << 8,
  kLandlockMakeSock = 1u << 9,
  kLandlockMakeFifo = 1u << 10,
  kLandlockMakeBlock = 1u << 11,
  kLandlockMakeSym = 1u << 12,
  kLandlockRefer = 1u << 13,     // ABI 2
  kLandlockTruncate = 1u << 14,  // ABI 3
  kLandlockIoctlDev = 1u << 15,  // ABI 5
};

// What a rule on something other than a folder may name.
inline constexpr std::uint64_t kLandlockFileRights = kLandlockExecute | kLandlockWriteFile |
                                                     kLandlockReadFile | kLandlockTruncate |
                                                     kLandlockIoctlDev;

// LANDLOCK_SCOPE_*, ABI 6
enum LandlockScope : std::uint64_t {
  kLandlockScopeAbstractUnixSocket = 1u << 0,
  kLandlockScopeSignal = 1u << 1,
};

// LANDLOCK_ACCESS_NET_*, ABI 4
enum LandlockNetworkRight : std::uint64_t {
  kLandlockBindTcp = 1u << 0,
  kLandlockConnectTcp = 1u << 1,
};

// struct landlock_ruleset_attr. Older kernels take it as long as what they do not know is 0.
struct LandlockRulesetAttributes {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;  // ABI 4
  std::uint64_t scoped = 0;              // ABI 6
};

// struct landlock_path_beneath_attr
struct [[gnu::packed]] LandlockPathRule {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};

inline constexpr unsigned kLandlockRulePathBeneath = 1;
inline constexpr unsigned kLandlockCreateRulesetVersion = 1u << 0;
inline constexpr int kLandlockNewestKnownAbi = 7;

// All LANDLOCK_ACCESS_FS_* and LANDLOCK_SCOPE_* that `abi` (at least 1) knows.
[[nodiscard]] constexpr std::uint64_t LandlockRightsOf(int abi) {
  std::uint64_t rights = kLandlockRefer - 1;
  if (abi >= 2) rights |= kLandlockRefer;
  if (abi >= 3) rights |= kLandlockTruncate;
  if (abi >= 5) rights |= kLandlockIoctlDev;
  return abi >= 1 ? rights : 0;
}
[[nodiscard]] constexpr std::uint64_t LandlockScopesOf(int abi) {
  return abi >= 6 ? std::uint64_t{kLandlockScopeAbstractUnixSocket} | kLandlockScopeSignal : 0;
}

[[nodiscard]] constexpr std::uint64_t LandlockNetworkRightsOf(int abi) {
  return abi >= 4 ? std::uint64_t{kLandlockBindTcp} | kLandlockConnectTcp : 0;
}

// The running kernel's ABI, cut to the newest that is known here; 0 without Landlock.
[[nodiscard]] int QueryLandlockAbi();

// The errno with which the kernel refuses Landlock as a whole; 0 when it does not.
[[nodiscard]] int LandlockError();

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LANDLOCK_ABI_H_
