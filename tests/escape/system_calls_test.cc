// Escapes by system calls: each is refused with the error that is meant, and works outside.

#include <string>
#include <vector>

#include "integration/support/ground.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

constexpr bool kNeedsRoot = true;

TEST_CASE("only sockets of the local, the internet and the route family can be made") {
  const Ground ground;
  ExpectHeld(ground, {},
             {
                 {{"socket_family", "unix"}, "done"},
                 {{"socket_family", "tcp"}, "done"},
                 {{"socket_family", "udp"}, "done"},
                 {{"socket_family", "tcp6"}, "done"},
                 {{"socket_family", "netlink-route"}, "done"},
                 {{"socket_family", "netlink-diag"}, "EPROTONOSUPPORT"},
                 {{"socket_family", "netlink-audit"}, "EPROTONOSUPPORT"},
                 {{"socket_family", "netlink-uevent"}, "EPROTONOSUPPORT"},
                 {{"socket_family", "netlink-generic"}, "EPROTONOSUPPORT"},
                 {{"socket_family", "raw"}, "EPERM", "done", kNeedsRoot},
                 {{"socket_family", "packet"}, "EAFNOSUPPORT", "done", kNeedsRoot},
             });
}

// Which of these exist is the kernel's configuration; what does exist has to be out of reach.
TEST_CASE("sockets of rare families and protocols cannot be made") {
  const Ground ground;
  int existing = 0;
  for (const std::string kind : {"vsock", "crypto", "bluetooth", "can", "xdp", "mptcp"}) {
    INFO(kind);
    if (ProbeDisposable(ground, {"socket_family", kind}) == "done") ++existing;
    const std::string word = ProbeInside(ground, {}, {"socket_family", kind});
    CHECK(word == (kind == "mptcp" ? "EPROTONOSUPPORT" : "EAFNOSUPPORT"));
  }
  if (existing == 0) CORDON_SKIP("sockets", "this kernel has none of these families");
}

TEST_CASE("no namespace is made or entered") {
  const Ground ground;
  std::vector<Escape> escapes = {{{"new_namespace", "clone", "none"}, "done"},
                                 // The C library then uses clone, whose flags can be seen.
                                 {{"new_namespace", "clone3", "none"}, "ENOSYS"},
                                 {{"new_namespace", "clone3", "user"}, "ENOSYS"},
                                 {{"new_namespace", "setns", "uts"}, "EPERM", "done", kNeedsRoot},
                                 {{"new_namespace", "setns", "net"}, "EPERM", "done", kNeedsRoot}};
  for (const std::string kind : {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"}) {
    const bool needs_root = kind != "user";
    escapes.push_back({{"new_namespace", "unshare", kind}, "EPERM", "done", needs_root});
    escapes.push_back({{"new_namespace", "clone", kind}, "EPERM", "done", needs_root});
  }
  escapes.push_back({{"new_namespace", "unshare", "time"}, "EPERM", "done", kNeedsRoot});
  ExpectHeld(ground, {}, escapes);
}

TEST_CASE("nothing is mounted, unmounted or made the root") {
  Ground ground;
  // Outside, these reach the kernel's own check of a folder that is no mount.
  ExpectHeld(ground, {},
             {
                 {{"mount_call", "umount"}, "EPERM", "EINVAL", kNeedsRoot},
                 {{"mount_call", "remount"}, "EPERM", "EINVAL", kNeedsRoot},
                 {{"mount_call", "move_mount"}, "EPERM", "EINVAL", kNeedsRoot},
                 {{"mount_call", "mount_setattr"}, "EPERM", "done", kNeedsRoot},
                 {{"mount_call", "pivot_root"}, "EPERM", "EBUSY", kNeedsRoot},
                 {{"mount_call", "open_tree"}, "EPERM", "done", kNeedsRoot},
                 {{"mount_call", "fsopen"}, "EPERM", "done", kNeedsRoot},
                 {{"mount_call", "chroot"}, "EPERM", "done", kNeedsRoot},
             });
  ground.SetVariable("CORDON_PROBE_DISPOSABLE", "1");
  for (const std::string kind : {"tmpfs", "bind"}) {
    INFO(kind);
    const Ended control = ground.RunUnconfined(
        "unshare -Urm --propagation private ./probe-mount_call " + kind + " || echo no-userns");
    if (!Has(control.out, "no-userns")) CHECK(control.out == "done\n");
    CHECK(ProbeInside(ground, {"--env", "CORDON_PROBE_DISPOSABLE"}, {"mount_call", kind}) ==
          "EPERM");
  }
}

TEST_CASE("interfaces of the kernel that a command does not need are closed") {
  const Ground ground;
  ExpectHeld(ground, {},
             {
                 {{"kernel_call", "io_uring_enter"}, "EPERM", "EBADF"},
                 {{"kernel_call", "bpf"}, "EPERM", "done", kNeedsRoot},
                 {{"kernel_call", "userfaultfd"}, "EPERM"},
                 {{"kernel_call", "fanotify_init"}, "EPERM", "done", kNeedsRoot},
                 {{"kernel_call", "open_by_handle_at"}, "EPERM", "done", kNeedsRoot},
                 {{"kernel_call", "syslog"}, "EPERM", "done", kNeedsRoot},
                 {{"kernel_call", "settimeofday"}, "EPERM", "EINVAL", kNeedsRoot},
                 {{"kernel_call", "sethostname"}, "EPERM", "EINVAL", kNeedsRoot},
                 {{"kernel_call", "setuid"}, "EINVAL", "done", kNeedsRoot},
                 {{"kernel_call", "nice"}, "EACCES", "done", kNeedsRoot},
                 {{"kernel_call", "no-such-call"}, "ENOSYS", "ENOSYS"},
             });
  // Some hosts switch these off for everybody; inside they are closed in any case.
  for (const std::string call :
       {"io_uring_setup", "keyctl", "add_key", "request_key", "perf_event_open"}) {
    INFO(call);
    CHECK(ProbeInside(ground, {}, {"kernel_call", call}) == "EPERM");
  }
}

TEST_CASE("no device can be made") {
  const Ground ground;
  ExpectHeld(ground, {}, {{{"kernel_call", "mknod"}, "EPERM", "done", kNeedsRoot}});
}

TEST_CASE("another process is neither traced nor read nor robbed of a descriptor") {
  const Ground ground;
  ExpectHeld(ground, {},
             {
                 {{"other_process", "seize", "sibling"}, "EPERM"},
                 {{"other_process", "attach", "sibling"}, "EPERM"},
                 {{"other_process", "read", "sibling"}, "EPERM"},
                 {{"other_process", "write", "sibling"}, "EPERM"},
                 {{"other_process", "getfd", "sibling"}, "EPERM"},
                 {{"other_process", "kcmp", "sibling"}, "EPERM"},
                 {{"other_process", "kill", "sibling"}, "done"},
                 {{"other_process", "limits", "sibling"}, "done"},
             });
  for (const std::string act : {"seize", "attach", "read", "getfd", "mem", "environ", "root"}) {
    INFO(act);
    const std::string word = ProbeInside(ground, {}, {"other_process", act, "first"});
    CHECK((word == "EPERM" || word == "EACCES"));
  }
}

TEST_CASE("no character is pushed into the input of a terminal") {
  const Ground ground;
  if (ProbeDisposable(ground, {"terminal_input", "plain"}) != "done") {
    CORDON_SKIP("tiocsti", "this host refuses TIOCSTI to everybody");
  }
  ExpectHeld(ground, {},
             {
                 {{"terminal_input", "plain"}, "EPERM"},
                 {{"terminal_input", "high-bit"}, "EPERM"},
                 {{"terminal_input", "all-high-bits"}, "EPERM"},
                 {{"terminal_input", "console"}, "EPERM", "ENOTTY"},
             });
}

TEST_CASE("the calling conventions of other processors end the program") {
  const Ground ground;
  if (ProbeDisposable(ground, {"foreign_abi", "native"}) != "done") {
    CORDON_SKIP("x86_64", "only that processor has several of them");
  }
  CHECK(ProbeInside(ground, {}, {"foreign_abi", "native"}) == "done");
  CHECK(ProbeInside(ground, {}, {"foreign_abi", "i386"}) == "SIGSYS");
  CHECK(ProbeInside(ground, {}, {"foreign_abi", "x32"}) == "SIGSYS");
  // The control: at least one of them exists outside.
  CHECK((ProbeDisposable(ground, {"foreign_abi", "i386"}) == "done" ||
         ProbeDisposable(ground, {"foreign_abi", "x32"}) == "ENOSYS"));
}

TEST_CASE("no capability comes back") {
  const Ground ground;
  ExpectHeld(ground, {},
             {
                 {{"raise_capability", "capset"}, "EPERM", "done", kNeedsRoot},
                 {{"raise_capability", "ambient"}, "EPERM", "EPERM"},
                 {{"raise_capability", "new-privileges"}, "EINVAL", "EINVAL"},
             });
  Expect(RunText(ground, {}, "cat /proc/self/status"))
      .Out("CapInh:\t0000000000000000\n")
      .Out("CapPrm:\t0000000000000000\n")
      .Out("CapEff:\t0000000000000000\n")
      .Out("CapBnd:\t0000000000000000\n")
      .Out("CapAmb:\t0000000000000000\n")
      .Out("NoNewPrivs:\t1\n")
      .Out("Seccomp:\t2\n");
}

TEST_CASE("a program of another owner with the set-user-id bit runs as the caller") {
  if (!RunningAsRoot()) CORDON_SKIP("root", "only root can give a program to somebody else");
  const Ground ground;
  (void)ProbeOutside(ground, {"effective_user"});
  ground.RunUnconfined(
      "cp probe-effective_user theirs && chown 65534 theirs && chmod 4755 theirs && chmod 755 . "
      "..");
  CHECK(ground.RunUnconfined("./theirs").out == "65534\n");
  Expect(RunText(ground, {}, "./theirs")).Status(0).OutIs("0\n");
}

TEST_CASE("what programs do all day works") {
  const Ground ground;
  for (const std::string work :
       {"thread", "fork", "session", "named-semaphore", "shared-memory", "system-v",
        "executable-memory", "pass-descriptor", "terminal", "epoll", "eventfd", "timerfd",
        "signalfd", "inotify", "random", "affinity", "name", "own-memory", "pidfd"}) {
    INFO(work);
    const std::string outside = ProbeDisposable(ground, {"ordinary_work", work});
    const std::string inside = ProbeInside(ground, {}, {"ordinary_work", work});
    CHECK(inside == outside);
    CHECK(Has(inside, "done"));
  }
  CHECK(ProbeInside(ground, {}, {"run_from_memory"}) == "done");
}

}  // namespace
}  // namespace cordon::test
