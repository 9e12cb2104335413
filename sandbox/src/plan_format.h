// The flat form of a plan and of a command: records at offsets of one block, which the launcher
// reads in place. Both sides are built together, so there is a mark but no versioning.

#ifndef CORDON_SANDBOX_SRC_PLAN_FORMAT_H_
#define CORDON_SANDBOX_SRC_PLAN_FORMAT_H_

#include <cstdint>

#include "tree_limits.h"

namespace cordon::internal::wire {

inline constexpr std::uint32_t kPlanMark = 0x314c5043;     // "CPL1"
inline constexpr std::uint32_t kCommandMark = 0x31444343;  // "CCD1"
inline constexpr std::uint32_t kMaxBlockBytes = 256u << 20;

// Offset of a NUL-terminated string. The last byte of a block is NUL, so each that lies within the
// block ends within it; offset 0 is the mark and stands for no string.
using Text = std::uint32_t;

struct Bytes {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

// `count` records of one type at `offset`, aligned to 8.
struct List {
  std::uint32_t offset = 0;
  std::uint32_t count = 0;
};

struct ViewOpRecord {
  std::uint8_t kind = 0;  // ViewOp::Kind
  std::uint8_t read_only = 0;
  std::uint8_t executable = 0;
  std::uint8_t optional = 0;
  std::uint32_t mode = 0;
  Text target = 0;
  Text source = 0;
  Bytes data;
  std::uint64_t size_bytes = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

struct LandlockRuleRecord {
  std::uint64_t access = 0;
  Text path = 0;
  std::uint32_t optional = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

struct LimitRecord {
  std::uint64_t value = 0;
  std::int32_t resource = 0;
  std::uint32_t reserved = 0;
};

struct PlanHeader {
  std::uint32_t mark = kPlanMark;
  std::uint32_t size = 0;  // Of the whole block.
  std::uint8_t confined = 0;
  std::uint8_t namespaces = 0;
  std::uint8_t host_network = 0;
  std::uint8_t must_observe = 0;
  Text host_name = 0;
  std::uint8_t observes_early = 0;
  std::uint8_t observes_last = 0;
  std::uint8_t reserved[6] = {};
  List view;            // ViewOpRecord
  List landlock_rules;  // LandlockRuleRecord
  List limits;          // LimitRecord
  Bytes seccomp;        // struct sock_filter, aligned to 8.
  Bytes observer;       // The same.
  List absent;          // Text
  std::uint64_t process_limit = 0;
  TreeLimits watched;
  std::uint64_t landlock_handled_fs = 0;
  std::uint64_t landlock_handled_net = 0;
  std::uint64_t landlock_scoped = 0;
};

// `argv` and `environment` are lists of 64-bit offsets with a 0 after the last, not counted: the
// launcher adds its address to each and has the vectors that execve(2) wants.
struct CommandHeader {
  std::uint32_t mark = kCommandMark;
  std::uint32_t size = 0;
  List argv;
  List environment;
  List extra_view;
  List extra_landlock_rules;
  Text working_directory = 0;
  std::uint16_t terminal_rows = 0;
  std::uint16_t terminal_columns = 0;
};

}  // namespace cordon::internal::wire

#endif  // CORDON_SANDBOX_SRC_PLAN_FORMAT_H_
