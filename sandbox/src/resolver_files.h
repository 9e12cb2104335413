// The three files by which programs find out how names become addresses, for a view whose network
// has a resolver of its own. The host's would name servers that are out of reach, sockets that ask
// on somebody's behalf, and addresses for names that have another one inside.

#ifndef CORDON_SANDBOX_SRC_RESOLVER_FILES_H_
#define CORDON_SANDBOX_SRC_RESOLVER_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "plan.h"

namespace cordon::internal {

// nsswitch.conf(5): `host_text` with only the files and our resolver for host names.
[[nodiscard]] std::string NameServiceSwitch(std::string_view host_text);

// Makes `folder`, on the host's disk, with resolv.conf, hosts and nsswitch.conf.
[[nodiscard]] absl::Status WriteResolverFiles(const std::string& folder);

// Shows those of `folder` in /etc instead of the host's. `ops` are in the order of their targets
// and stay so.
void ShowResolverFiles(const std::string& folder, std::vector<ViewOp>& ops);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_RESOLVER_FILES_H_
