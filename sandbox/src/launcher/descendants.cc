#include "launcher/descendants.h"

#include <linux/fcntl.h>

#include "launcher/directory.h"
#include "launcher/fd.h"
#include "launcher/process_memory.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

struct Process {
  int pid;
  int parent;
  int threads;
  std::uint64_t ticks;  // Of processor time, with that of the children it has waited for.
  bool below;
};

// What /proc counts processor time in, on every architecture that is served: sysconf(_SC_CLK_TCK).
constexpr std::uint64_t kMicrosecondsPerTick = 10'000;

// What is not used of it costs no memory.
constexpr int kMaxProcesses = 65536;
Process processes[kMaxProcesses];
int listed = 0;

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }

std::uint64_t ParseLong(const char* text) {
  std::uint64_t value = 0;
  while (IsDigit(*text)) value = value * 10 + static_cast<std::uint64_t>(*text++ - '0');
  return value;
}

int ParseNumber(const char* text) { return static_cast<int>(ParseLong(text)); }

// The text after the `count`th blank; empty when there are fewer.
const char* After(const char* text, int count) {
  for (; *text != '\0' && count > 0; ++text) {
    if (*text == ' ') --count;
  }
  return text;
}

// From /proc/PID/stat (proc_pid_stat(5)): the fields 4, 14 to 17 and 20. The second is a name in
// parentheses, with any bytes in it.
Process Look(const char* pid) {
  Process process = {ParseNumber(pid), 0, 0, 0, false};
  TextBuffer<64> path;
  path.Add("/proc/").Add(pid).Add("/stat");
  const Fd file(Call(__NR_openat, AT_FDCWD, path.get(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const long size = Call(__NR_read, file.get(), text, sizeof(text) - 1);
  if (size <= 0) return process;
  text[size] = '\0';
  const char* after_name = nullptr;
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at == ')') after_name = at + 1;
  }
  if (after_name == nullptr) return process;
  process.parent = ParseNumber(After(after_name, 2));
  process.threads = ParseNumber(After(after_name, 18));
  for (int field = 12; field < 16; ++field) process.ticks += ParseLong(After(after_name, field));
  return process;
}

int ListProcesses() {
  const Fd listing(Call(__NR_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int count = 0;
  const auto add = [&count](const char* name) {
    if (!IsDigit(name[0]) || count == kMaxProcesses) return;
    processes[count++] = Look(name);
  };
  while (VisitNext(listing.get(), add)) {
  }
  return count;
}

bool IsBelow(int pid, int count) {
  for (int i = 0; i < count; ++i) {
    if (processes[i].pid == pid) return processes[i].below;
  }
  return false;
}

// Lists all processes and marks those below this one.
void MarkDescendants() {
  const int self = static_cast<int>(Call(__NR_getpid));
  listed = ListProcesses();
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < listed; ++i) {
      Process& process = processes[i];
      if (process.below || process.pid == self) continue;
      process.below = process.parent == self || IsBelow(process.parent, listed);
      more = more || process.below;
    }
  }
}

// Calls `visit` with what `MarkDescendants` has found.
template <typename Visit>
void ForDescendants(Visit visit) {
  for (int i = 0; i < listed; ++i) {
    if (processes[i].below) visit(processes[i]);
  }
}

}  // namespace

void SignalDescendants(int signal) {
  MarkDescendants();
  ForDescendants([signal](const Process& process) { Call(__NR_kill, process.pid, signal); });
}

TreeUse MeasureDescendants() {
  MarkDescendants();
  TreeUse use;
  ForDescendants([&use](const Process& process) {
    use.threads += static_cast<std::uint64_t>(process.threads);
    use.cpu_microseconds += process.ticks * kMicrosecondsPerTick;
  });
  return use;
}

std::uint64_t MemoryOfDescendants(std::uint64_t limit) {
  std::uint64_t coarse = 0;
  ForDescendants([&coarse](const Process& process) { coarse += MemoryOf(process.pid); });
  if (coarse <= limit) return coarse;
  std::uint64_t exact = 0;
  ForDescendants([&exact](const Process& process) {
    // As after vfork(2): what the parent has was counted with the parent.
    if (!ShareMemory(process.pid, process.parent)) exact += ShareOfMemory(process.pid);
  });
  return exact;
}

}  // namespace cordon::launcher
