// For tests of the landlock tier's network: commands whose connections are led to a TestDoor.

#ifndef CORDON_SANDBOX_SRC_LED_TESTING_H_
#define CORDON_SANDBOX_SRC_LED_TESTING_H_

#include <unistd.h>

#include <memory>
#include <string>

#include "door_testing.h"
#include "executor_testing.h"
#include "landlock_abi.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {

class LedFixture : public SandboxFixture {
 public:
  LedFixture() {
    options.backend = Backend::kLandlock;
    options.egress = proxy;
    config.network_targets = {"granted.test:443"};
  }
  std::string Python(const std::string& text) {
    return Shell("cat >probe.py <<'END'\n" + text + "END\npython3 probe.py").standard_output.head;
  }

  const std::shared_ptr<DoorProxy> proxy = std::make_shared<DoorProxy>();
};

#define NEEDS_LEADING_LANDLOCK()                                                      \
  if (LandlockScopesOf(QueryLandlockAbi()) == 0) {                                    \
    CORDON_SKIP("landlock", "this kernel has no Landlock with network and scopes");   \
  }                                                                                   \
  if (access("/usr/bin/python3", X_OK) != 0) CORDON_SKIP("python3", "not installed"); \
  static_assert(true)

// `Try` prints what comes of a call, or the name of the error.
inline constexpr char kStart[] = R"(import errno, os, socket, sys, threading
def Try(name, call):
    try:
        got = call()
        print(name, got if isinstance(got, str) else 'ok')
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e))
def Said(s):
    s.settimeout(10)
    return s.recv(100).decode()
granted = ('198.18.0.1', 443)  # Led there by the door; 203.0.113.9 and 127.0.0.1 are not.
def Connect(to, family=socket.AF_INET):
    s = socket.socket(family)
    s.connect(to)
    return Said(s)
)";

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_LED_TESTING_H_
