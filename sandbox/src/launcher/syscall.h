// System calls without libc. A result in [-4095, -1] is a negated errno; there is no `errno`.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_SYSCALL_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_SYSCALL_H_

#include <asm/unistd.h>
#include <linux/errno.h>

namespace cordon::launcher {

inline long RawCall(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#endif
}

inline long AsArgument(long value) { return value; }
inline long AsArgument(const volatile void* pointer) { return reinterpret_cast<long>(pointer); }
inline long AsArgument(decltype(nullptr)) { return 0; }

// Call(__NR_x, ...): up to six integers or pointers.
template <typename... Arguments>
inline long Call(long number, Arguments... arguments) {
  static_assert(sizeof...(arguments) <= 6);
  const long all[6] = {AsArgument(arguments)...};
  return RawCall(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

[[noreturn]] inline void Exit(int code) {
  for (;;) Call(__NR_exit_group, code);
}

// clone(2) with CLONE_VM: the child calls `run` on a stack of its own, which ends below
// `stack_top`, and must not return from it. `child_tid` is for the flags that want one. In
// entry.cc.
extern "C" long CloneOnStack(unsigned long flags, void* stack_top, void (*run)(void*),
                             void* argument, int* child_tid = nullptr);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_SYSCALL_H_
