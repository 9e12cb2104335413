#include "launcher/terminal.h"

#include <asm/ioctls.h>
#include <linux/fcntl.h>

#include "launcher/message.h"
#include "spawn_event.h"

namespace cordon::launcher {
namespace {

// struct winsize of ioctl_tty(2).
struct WindowSize {
  std::uint16_t rows;
  std::uint16_t columns;
  std::uint16_t unused[2];
};

int Prepare(int terminal, const wire::CommandHeader& command) {
  const int unlocked = 0;
  if (const int error = ErrorOf(Call(__NR_ioctl, terminal, TIOCSPTLCK, &unlocked))) return error;
  const WindowSize size = {command.terminal_rows, command.terminal_columns, {}};
  return ErrorOf(Call(__NR_ioctl, terminal, TIOCSWINSZ, &size));
}

}  // namespace

Outcome MakeTerminal(const Spawn& spawn, Fd* end) {
  const Fd terminal(Call(__NR_openat, AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.ok()) return At(Step::kTerminal, terminal.error(), "/dev/ptmx");
  if (const int error = Prepare(terminal.get(), *spawn.command.header)) {
    return At(Step::kTerminal, error);
  }
  *end = Fd(Call(__NR_ioctl, terminal.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!end->ok()) return At(Step::kTerminal, end->error());
  internal::SpawnEvent event;
  event.kind = internal::SpawnEvent::Kind::kTerminal;
  return At(Step::kTerminal, Send(spawn.channel, &event, sizeof(event), terminal.get()));
}

}  // namespace cordon::launcher
