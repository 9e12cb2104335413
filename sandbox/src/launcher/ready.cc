#include "launcher/ready.h"

#include <linux/fcntl.h>
#include <linux/poll.h>
#include <linux/time_types.h>

#include "launcher/mapping.h"
#include "launcher/message.h"
#include "launcher/process_state.h"
#include "launcher_protocol.h"

namespace cordon::launcher {
namespace {

using internal::SpawnCommand;
using internal::SpawnEvent;

// Above what will be received, and what the command's own descriptors will be.
constexpr int kChannel = 16;
constexpr int kLauncher = 17;
constexpr int kCpuTime = 18;
constexpr int kAbove = 32;

struct Message {
  SpawnCommand head;
  char block[internal::kMaxInlineBytes];
};

// What is not used of it costs no memory.
alignas(8) Message message;

int ReportReady() {
  const Fd self(Call(__NR_pidfd_open, 1, 0));  // The first process.
  SpawnEvent event;
  event.kind = SpawnEvent::Kind::kReady;
  return self.ok() ? Send(kChannel, &event, sizeof(event), self.get()) : self.error();
}

// False when none can come any more, or none came in time.
bool WaitForMessage() {
  pollfd entries[] = {{kChannel, POLLIN, 0}, {kLauncher, POLLIN, 0}};
  constexpr __kernel_timespec kPatience = {internal::kReadySandboxSeconds, 0};
  __kernel_timespec left = kPatience;  // ppoll(2) counts it down.
  long ready;
  do {
    ready = Call(__NR_ppoll, entries, 2, &left, nullptr, 0);
  } while (ready == -EINTR);
  return ready > 0 && entries[1].revents == 0;
}

// The command's block, or nothing.
Mapping BlockOf(const Received& received) {
  if (received.size < static_cast<long>(sizeof(SpawnCommand))) return {};
  const auto follows = static_cast<std::uint64_t>(received.size) - sizeof(SpawnCommand);
  const bool is_inline = message.head.inline_bytes != 0;
  if (received.descriptor_count != (is_inline ? 3 : 4)) return {};
  if (!is_inline) return Map(received.descriptors[3].get(), PROT_READ | PROT_WRITE);
  if (message.head.inline_bytes != follows) return {};
  return {message.block, follows};
}

}  // namespace

void HoldOnlyWhatWaitingNeeds(Spawn* spawn) {
  const long channel = Call(__NR_fcntl, spawn->channel, F_DUPFD, kAbove);
  const long launcher = Call(__NR_fcntl, spawn->launcher, F_DUPFD, kAbove);
  const bool held = channel >= 0 && launcher >= 0 &&
                    MakeDescriptor(static_cast<int>(channel), kChannel) == 0 &&
                    MakeDescriptor(static_cast<int>(launcher), kLauncher) == 0;
  if (!held) Exit(1);
  if (spawn->cpu_time >= 0) {
    const long cpu_time = Call(__NR_fcntl, spawn->cpu_time, F_DUPFD, kAbove);
    if (cpu_time < 0 || MakeDescriptor(static_cast<int>(cpu_time), kCpuTime) != 0) Exit(1);
    spawn->cpu_time = kCpuTime;
  }
  Call(__NR_close_range, 3, kChannel - 1, 0);
  CloseFrom((spawn->cpu_time >= 0 ? kCpuTime : kLauncher) + 1);
  spawn->channel = kChannel;
  spawn->launcher = kLauncher;
}

Outcome AwaitCommand(Spawn* spawn) {
  if (const int error = ReportReady()) return At(Step::kInit, error);
  if (!WaitForMessage()) return At(Step::kInit, ECANCELED);
  Received received = Receive(kChannel, &message, sizeof(message));
  if (received.size <= 0) return At(Step::kInit, ECANCELED);
  const Mapping block = BlockOf(received);
  if (block.start == nullptr || !IsCommand(block.start, block.size)) {
    return At(Step::kPlan, EINVAL);
  }
  spawn->command = Command(block.start);
  // It was made without them.
  if (spawn->command.header->extra_view.count != 0) return At(Step::kView, EINVAL);
  if (spawn->command.header->extra_landlock_rules.count != 0) return At(Step::kLandlock, EINVAL);
  if (spawn->command.header->terminal_rows != 0) return At(Step::kInit, EINVAL);
  MakeVectors(block.start);
  for (int i = 0; i < 3; ++i) spawn->standard[i] = received.descriptors[i].Release();
  return {};
}

}  // namespace cordon::launcher
