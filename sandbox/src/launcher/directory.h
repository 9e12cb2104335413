// Reading a folder without libc.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_DIRECTORY_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_DIRECTORY_H_

#include <cstdint>

#include "launcher/fd.h"
#include "launcher/text.h"

namespace cordon::launcher {

// getdents64(2); no header of the kernel has it.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t type;
  char name[1];  // And the rest of it.
};

// Calls `visit` with the next names of the open folder `listing`, as many as one reading gives,
// without "." and ".."; false once there are none.
template <typename Visit>
bool VisitNext(int listing, Visit visit) {
  alignas(8) char buffer[4096];
  const long size = Call(__NR_getdents64, listing, buffer, sizeof(buffer));
  bool any = false;
  for (long at = 0; at < size;) {
    const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
    at += entry->size;
    if (Equal(entry->name, ".") || Equal(entry->name, "..")) continue;
    any = true;
    visit(entry->name);
  }
  return any;
}

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_DIRECTORY_H_
