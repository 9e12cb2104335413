// What figures and the soak of the egress proxy share: a server, relays in processes of their own,
// and connections through them. Everything is on the loopback; what cannot be set up ends the
// program.

#ifndef CORDON_TESTS_BENCH_EGRESS_TRAFFIC_H_
#define CORDON_TESTS_BENCH_EGRESS_TRAFFIC_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/unique_fd.h"

namespace cordon::bench {

using Clock = std::chrono::steady_clock;

[[nodiscard]] double Since(Clock::time_point start);  // Seconds.

// A child that runs `body`. It ends with its parent.
[[nodiscard]] pid_t Child(const std::function<void()>& body);
void EndChild(pid_t pid);

// Listens at a free port of 127.0.0.1.
[[nodiscard]] UniqueFd Listen(std::uint16_t* port);
[[nodiscard]] std::uint16_t FreePort();

// False when the other side ended first. Waits end after ten seconds.
bool SendAll(int fd, const char* data, std::size_t size);
bool ReceiveAll(int fd, char* data, std::size_t size);

// A child in which `serve` has a thread for each connection to `*port`.
[[nodiscard]] pid_t StartServer(std::uint16_t* port, const std::function<void(int fd)>& serve);

struct Relay {
  std::string name;
  std::uint16_t port = 0;  // 0: none, connections are direct.
  pid_t pid = 0;
};

// Our explicit front, granted the server at port `server` alone.
[[nodiscard]] Relay StartOurs(std::uint16_t server);
// Another proxy, with `configuration` in `folder`; nothing, with a word, when it is not installed
// or does not start.
[[nodiscard]] std::optional<Relay> StartPeer(const std::string& name, const std::string& folder,
                                             std::string_view configuration,
                                             const std::vector<std::string>& arguments,
                                             std::uint16_t port);

// Waits for bytes end after ten seconds, and none is made to wait for more of them.
void SetDeadlines(int fd);
// Not valid when it failed.
[[nodiscard]] UniqueFd ConnectTo(std::uint16_t port);
// A connection to the server, through a tunnel of `relay` (CONNECT, or SOCKS 5) when it has a port.
[[nodiscard]] UniqueFd Connect(const Relay& relay, std::uint16_t server);
[[nodiscard]] UniqueFd ConnectSocks(const Relay& relay, std::uint16_t server);
// The next close sends a reset, so that no port stays in TIME_WAIT.
void ResetOnClose(int fd);

[[nodiscard]] std::size_t ResidentKiB(pid_t pid);
[[nodiscard]] std::size_t Descriptors(pid_t pid);
[[nodiscard]] double CpuSeconds(pid_t pid);

}  // namespace cordon::bench

#endif  // CORDON_TESTS_BENCH_EGRESS_TRAFFIC_H_
