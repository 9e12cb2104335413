// What libc would do in assembler: the entry point, and clone(2) onto another stack.

extern "C" [[noreturn]] void LauncherMain(const long* stack);

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".global _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call LauncherMain\n"
    "  ud2\n"

    // (rdi: flags, rsi: stack top, rdx: function, rcx: its argument, r8: child_tid)
    ".global CloneOnStack\n"
    "CloneOnStack:\n"
    "  and $-16, %rsi\n"
    "  sub $16, %rsi\n"
    "  mov %rdx, 0(%rsi)\n"
    "  mov %rcx, 8(%rsi)\n"
    "  xor %edx, %edx\n"
    "  mov %r8, %r10\n"
    "  xor %r8d, %r8d\n"
    "  mov $56, %eax\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jnz 1f\n"
    "  xor %ebp, %ebp\n"
    "  pop %rax\n"
    "  pop %rdi\n"
    "  call *%rax\n"
    "  ud2\n"
    "1:\n"
    "  ret\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".global _start\n"
    "_start:\n"
    "  mov x29, xzr\n"
    "  mov x30, xzr\n"
    "  mov x0, sp\n"
    "  bl LauncherMain\n"
    "  brk #0\n"

    // (x0: flags, x1: stack top, x2: function, x3: its argument, x4: child_tid)
    ".global CloneOnStack\n"
    "CloneOnStack:\n"
    "  and x1, x1, #-16\n"
    "  stp x2, x3, [x1, #-16]!\n"
    "  mov x2, xzr\n"
    "  mov x3, xzr\n"
    "  mov x8, #220\n"
    "  svc #0\n"
    "  cbnz x0, 1f\n"
    "  mov x29, xzr\n"
    "  mov x30, xzr\n"
    "  ldp x2, x0, [sp], #16\n"
    "  blr x2\n"
    "  brk #0\n"
    "1:\n"
    "  ret\n");
#else
#error "the launcher knows x86_64 and aarch64"
#endif
