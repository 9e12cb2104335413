#include "launcher/process_memory.h"

#include <linux/fcntl.h>
#include <linux/kcmp.h>

#include "launcher/fd.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

struct Amount {
  std::uint64_t bytes = 0;
  bool found = false;
};

const char* NextLine(const char* text) {
  while (*text != '\0' && *text != '\n') ++text;
  return *text == '\0' ? text : text + 1;
}

// Of a line like "RssAnon:    1234 kB".
std::uint64_t BytesIn(const char* line) {
  while (*line != '\0' && (*line < '0' || *line > '9')) ++line;
  std::uint64_t value = 0;
  while (*line >= '0' && *line <= '9')
    value = value * 10 + static_cast<std::uint64_t>(*line++ - '0');
  return value * 1024;
}

// The sum of the lines of /proc/PID/`file` that begin with one of `names`, which ends with null.
Amount SumOf(int pid, const char* file, const char* const* names) {
  TextBuffer<64> path;
  path.Add("/proc/").AddNumber(static_cast<std::uint64_t>(pid)).Add("/").Add(file);
  const Fd opened(Call(__NR_openat, AT_FDCWD, path.get(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const long size = Call(__NR_read, opened.get(), text, sizeof(text) - 1);
  if (size <= 0) return {};
  text[size] = '\0';
  Amount sum;
  for (const char* line = text; *line != '\0'; line = NextLine(line)) {
    for (const char* const* name = names; *name != nullptr; ++name) {
      if (!StartsWith(line, *name)) continue;
      sum.bytes += BytesIn(line);
      sum.found = true;
    }
  }
  return sum;
}

}  // namespace

std::uint64_t MemoryOf(int pid) {
  constexpr const char* kNames[] = {"RssAnon:", "RssShmem:", "VmSwap:", nullptr};
  return SumOf(pid, "status", kNames).bytes;
}

std::uint64_t ShareOfMemory(int pid) {
  constexpr const char* kNames[] = {"Pss_Anon:", "Pss_Shmem:", "SwapPss:", nullptr};
  const Amount share = SumOf(pid, "smaps_rollup", kNames);
  return share.found ? share.bytes : MemoryOf(pid);
}

bool ShareMemory(int pid, int other) { return Call(__NR_kcmp, pid, other, KCMP_VM, 0, 0) == 0; }

}  // namespace cordon::launcher
