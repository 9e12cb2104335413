#include "launcher/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "launcher/fd.h"

namespace cordon::launcher {

namespace {

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)  // Linux 5.19
#endif

long Load(const Plan& plan, wire::Bytes bytes, unsigned long flags) {
  const std::uint32_t count = bytes.size / sizeof(sock_filter);
  if (count > BPF_MAXINSNS || bytes.size % sizeof(sock_filter) != 0) return -EINVAL;
  sock_fprog program = {};
  program.len = static_cast<unsigned short>(count);
  program.filter = reinterpret_cast<sock_filter*>(const_cast<char*>(plan.Data(bytes)));
  return Call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

}  // namespace

int EnterSeccomp(const Plan& plan) {
  const wire::Bytes bytes = plan.header->seccomp;
  return bytes.size == 0 ? 0 : ErrorOf(Load(plan, bytes, 0));
}

Fd EnterObservation(const Plan& plan) {
  constexpr unsigned long kListen = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  // Without it, a signal between the host's look and the call makes the call begin anew.
  constexpr unsigned long kUndisturbed = SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  Fd listener(Load(plan, plan.header->observer, kListen | kUndisturbed));
  if (listener.error() == EINVAL) listener = Fd(Load(plan, plan.header->observer, kListen));
  return listener;
}

}  // namespace cordon::launcher
