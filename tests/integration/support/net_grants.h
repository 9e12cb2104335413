// Targets of the network that a server of this test answers for.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_NET_GRANTS_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_NET_GRANTS_H_

#include <unistd.h>

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/listener.h"
#include "support/catch.h"

#define NEEDS_CURL() \
  if (access("/usr/bin/curl", X_OK) != 0) CORDON_SKIP("curl", "it is not installed")

namespace cordon::test {

inline std::string At(const Listener& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

// A grant for `target`, which `server` answers for.
inline Words Granting(const std::string& target, const Listener& server) {
  return {"--net", target, "--resolve", target + "=" + At(server)};
}

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_NET_GRANTS_H_
