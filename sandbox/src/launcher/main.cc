extern "C" [[noreturn]] void LauncherMain() { __builtin_trap(); }
