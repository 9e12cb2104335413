#include "listener.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "endpoint.h"
#include "network_testing.h"
#include "socket_calls.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

using std::chrono::milliseconds;

// In a loop of its own; counts how often it tries, and what it got.
class CountingListener {
 public:
  CountingListener() {
    UniqueFd fd = MakeHostSocket(AF_INET, SOCK_STREAM).value();
    const Endpoint any_port{IpAddress::V4(0x7f000001), 0};
    REQUIRE(BindAndListen(fd.get(), any_port, SOCK_STREAM, "the test").ok());
    local_ = LocalEndpoint(fd.get());
    loop_->RunAndWait([this, &fd] {
      listener_ = std::make_unique<Listener>(
          *loop_, std::move(fd), [this] { return ++attempts, true; },
          [this](const UniqueFd& /*client*/) { ++accepted; });
      started_ = listener_->Start();
    });
    REQUIRE(started_);
  }
  ~CountingListener() {
    loop_->RunAndWait([this] { listener_.reset(); });
  }
  [[nodiscard]] const Endpoint& local() const { return local_; }
  void ForgetCounts() {
    loop_->RunAndWait([this] { attempts = accepted = 0; });
  }
  // Sets `is_over` after `wait` of the loop's own time.
  void EndAfter(milliseconds wait) {
    loop_->RunAndWait([this, wait] {
      (void)loop_->After(wait, [this] {
        is_over = true;
        is_over.notify_all();
      });
    });
  }

  std::atomic<bool> is_over = false;
  std::atomic<int> attempts = 0;
  std::atomic<int> accepted = 0;

 private:
  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create().value();
  Endpoint local_;
  std::unique_ptr<Listener> listener_;
  bool started_ = false;
};

TEST_CASE("a listener without descriptors tries a few times a second and not all the time") {
  CountingListener listener;
  const SocketAddress peer = ToSocketAddress(listener.local());
  // A sanitizer looks at each type of object once, and needs descriptors for that.
  const UniqueFd early(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(connect(early.get(), peer.get(), peer.size) == 0);
  REQUIRE(Eventually([&listener] { return listener.accepted == 1; }));
  listener.ForgetCounts();
  const UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit saved{};
  getrlimit(RLIMIT_NOFILE, &saved);
  const rlimit none{3, saved.rlim_max};
  const SteadyTime start = SteadyClock::now();
  listener.EndAfter(milliseconds(350));
  // Nothing is checked meanwhile, for the same reason.
  const bool is_limited = setrlimit(RLIMIT_NOFILE, &none) == 0;
  const bool connected = connect(client.get(), peer.get(), peer.size) == 0;
  listener.is_over.wait(false);
  const int attempts = listener.attempts;
  const int accepted = listener.accepted;
  const auto passed = SteadyClock::now() - start;
  setrlimit(RLIMIT_NOFILE, &saved);
  CHECK(is_limited);
  CHECK(connected);
  CHECK(attempts > 0);
  CHECK(attempts <= 1 + passed / milliseconds(100));
  CHECK(accepted == 0);
  CHECK(Eventually([&listener] { return listener.accepted == 1; }));
}

}  // namespace
}  // namespace cordon::internal::egress
