// What a tool asks for before it does anything: the requirements of one exact operation. Pure
// values; safe from any thread.

#ifndef CORDON_SDK_REQUEST_H_
#define CORDON_SDK_REQUEST_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/capability.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_policy.h"

namespace cordon {

// One thing that the operation needs. The same fact in four spellings, one per reader;
// `ValidateRequest` checks that they agree. Make them with the functions below.
struct Requirement {
  CapabilityKind kind = CapabilityKind::kCommandExecute;
  std::string scope;     // Routing: which access of the profile decides (capability.h).
  std::string match;     // Rule matching: `CommandMatch`, `tcp:host:port`, or the path ("/" for
                         // the host; `scope` tells a tree from a single path).
  std::string display;   // For people, already escaped: `CommandDisplay`, `tcp:host:port`, `scope`.
  GrantSubject subject;  // Enforcement: class and target of the grant that would satisfy it.

  friend bool operator==(const Requirement&, const Requirement&) = default;
};

[[nodiscard]] Requirement RequireCommand(const Command& command);
// One host and one port, or any host and one port: grants exist for nothing else, and
// `ValidateRequest` refuses other patterns.
[[nodiscard]] Requirement RequireNetwork(const NetworkTarget& target);
// `kind` is kFilesystemRead or kFilesystemWrite; `path` absolute with symbolic links resolved. The
// identity of the object is taken now. The tree at "/" becomes `host:*`. Returns kInvalidScope for
// another kind or a path that is not normal, kPathEscape when it passes through a symbolic link.
[[nodiscard]] absl::StatusOr<Requirement> RequirePath(CapabilityKind kind, PathShape shape,
                                                      std::string_view path);

// Says explicitly that an operation needs no authority. An empty list of requirements is an error.
struct NoAuthority {
  explicit NoAuthority(std::string why) : reason(std::move(why)) {}
  std::string reason;  // e.g. "only formats text"
};

struct Request {
  std::string tool;          // The tool's name.
  std::string call_id;       // The model's id of this call.
  std::string execution_id;  // cordon's id, see `RandomId`.
  // The command that will run, exactly, when the tool runs one.
  std::optional<Command> command;
  // The model's own words about it. Shown marked as such, never believed.
  std::string model_description;
  // What else a person should see, in order: {"timeout", "30 s"}, {"environment", "CI=1"}, ...
  std::vector<std::pair<std::string, std::string>> details;
  std::variant<std::vector<Requirement>, NoAuthority> authority;
  // What grants must be bound to; absent when the tool redeems none.
  std::optional<GrantBinding> binding;
};

// Cross-checks a request: names and ids present; requirements not empty, without duplicates; scope,
// match, display and subject of each say the same thing; a command and its requirement come
// together and agree; `NoAuthority` comes with a reason and without command and binding; the
// binding is for this execution, command and directory. Returns kInvalidRequest, naming the
// requirement.
[[nodiscard]] absl::Status ValidateRequest(const Request& request);

// SHA-256 over everything that a person is shown and everything that is granted. An answer carries
// it, so that it cannot be taken for another request.
[[nodiscard]] Digest RequestDigest(const Request& request);

}  // namespace cordon

#endif  // CORDON_SDK_REQUEST_H_
