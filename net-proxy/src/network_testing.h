// For tests: a throw-away network namespace in which both sides of a sandbox's network are, and
// servers and clients that talk with deadlines.

#ifndef CORDON_NET_PROXY_SRC_NETWORK_TESTING_H_
#define CORDON_NET_PROXY_SRC_NETWORK_TESTING_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cordon/sdk/egress.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal::egress {

// A process of its own holds the namespace and hands out sockets of it.
class TestNetwork final : public SandboxNetwork {
 public:
  // Null when this host makes no user namespaces.
  static std::shared_ptr<TestNetwork> Create();
  ~TestNetwork() override;

  absl::StatusOr<UniqueFd> MakeSocket(Side side, int family, int type) override;
  absl::StatusOr<UniqueFd> ListenAtEveryPort() override;  // kUnavailable
  absl::Status RouteAddress(const std::string& address) override;

 private:
  TestNetwork(UniqueFd channel, pid_t pid) : channel_(std::move(channel)), pid_(pid) {}

  std::mutex mutex_;
  UniqueFd channel_;
  pid_t pid_;
};

// A blocking stream; every wait ends after five seconds.
class TestStream {
 public:
  TestStream() = default;
  explicit TestStream(UniqueFd fd);

  // Connects a socket of `network`, or of the host when that is null. Not valid when refused.
  static TestStream Connect(SandboxNetwork* network, const std::string& address,
                            std::uint16_t port);

  [[nodiscard]] bool valid() const { return fd_.valid(); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  bool Write(std::string_view bytes) const;
  void EndWriting() const;
  // All until the other side ends; `reset` is set when it ended by one.
  [[nodiscard]] std::string ReadAll(bool* reset = nullptr) const;
  // `count` bytes, or fewer when the other side ended.
  [[nodiscard]] std::string Read(std::size_t count) const;
  void Close() { fd_.Reset(); }

 private:
  UniqueFd fd_;
};

// Listens on the host's 127.0.0.1; each connection has a thread that runs `serve`.
class TestServer {
 public:
  explicit TestServer(std::function<void(const TestStream&)> serve);
  ~TestServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  UniqueFd listener_;
  UniqueFd stop_;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::function<void(const TestStream&)> serve_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// A port of the host's 127.0.0.1 that nobody else is given while this exists. Nobody listens at it
// before one does who binds it with SO_REUSEADDR, as the proxy does.
class HeldPort {
 public:
  HeldPort();
  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  UniqueFd holder_;
  std::uint16_t number_ = 0;
};

// Answers each HTTP request with "you asked " and its head, and closes when told to.
void ServeHttp(const TestStream& stream);
// Sends back what comes until the end, and then ends.
void ServeEcho(const TestStream& stream);

// One question to the resolver of `network`: the first address, or "code N" without one.
std::string Resolve(SandboxNetwork& network, std::string_view name, std::uint16_t type = 1);
// The same of a resolver that a stream leads to.
std::string Resolve(const TestStream& stream, std::string_view name, std::uint16_t type);

// Waits up to five seconds for `condition`.
bool Eventually(const std::function<bool()>& condition);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_NETWORK_TESTING_H_
