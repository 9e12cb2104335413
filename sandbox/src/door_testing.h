// A door to an egress proxy (EgressDoor) for tests: it tells each visitor where it was to go.

#ifndef CORDON_SANDBOX_SRC_DOOR_TESTING_H_
#define CORDON_SANDBOX_SRC_DOOR_TESTING_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/sdk/egress.h"
#include "cordon/sdk/unique_fd.h"
#include "support/catch.h"

namespace cordon::internal::testing {

// Accepts at the host's 127.0.0.1, counts, and says to each visitor what `words` gives for its
// source port; nothing for an empty one.
class TalkingListener {
 public:
  using Words = std::function<std::string(std::uint16_t)>;

  explicit TalkingListener(Words words, int backlog = 512)
      : words_(std::move(words)), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in local = {};
    local.sin_family = AF_INET;
    local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(fd_.get(), reinterpret_cast<sockaddr*>(&local), sizeof local) == 0);
    REQUIRE(listen(fd_.get(), backlog) == 0);
    socklen_t size = sizeof local;
    REQUIRE(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&local), &size) == 0);
    port_ = ntohs(local.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  }
  explicit TalkingListener(const std::string& name)
      : TalkingListener([name](std::uint16_t) { return name; }) {}
  ~TalkingListener() {
    thread_.request_stop();
    (void)shutdown(fd_.get(), SHUT_RDWR);
  }
  TalkingListener(const TalkingListener&) = delete;
  TalkingListener& operator=(const TalkingListener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int visitors() const { return visitors_; }

 private:
  void Serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      sockaddr_in peer = {};
      socklen_t size = sizeof peer;
      const UniqueFd visitor(
          accept4(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC));
      if (!visitor.valid()) continue;
      ++visitors_;
      const std::string said = words_(ntohs(peer.sin_port));
      (void)send(visitor.get(), said.data(), said.size(), MSG_NOSIGNAL);
    }
  }

  const Words words_;
  UniqueFd fd_;
  std::uint16_t port_ = 0;
  std::atomic<int> visitors_ = 0;
  std::jthread thread_;
};

// Says `ADDRESS:PORT` to those that were announced, each once, and `stranger` to others. Refuses
// the addresses in `refused`.
class TestDoor final : public EgressDoor {
 public:
  std::vector<Denial> Denials() const override {
    return {{"network", "tcp:denied.test:443", 1, "not granted", "--net denied.test:443"}};
  }
  std::vector<NetworkTarget> Used() const override { return {}; }
  std::uint16_t port() const override { return listener_.port(); }

  int Expect(std::uint16_t source_port, const std::string& address, std::uint16_t port) override {
    if (refused.contains(address)) return ENETUNREACH;
    const std::lock_guard lock(mutex_);
    expected_[source_port] = address + ":" + std::to_string(port);
    return 0;
  }
  void Forget(std::uint16_t source_port) override {
    const std::lock_guard lock(mutex_);
    expected_.erase(source_port);
  }

  [[nodiscard]] std::size_t expected() const {
    const std::lock_guard lock(mutex_);
    return expected_.size();
  }
  [[nodiscard]] int strangers() const { return strangers_; }

  std::set<std::string> refused = {"203.0.113.9", "127.0.0.1", "2001:db8::9"};

 private:
  std::string Say(std::uint16_t port) {
    const std::lock_guard lock(mutex_);
    const auto node = expected_.extract(port);
    if (!node.empty()) return "to " + node.mapped();
    ++strangers_;
    return "stranger";
  }

  mutable std::mutex mutex_;
  std::map<std::uint16_t, std::string> expected_;
  std::atomic<int> strangers_ = 0;
  TalkingListener listener_{[this](std::uint16_t port) { return Say(port); }};
};

// Serves doors alone, and remembers what for.
class DoorProxy final : public EgressProxy {
 public:
  bool HasAuthorizer() const override { return false; }
  absl::StatusOr<std::unique_ptr<EgressSession>> Serve(EgressPlan,
                                                       std::shared_ptr<SandboxNetwork>) override {
    FAIL("there is no network to serve");
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<EgressDoor>> ServeDoor(EgressPlan plan) override {
    const std::lock_guard lock(mutex_);
    plans.push_back(std::move(plan));
    auto door = std::make_unique<TestDoor>();
    ports.push_back(door->port());
    return door;
  }

  std::vector<EgressPlan> plans;
  std::vector<std::uint16_t> ports;

 private:
  std::mutex mutex_;
};

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_DOOR_TESTING_H_
