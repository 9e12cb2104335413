// The files that the redirections of a command open, as needs of its request: so that they are
// decided, shown, logged and granted like what a tool declares. Only where the text says plainly
// which file it is; nothing depends on this for safety, since a file without a grant stays closed.

#ifndef CORDON_GATE_SRC_REDIRECTIONS_H_
#define CORDON_GATE_SRC_REDIRECTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/access.h"
#include "cordon/sdk/capability.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/request.h"

namespace cordon::internal {

inline constexpr std::size_t kMaxRedirectedFiles = 256;

struct RedirectedFile {
  CapabilityKind kind = CapabilityKind::kFilesystemRead;
  std::string path;  // Absolute, with symbolic links resolved.
  PathShape shape = PathShape::kExact;
  Access access = Access::kDeny;  // The profile's.
  std::string origin;             // Where the profile says so.
};

// None twice. Not among them: what is only known when it runs, such as a name with a variable or a
// relative one after `cd`; and the places that are the command's own, such as /dev and its private
// /tmp, unless the profile names something there. What is written where reading is gated has to be
// read as well, since no grant makes writing wider than reading. For a gated file that is not there
// it is the folder that would hold it, as a tree, since a grant is for something that is there; and
// nothing where that folder is missing, is not gated as a whole, or is the root. Returns
// kInvalidRequest for more than `kMaxRedirectedFiles`.
[[nodiscard]] absl::StatusOr<std::vector<RedirectedFile>> FilesOfRedirections(
    const Command& command, const Profile& profile);

// `request`, which is valid, with these files as needs, but for those that the profile denies: the
// command may never get that far, and when it does, opening the file fails as it would for any
// other program. Stored denials hold for the rest also where the profile allows.
[[nodiscard]] absl::StatusOr<Request> WithRedirections(Request request, const Profile& profile);

// One line for each file that the profile denies: for people, escaped.
[[nodiscard]] std::vector<std::string> RedirectionsThatFail(const Request& request,
                                                            const Profile& profile);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_REDIRECTIONS_H_
