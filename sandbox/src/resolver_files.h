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

// Shows our resolv.conf, hosts and nsswitch.conf in /etc instead of the host's: as files of the
// view's own; where the host's folder is around them, as binds of files in `folder`, which is then
// made on the host's disk. `ops` are in the order of their targets and stay so. Returns kInternal
// when the files cannot be written.
[[nodiscard]] absl::Status ShowResolverFiles(const std::string& folder, std::vector<ViewOp>& ops);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_RESOLVER_FILES_H_
