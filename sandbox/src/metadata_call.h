// What a system call wants changed about a file besides its content: its mode, its owner, its
// times. Every one of them, in whatever form, becomes the same plain request.

#ifndef CORDON_SANDBOX_SRC_METADATA_CALL_H_
#define CORDON_SANDBOX_SRC_METADATA_CALL_H_

#include <sys/types.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "caller.h"

namespace cordon::internal {

struct MetadataRequest {
  enum class Kind : std::uint8_t { kMode, kOwner, kTimes };

  Kind kind = Kind::kMode;
  // The file is `path`, which starts at the open folder `folder` (or AT_FDCWD) unless it is
  // absolute. Empty: it is what `folder` is open on.
  int folder = -1;
  std::string path;
  bool follow = true;  // A link at the end of the path.
  mode_t mode = 0;
  uid_t user = 0;  // -1: as it is; so is `group`.
  gid_t group = 0;
  std::optional<std::array<timespec, 2>> times;  // utimensat(2); nothing: now.
};

// A request, or the errno that the call gets.
struct DecodedMetadataCall {
  int error_number = 0;
  MetadataRequest request;
};

// Whether call `number` of this build's architecture is one of `MetadataCalls`.
[[nodiscard]] bool IsMetadataCall(int number);

// Reads the arguments of such a call once. What the caller does to its memory meanwhile changes
// nothing about what is returned.
[[nodiscard]] DecodedMetadataCall DecodeMetadataCall(const Caller& caller);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_METADATA_CALL_H_
