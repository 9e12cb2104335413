// Which object is at a path, so that another one that takes its place is not taken for it.

#ifndef CORDON_SANDBOX_SRC_OBJECT_IDENTITY_H_
#define CORDON_SANDBOX_SRC_OBJECT_IDENTITY_H_

#include <cstdint>
#include <string>

namespace cordon::internal {

// The numbers alone do not do: those of a removed object go to one of the next that are made,
// perhaps within one tick of the file system's clock.
struct ObjectIdentity {
  static constexpr std::uint64_t kNoDevice = ~std::uint64_t{0};

  std::uint64_t device = kNoDevice;  // Of nothing.
  std::uint64_t inode = 0;
  std::int64_t made_ns = 0;  // When it was made or, where that is not kept, last changed.
  // A digest of its handle (name_to_handle_at(2)), in which there is a generation; 0 where there is
  // none.
  std::uint64_t handle = 0;

  [[nodiscard]] bool exists() const { return device != kNoDevice; }
  friend bool operator==(const ObjectIdentity&, const ObjectIdentity&) = default;
};

// Of a link itself. Asks no remote file system.
[[nodiscard]] ObjectIdentity IdentityAt(const std::string& absolute_path);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OBJECT_IDENTITY_H_
