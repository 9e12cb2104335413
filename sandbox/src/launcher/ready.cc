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
constexpr int kFirstKept = 16;
constexpr int kAbove = 32;

struct Message {
  SpawnCommand head;
  char block[internal::kMaxInlineBytes];
};

// What is not used of it costs no memory.
alignas(8) Message message;

// False when none can come any more, or none came in time.
bool WaitForMessage(const Spawn& spawn) {
  pollfd entries[] = {{spawn.channel, POLLIN, 0}, {spawn.launcher, POLLIN, 0}};
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
  spawn->first_process = static_cast<int>(Call(__NR_pidfd_open, Call(__NR_getpid), 0));
  if (spawn->first_process < 0) Exit(1);
  int* const kept[] = {&spawn->channel, &spawn->launcher, &spawn->first_process, &spawn->ruleset,
                       &spawn->cpu_time};
  // The numbers may be taken by what is moved to them, so by way of high ones.
  for (int* descriptor : kept) {
    if (*descriptor < 0) continue;
    *descriptor = static_cast<int>(Call(__NR_fcntl, *descriptor, F_DUPFD, kAbove));
    if (*descriptor < 0) Exit(1);
  }
  Call(__NR_close_range, 3, kAbove - 1, 0);
  int next = kFirstKept;
  for (int* descriptor : kept) {
    if (*descriptor < 0) continue;
    if (MakeDescriptor(*descriptor, next) != 0) Exit(1);
    *descriptor = next++;
  }
  CloseFrom(kAbove);
}

int ReportReady(Spawn* spawn) {
  SpawnEvent event;
  event.kind = SpawnEvent::Kind::kReady;
  const int error = Send(spawn->channel, &event, sizeof(event), spawn->first_process);
  int* const used[] = {&spawn->first_process, &spawn->ruleset};
  for (int* descriptor : used) {
    if (*descriptor >= 0) Call(__NR_close, *descriptor);
    *descriptor = -1;
  }
  return error;
}

Outcome AwaitCommand(Spawn* spawn) {
  if (!WaitForMessage(*spawn)) return At(Step::kInit, ECANCELED);
  Received received = Receive(spawn->channel, &message, sizeof(message));
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
