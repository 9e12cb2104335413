// What a call that opens a file asks for: open(2), creat(2), openat(2), openat2(2).

#ifndef CORDON_SANDBOX_SRC_OPEN_CALL_H_
#define CORDON_SANDBOX_SRC_OPEN_CALL_H_

#include <fcntl.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "caller.h"

namespace cordon::internal {

struct OpenRequest {
  int folder = AT_FDCWD;  // Where a path that is not absolute starts.
  std::string path;
  std::uint64_t flags = 0;  // O_*
  std::uint64_t mode = 0;
  std::uint64_t resolve = 0;  // RESOLVE_*

  [[nodiscard]] bool has(std::uint64_t flag) const { return (flags & flag) == flag; }
  // Whether it asks for nothing but to read what exists.
  [[nodiscard]] bool only_reads() const;
};

[[nodiscard]] std::span<const char* const> OpenCalls();

// Whether call `number` of this build's architecture is one of `OpenCalls`.
[[nodiscard]] bool IsOpenCall(int number);

// Whether such a call may do more than read what exists, by what its arguments say without a look
// at the caller's memory.
[[nodiscard]] bool MayWriteByOpen(const Caller& caller);

// Reads the arguments of such a call once; nothing when they cannot be read.
[[nodiscard]] std::optional<OpenRequest> DecodeOpenCall(const Caller& caller);

// `path` as seen from `caller`, absolute and without "." or empty components; empty when it has
// ".." in it or starts nowhere.
[[nodiscard]] std::string AbsolutePathOf(const Caller& caller, const OpenRequest& request);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OPEN_CALL_H_
