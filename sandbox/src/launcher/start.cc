// The entry point: there is no libc that would call main.

extern "C" [[noreturn]] void LauncherMain();

#if defined(__x86_64__)
__asm__(
    ".global _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  and $-16, %rsp\n"
    "  call LauncherMain\n"
    "  ud2\n");
#elif defined(__aarch64__)
__asm__(
    ".global _start\n"
    "_start:\n"
    "  mov x29, xzr\n"
    "  mov x30, xzr\n"
    "  bl LauncherMain\n"
    "  brk #0\n");
#else
#error "the launcher knows x86_64 and aarch64"
#endif
