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
  int threads;
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

// The text after the `count`th blank; empty when there are fewer.
const char* After(const char* text, int count) {
  for (; *text != '\0' && count > 0; ++text) {
    if (*text == ' ') --count;
  }
  return text;
}

// From /proc/PID/stat: the fourth field and the twentieth. The second is a name in parentheses,
// with any bytes in it.
Process Look(const char* pid) {
  Process process = {ParseNumber(pid), 0, 0, false};
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

// Lists all processes and marks those below this one. Returns how many were listed.
int MarkDescendants() {
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
  return count;
}

}  // namespace

void SignalDescendants(int signal) {
  const int count = MarkDescendants();
  for (int i = 0; i < count; ++i) {
    if (processes[i].below) Call(__NR_kill, processes[i].pid, signal);
  }
}

std::uint64_t CountDescendants() {
  const int count = MarkDescendants();
  std::uint64_t threads = 0;
  for (int i = 0; i < count; ++i) {
    if (processes[i].below) threads += static_cast<std::uint64_t>(processes[i].threads);
  }
  return threads;
}

}  // namespace cordon::launcher
