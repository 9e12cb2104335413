#include "object_identity.h"

#include <fcntl.h>

#include "directory_reader.h"

namespace cordon::internal {
namespace {

std::uint64_t HandleDigest(const std::string& path) {
  alignas(file_handle) unsigned char buffer[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* const handle = reinterpret_cast<file_handle*>(buffer);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(AT_FDCWD, path.c_str(), handle, &mount, 0) != 0) return 0;
  std::uint64_t digest = 14695981039346656037U;  // FNV-1a.
  for (unsigned i = 0; i < handle->handle_bytes; ++i) {
    digest = (digest ^ buffer[sizeof(file_handle) + i]) * 1099511628211U;
  }
  return digest;
}

}  // namespace

ObjectIdentity IdentityAt(const std::string& absolute_path) {
  const NodeStatus status = KnownStatusOf(absolute_path);
  if (status.type == NodeType::kMissing) return {};
  const std::int64_t made = status.born_ns != 0 ? status.born_ns : status.stamp.changed_ns;
  return {status.stamp.device, status.stamp.inode, made, HandleDigest(absolute_path)};
}

}  // namespace cordon::internal
