#include "launcher/exec.h"

#include <linux/limits.h>
#include <linux/mman.h>

#include "launcher/fd.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

int ExecuteByShell(const char* path, const Command& command) {
  const std::uint32_t count = command.header->argv.count;
  // Room for one more argument than there are.
  const std::uint64_t bytes = (std::uint64_t{count} + 2) * sizeof(char*);
  const long memory =
      Call(__NR_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (ErrorOf(memory) != 0) return ErrorOf(memory);
  auto* vector = reinterpret_cast<const char**>(memory);
  vector[0] = "/bin/sh";
  vector[1] = path;
  char** argv = Vector(command, command.header->argv);
  for (std::uint32_t i = 1; i < count; ++i) vector[i + 1] = argv[i];
  return ErrorOf(
      Call(__NR_execve, "/bin/sh", vector, Vector(command, command.header->environment)));
}

int ExecuteFile(const char* path, const Command& command) {
  const int error = ErrorOf(Call(__NR_execve, path, Vector(command, command.header->argv),
                                 Vector(command, command.header->environment)));
  return error == ENOEXEC ? ExecuteByShell(path, command) : error;
}

const char* SearchPath(const Command& command) {
  constexpr char kName[] = "PATH=";
  char** environment = Vector(command, command.header->environment);
  for (std::uint32_t i = command.header->environment.count; i > 0; --i) {
    if (StartsWith(environment[i - 1], kName)) return environment[i - 1] + sizeof(kName) - 1;
  }
  return nullptr;
}

bool HasSlash(const char* text) {
  for (; *text != '\0'; ++text) {
    if (*text == '/') return true;
  }
  return false;
}

}  // namespace

int Execute(const Command& command) {
  const char* name = Vector(command, command.header->argv)[0];
  if (*name == '\0') return ENOENT;
  if (HasSlash(name)) return ExecuteFile(name, command);
  const char* folder = SearchPath(command);
  if (folder == nullptr) return ENOENT;
  int result = ENOENT;
  for (;;) {
    const char* end = folder;
    while (*end != ':' && *end != '\0') ++end;
    TextBuffer<PATH_MAX> path;
    if (end == folder) path.Add(".");
    path.Add(folder, static_cast<std::size_t>(end - folder)).Add("/").Add(name);
    const int error = path.complete() ? ExecuteFile(path.get(), command) : ENAMETOOLONG;
    if (error == EACCES) {
      result = EACCES;
    } else if (error != ENOENT && error != ENOTDIR && error != ENAMETOOLONG) {
      return error;
    }
    if (*end == '\0') return result;
    folder = end + 1;
  }
}

}  // namespace cordon::launcher
