// Connects sockets of a command to its explicit proxy, where the command itself may connect none
// (the landlock tier): the kernel refuses every connect(2) of its own, and this program, which is
// not under its rules, makes the one connection that there is. Where to is fixed, so that nothing
// depends on what the command's memory says while it is looked at.

#ifndef CORDON_SANDBOX_SRC_LED_CONNECTION_H_
#define CORDON_SANDBOX_SRC_LED_CONNECTION_H_

#include <chrono>
#include <cstdint>

namespace cordon::internal {

// Used by one thread.
class LedConnections {
 public:
  // `port` of the host's 127.0.0.1; 0: there is none, and everything is refused.
  explicit LedConnections(std::uint16_t port) : port_(port) {}

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // Connects `socket`, a copy of a descriptor of the command. Returns what connect(2) is to return
  // there: 0 or an errno, EACCES for what is no TCP socket. A blocking socket is waited for
  // kPatience at most, and no longer once several were refused for that.
  [[nodiscard]] int Connect(int socket);

  static constexpr std::chrono::milliseconds kPatience{100};
  static constexpr int kMostWaits = 8;

 private:
  [[nodiscard]] int Await(int socket);

  const std::uint16_t port_;
  int refused_waits_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LED_CONNECTION_H_
