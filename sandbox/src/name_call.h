// What a call asks for that makes, moves or removes a name: a file, a folder, a link.

#ifndef CORDON_SANDBOX_SRC_NAME_CALL_H_
#define CORDON_SANDBOX_SRC_NAME_CALL_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "caller.h"

namespace cordon::internal {

struct NameRequest {
  enum class Kind : std::uint8_t { kMakeFolder, kMakeLink, kRemove, kRemoveFolder, kRename, kLink };

  Kind kind = Kind::kRemove;
  std::string path;      // Absolute; links, "." and ".." in it are as the caller wrote them.
  std::string new_path;  // kRename, kLink; the same.
  std::string text;      // kMakeLink: what the link says.
  mode_t mode = 0;       // kMakeFolder
  unsigned flags = 0;    // kRename: RENAME_*
};

[[nodiscard]] std::span<const char* const> NameCalls();

// Whether call `number` of this build's architecture is one of `NameCalls`.
[[nodiscard]] bool IsNameCall(int number);

// Reads the arguments of such a call once; nothing when they cannot be read or mean something else.
[[nodiscard]] std::optional<NameRequest> DecodeNameCall(const Caller& caller);

// Whether the last component of a path as a caller wrote it is a name, with nothing after it.
[[nodiscard]] bool EndsInName(const std::string& path);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_NAME_CALL_H_
