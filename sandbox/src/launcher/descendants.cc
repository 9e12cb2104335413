#include "launcher/descendants.h"

#include <linux/fcntl.h>

#include "launcher/directory.h"
#include "launcher/fd.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

struct Process {
  int pid;
  int parent;
  bool below;
};

// What is not used of it costs no memory.
constexpr int kMaxProcesses = 65536;
Process processes[kMaxProcesses];

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }

int ParseNumber(const char* text) {
  int value = 0;
  while (IsDigit(*text)) value = value * 10 + (*text++ - '0');
  return value;
}

// The fourth field of /proc/PID/stat; the second is a name in parentheses, with any bytes in it.
int ParentOf(const char* pid) {
  TextBuffer<64> path;
  path.Add("/proc/").Add(pid).Add("/stat");
  const Fd file(Call(__NR_openat, AT_FDCWD, path.get(), O_RDONLY | O_CLOEXEC));
  char text[256];
  const long size = Call(__NR_read, file.get(), text, sizeof(text) - 1);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* after_name = nullptr;
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at == ')') after_name = at + 1;
  }
  if (after_name == nullptr || Length(after_name) < 4) return 0;
  return ParseNumber(after_name + 3);  // " S 123"
}

int ListProcesses() {
  const Fd listing(Call(__NR_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int count = 0;
  const auto add = [&count](const char* name) {
    if (!IsDigit(name[0]) || count == kMaxProcesses) return;
    processes[count++] = {ParseNumber(name), ParentOf(name), false};
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

}  // namespace

void SignalDescendants(int signal) {
  const int self = static_cast<int>(Call(__NR_getpid));
  const int count = ListProcesses();
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < count; ++i) {
      Process& process = processes[i];
      if (process.below || process.pid == self) continue;
      process.below = process.parent == self || IsBelow(process.parent, count);
      more = more || process.below;
    }
  }
  for (int i = 0; i < count; ++i) {
    if (processes[i].below) Call(__NR_kill, processes[i].pid, signal);
  }
}

}  // namespace cordon::launcher
