// A server program of this host, for clients in a sandbox that know it by name.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_REAL_SERVER_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_REAL_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "integration/support/child.h"
#include "integration/support/cordon_run.h"

namespace cordon::test {

// Runs at the host's 127.0.0.1 for as long as this lives, as an ordinary user (nobody, when root
// runs the test), with its data in a folder of its own, which is removed at the end.
class RealServer {
 public:
  // `start` is shell text that becomes the server, at the port $PORT with what it keeps in $DATA.
  // It accepts when it has printed a line with `ready` on either stream.
  RealServer(const Ground& ground, std::string_view start, std::string_view ready);
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;
  ~RealServer();

  // Grants it as `granted.test:PORT`.
  [[nodiscard]] Words PolicyFor(std::uint16_t port) const;

 private:
  std::string data_;
  int port_ = 0;
  std::unique_ptr<Child> program_;
};

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_REAL_SERVER_H_
