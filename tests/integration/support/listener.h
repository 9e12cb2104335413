// A server of the host that a confined command must not, or may, reach: it greets whoever connects
// and counts.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_LISTENER_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_LISTENER_H_

#include <atomic>
#include <string>
#include <thread>

#include "cordon/sdk/unique_fd.h"

namespace cordon::test {

class Listener {
 public:
  enum class Kind { kTcp, kUdp, kUnixPath, kUnixAbstract };

  // `name`: the path or the abstract name of a unix socket.
  explicit Listener(Kind kind, const std::string& name = {});
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  [[nodiscard]] int port() const { return port_; }  // On 127.0.0.1.
  [[nodiscard]] int contacts() const { return contacts_; }

  // What a connection is answered with, after a head as HTTP has it.
  static constexpr const char* kGreeting = "greetings-from-the-host";

 private:
  void Serve();
  void Answer() const;

  Kind kind_;
  UniqueFd socket_;
  UniqueFd stop_;
  int port_ = 0;
  std::atomic<int> contacts_ = 0;
  std::thread thread_;
};

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_LISTENER_H_
