// Memory files of the library's, mapped privately.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_MAPPING_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_MAPPING_H_

#include <linux/mman.h>

#include <cstdint>

#include "launcher/fd.h"

namespace cordon::launcher {

struct Mapping {
  char* start = nullptr;
  std::uint64_t size = 0;
};

// A private copy of a memory file; `start` is null when it could not be mapped.
[[nodiscard]] inline Mapping Map(int file, int protection) {
  const long size = Call(__NR_lseek, file, 0, 2);  // SEEK_END
  if (size <= 0) return {};
  const long start = Call(__NR_mmap, nullptr, size, protection, MAP_PRIVATE, file, 0);
  if (ErrorOf(start) != 0) return {};
  return {reinterpret_cast<char*>(start), static_cast<std::uint64_t>(size)};
}

inline void Unmap(const Mapping& mapping) {
  if (mapping.start != nullptr) Call(__NR_munmap, mapping.start, mapping.size);
}

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_MAPPING_H_
