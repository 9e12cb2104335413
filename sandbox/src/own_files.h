// Small files in a folder of this user's own, which nobody else may touch.

#ifndef CORDON_SANDBOX_SRC_OWN_FILES_H_
#define CORDON_SANDBOX_SRC_OWN_FILES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// The folder at `path`; none when there is none, a component is a symbolic link, or it is not this
// user's alone (mode 0700).
[[nodiscard]] UniqueFd OpenOwnFolder(const std::string& path);

// The same, made where it is missing, and so is the one that it is in: only in a folder of this
// user's, so that root leaves nothing in a user's home.
[[nodiscard]] UniqueFd OpenOrMakeOwnFolder(const std::string& path);

// What is in the file `name` of `folder` (borrowed). None when there is none, it is no regular file
// with this one name that is this user's alone (mode 0600), or has more than `max_bytes`.
[[nodiscard]] std::optional<std::string> ReadOwnFile(int folder, const std::string& name,
                                                     std::size_t max_bytes);

// Replaces the file `name`; who reads meanwhile has the old or the new one, whole. Leaves nothing
// behind when that fails, but when the program is killed; then a file named `.new-*`.
void WriteOwnFile(int folder, const std::string& name, std::string_view bytes);

// Removes the files that were not written for longest, until there are no more than `max_files`.
void RemoveOldest(int folder, std::size_t max_files);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OWN_FILES_H_
