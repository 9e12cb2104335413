// Servers of many protocols on this host's loopback, for clients in a sandbox that know them by
// name.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_NET_SERVERS_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_NET_SERVERS_H_

#include <memory>
#include <string_view>

#include "integration/support/child.h"
#include "integration/support/cordon_run.h"

namespace cordon::test {

// For as long as this lives. All serve `granted.test`, and `ca.pem` in the workspace is what the
// certificate is verified with:
//   80    HTTP over the workspace's folder `site`, in which `file` has the line "text"
//   443   the same behind TLS
//   7000  says back what it gets
//   5432  PostgreSQL that answers every query with one row, "text"
//   6379  Redis that answers PING
//   22    OpenSSH where it is installed: the keys are `host_key` and `client_key`
// They are Python's, and need openssl besides.
class NetServers {
 public:
  explicit NetServers(const Ground& ground);

  // Grants them.
  [[nodiscard]] const Words& policy() const { return policy_; }

  // `act`, shell text with HOST for a name, works inside with granted.test, and fails with
  // refused.test within a second more than that took, so that no client waits for what is denied.
  void ExpectReached(const Ground& ground, std::string_view act, int line = __builtin_LINE()) const;

 private:
  std::unique_ptr<Child> program_;
  Words policy_;
};

// The same under `policy`, which grants granted.test by whatever server.
void ExpectOnlyGrantedReached(const Ground& ground, const Words& policy, std::string_view act,
                              int line = __builtin_LINE());

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_NET_SERVERS_H_
