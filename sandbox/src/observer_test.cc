// Commands that make looking at their calls hard, and those that cannot be looked at.

#include "observer.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "descriptor_testing.h"
#include "observation_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::FindDenial;
using testing::ObservationEntry;
using testing::ObservedGround;
using testing::Shown;

// A process whose getppid(2) is handed over. It calls when it is told to and says that it got an
// answer.
class Asking {
 public:
  Asking() {
    REQUIRE(pipe2(orders_.data(), O_CLOEXEC) == 0);
    REQUIRE(pipe2(words_.data(), O_CLOEXEC) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) Run();
    int number = -1;
    REQUIRE(read(words_[0], &number, sizeof number) == sizeof number);
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    listener_.Reset(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    REQUIRE(listener_.valid());
    Order();  // It has no more use for its own copy.
    REQUIRE(HasAnswer());
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() {
    Kill();
    for (const int fd : {orders_[0], orders_[1], words_[0], words_[1]}) close(fd);
  }

  [[nodiscard]] UniqueFd TakeListener() { return std::move(listener_); }
  void Order() const { CHECK(write(orders_[1], "x", 1) == 1); }
  [[nodiscard]] bool HasAnswer() const {
    pollfd entry = {words_[0], POLLIN, 0};
    char word = 0;
    return poll(&entry, 1, 10'000) == 1 && read(words_[0], &word, 1) == 1;
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  [[noreturn]] void Run() const {
    constexpr auto kNumber = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
    std::array<sock_filter, 4> filter = {{{BPF_LD | BPF_W | BPF_ABS, 0, 0, kNumber},
                                          {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid},
                                          {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
                                          {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
    const sock_fprog program = {filter.size(), filter.data()};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int listener = static_cast<int>(
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
    if (listener < 0 || write(words_[1], &listener, sizeof listener) < 0) _exit(1);
    char order = 0;
    if (read(orders_[0], &order, 1) != 1 || close(listener) != 0) _exit(1);
    while (write(words_[1], &order, 1) == 1 && read(orders_[0], &order, 1) == 1) {
      (void)syscall(SYS_getppid);
    }
    _exit(0);
  }

  std::array<int, 2> orders_{};
  std::array<int, 2> words_{};
  pid_t pid_ = -1;
  UniqueFd listener_;
};

// Answers when it is let to.
class Waiting final : public CallHandler {
 public:
  CallAnswer OnCall(const seccomp_notif& /*call*/, int /*listener*/) override {
    asked_.set_value();
    answer_.get_future().wait();
    return {};
  }
  [[nodiscard]] bool WasAsked() {
    return asked_.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  }
  void Answer() { answer_.set_value(); }

 private:
  std::promise<void> asked_;
  std::promise<void> answer_;
};

class Plain final : public CallHandler {
 public:
  CallAnswer OnCall(const seccomp_notif& /*call*/, int /*listener*/) override { return {}; }
};

// Whether anything is to be had of `listener` within ten seconds, be it that it is hung up.
bool IsReady(int listener) {
  pollfd entry = {listener, POLLIN, 0};
  return poll(&entry, 1, 10'000) == 1;
}

TEST_CASE("an end that was noticed before is not taken for that of a listener with its number") {
  const auto observer = std::make_shared<Observer>();
  const auto watch = [&](UniqueFd listener, std::shared_ptr<CallHandler> handler) {
    auto made = observer->Watch(std::move(listener), std::move(handler));
    REQUIRE(made.ok());
    return *std::move(made);
  };
  Asking first;
  Asking second;
  Asking ending;
  Asking next;
  const auto first_waits = std::make_shared<Waiting>();
  const auto second_waits = std::make_shared<Waiting>();
  const auto first_watch = watch(first.TakeListener(), first_waits);
  UniqueFd listener = second.TakeListener();
  const int second_number = listener.get();
  const auto second_watch = watch(std::move(listener), second_waits);
  listener = ending.TakeListener();
  const int number = listener.get();
  auto ending_watch = watch(std::move(listener), std::make_shared<Plain>());

  // While the thread is busy, two more things happen, which it will learn at once.
  first.Order();
  REQUIRE(first_waits->WasAsked());
  second.Order();
  REQUIRE(IsReady(second_number));
  ending.Kill();
  REQUIRE(IsReady(number));
  first_waits->Answer();
  REQUIRE(second_waits->WasAsked());
  // Before it comes to the second of them, the number is another listener's.
  ending_watch.reset();
  const UniqueFd kept = next.TakeListener();
  const int same = fcntl(kept.get(), F_DUPFD_CLOEXEC, number);
  REQUIRE(same == number);
  const auto next_watch = watch(UniqueFd(same), std::make_shared<Plain>());
  second_waits->Answer();
  CHECK(first.HasAnswer());
  CHECK(second.HasAnswer());
  next.Order();
  CHECK(next.HasAnswer());
}

TEST_CASE("odd arguments harm nobody and get the kernel's own answer") {
  NEED_PYTHON();
  ObservedGround ground;
  const RunResult result = ground.Python(
      "import ctypes, errno, mmap, os\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "def call(f, *a):\n"
      "  r = f(*a); return ctypes.get_errno() if r < 0 else 0\n"
      "assert call(libc.open, ctypes.c_void_p(0), 0) == errno.EFAULT\n"
      "assert call(libc.open, ctypes.c_void_p(2**64 - 4096), 0) == errno.EFAULT\n"
      "assert call(libc.open, b'/' + b'x' * 9000, 0) == errno.ENAMETOOLONG\n"
      "assert call(libc.open, b'/x' * 2000, 0) == errno.ENOENT\n"
      "assert call(libc.open, b'a/../' * 800 + b'b', 0) == errno.ENOENT\n"
      "assert call(libc.open, b'', 0) == errno.ENOENT\n"
      "assert call(libc.openat, 9999, b'x', 0) == errno.EBADF\n"
      "assert call(libc.connect, 0, ctypes.c_void_p(0), 16) != 0\n"
      "assert call(libc.connect, 9999, b'\\2' * 200, 1 << 30) != 0\n"
      "m = mmap.mmap(-1, 2 * mmap.PAGESIZE)\n"
      "m.write(b'x' * 2 * mmap.PAGESIZE)\n"
      "at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
      "libc.munmap(ctypes.c_void_p(at + mmap.PAGESIZE), mmap.PAGESIZE)\n"
      "end = at + mmap.PAGESIZE\n"
      "assert call(libc.open, ctypes.c_void_p(end - 8), 0) == errno.EFAULT\n"
      "ctypes.memmove(end - 2, b'/', 2)\n"
      "assert call(libc.open, ctypes.c_void_p(end - 2), 0) == 0\n"
      "os.symlink('loop2', 'loop1'); os.symlink('loop1', 'loop2')\n"
      "assert call(libc.open, b'loop1', 0) == errno.ELOOP\n"
      "os._exit(0)\n");
  INFO(Shown(result));
  CHECK(result.denials.empty());
}

TEST_CASE("callers that are killed in the middle of a call disturb nobody") {
  NEED_PYTHON();
  const DescriptorGuard guard;
  ObservedGround ground;
  const RunResult result = ground.Python(
      "import os, signal, socket\n"
      "for i in range(100):\n"
      "  pid = os.fork()\n"
      "  if pid == 0:\n"
      "    while True:\n"
      "      socket.socket().connect_ex(('198.51.100.7', 443)); open('/', opener=os.open).close() "
      "if False else os.close(os.open('/', os.O_RDONLY))\n"
      "  os.kill(pid, signal.SIGSTOP if i % 2 else signal.SIGKILL)\n"
      "  os.kill(pid, signal.SIGKILL)\n"
      "  os.waitpid(pid, 0)\n"
      "socket.socket().connect_ex(('198.51.100.7', 80))\n");
  CHECK(FindDenial(result, "network", "tcp:198.51.100.7:80") != nullptr);
  ground.DropSet();
}

TEST_CASE("a flood of calls of one command does not stop another one") {
  NEED_PYTHON();
  ObservedGround ground;
  RunOptions until_stopped;
  std::stop_source stop;
  until_stopped.stop = stop.get_token();
  const std::shared_ptr<Executor> flooding = ground.executor("flood");
  std::thread flood([&] {
    (void)flooding->RunArgv(ground.workspace(),
                            {"python3", "-c",
                             "import os, socket\n"
                             "for i in range(3): os.fork()\n"
                             "while True: socket.socket().connect_ex(('198.51.100.7', 443))\n"},
                            until_stopped);
  });
  RunOptions limited;
  limited.timeout = std::chrono::seconds(20);
  const absl::StatusOr<RunResult> other = ground.executor("other")->RunArgv(
      ground.workspace(),
      {"python3", "-c",
       "import socket\nfor i in range(100): socket.socket().connect_ex(('198.51.100.7', 80))"},
      limited);
  stop.request_stop();
  flood.join();
  REQUIRE(other.ok());
  CHECK(other->outcome.kind == Outcome::Kind::kExited);
  const Denial* const denial = FindDenial(*other, "network", "tcp:198.51.100.7:80");
  REQUIRE(denial != nullptr);
  CHECK(denial->count == 100);
}

TEST_CASE("a program whose calls are observed already runs its commands unobserved, and says so") {
  NEED_PYTHON();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const sock_fprog program = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(2);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) <
        0) {
      _exit(3);
    }
    ObservedGround ground;
    const RunResult result = ground.Shell(
        "python3 -c 'import socket; socket.socket().connect_ex((\"198.51.100.7\", 1))'");
    const ReportEntry* const entry = ObservationEntry(result);
    const bool said =
        entry != nullptr && entry->status == FeatureStatus::kUnenforced && result.denials.empty();
    ground.DropSet();
    _exit(said && result.outcome.code == 0 ? 0 : 4);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace cordon::internal
