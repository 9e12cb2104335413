// What a command may do, described once. `ProfileConfig` is the editable description; `Profile` is
// the immutable, canonical result of checking it. Both are values; a `Profile` is cheap to copy and
// safe to share between threads.

#ifndef CORDON_SDK_PROFILE_H_
#define CORDON_SDK_PROFILE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/access.h"
#include "cordon/sdk/capability.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/unsafe.h"

namespace cordon {

// The way out to network targets.
enum class NetworkRoute : std::uint8_t {
  kDirect = 0,
  kEnvironment,  // The proxy that HTTPS_PROXY names, but for the hosts of NO_PROXY; never passed
                 // by.
};

enum class HomeMode : std::uint8_t {
  kIsolated = 0,  // HOME is an empty folder of the executor; the user's home is hidden.
  kReal = 1,      // HOME is the user's home: readable but for well-known secrets, writable only
                  // where another rule says so.
};

enum class Isolation : std::uint8_t {
  kSandboxed = 0,
  kUnconfined = 1,  // Needs `ack_unconfined`, and Allow for every file and network field.
};

// Whether commands run without an audit log, and what of it survives the machine.
enum class AuditMode : std::uint8_t {
  kOptional = 0,  // Only where the application, or the command line, keeps one.
  kRequired = 1,  // Nothing is started without one, or when a record of it could not be written.
  kDurable = 2,   // The same, and each record is on the disk before what it tells of goes on.
};

// A tree with its own access; nests in any order, the most specific one wins.
// Execution follows reading, here and in every field; writing is never wider than reading.
struct AdditionalRoot {
  std::string path;  // Absolute. It need not exist; then it stays absent.
  Access read = Access::kDeny;
  Access write = Access::kDeny;

  friend bool operator==(const AdditionalRoot&, const AdditionalRoot&) = default;
};

// Limits for the whole tree of a command. Absent means none.
struct Limits {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> processes;
  std::optional<std::chrono::milliseconds> cpu_time;
  std::optional<std::uint64_t> file_size_bytes;

  friend bool operator==(const Limits&, const Limits&) = default;
};

// The default of every field is the safe choice. Field names in JSON are the same.
struct ProfileConfig {
  std::string workspace_root;  // Mandatory, must exist. Symbolic links are resolved.
  Access workspace_read = Access::kDeny;
  Access workspace_write = Access::kDeny;
  Access host_read = Access::kDeny;   // Everything else on the host. The system's programs and
  Access host_write = Access::kDeny;  // libraries (`SystemPaths`) can be read in any case.
  Access network = Access::kDeny;
  Access command = Access::kDeny;
  HomeMode home = HomeMode::kIsolated;
  Isolation isolation = Isolation::kSandboxed;
  UnconfinedAcknowledgement ack_unconfined;
  // Each opens what it acknowledges. Only the namespaces tier can do that: the other refuses.
  TracingAcknowledgement ack_tracing;                     // For debuggers.
  NestedNamespacesAcknowledgement ack_nested_namespaces;  // For browsers.
  std::vector<AdditionalRoot> additional_roots;

  // Absolute paths, or relative ones below the workspace. A pattern with `*`, `?` or `[` is a glob
  // and overrides every allow; a literal path follows "the most specific rule wins", and narrows a
  // root of the same path. Denying reading denies writing and executing, too.
  std::vector<std::string> deny_read;
  std::vector<std::string> deny_write;

  // Keeps what would later run with the user's authority (git hooks and configuration, editor and
  // agent settings, start-up files; `ProtectedPatterns`) read-only inside writable roots. A root
  // that names such a path, or one below it, lifts the protection there.
  bool protect_paths = true;

  // Variables that reach the command besides the baseline (`BaselineEnvironment`): `NAME` passes
  // the caller's value, `NAME=VALUE` sets one.
  std::vector<std::string> environment;

  std::vector<std::string> network_targets;  // `host:port`; see network_target.h.
  NetworkRoute network_route = NetworkRoute::kDirect;
  std::vector<std::uint16_t> loopback_ports;  // The host's 127.0.0.1:PORT, reachable inside.
  std::vector<std::uint16_t> publish_ports;   // Inner listeners, reachable from the host.
  std::vector<std::string> unix_sockets;      // Host sockets, by absolute path.
  Limits limits;

  AuditMode audit = AuditMode::kOptional;

  // Guarantees that must hold beyond those that follow from the other fields.
  Guarantees required_guarantees;

  // The user's home. Empty: $HOME, else the entry in passwd. It is what `home` hides or shows; the
  // home `/` of some system users is not taken for one.
  std::string home_root;

  friend bool operator==(const ProfileConfig&, const ProfileConfig&) = default;
};

class Profile {
 public:
  // Denies everything; its fingerprint is all zero and every query but these is an error.
  Profile() = default;

  // Checks and canonicalises `config`: symbolic links of the workspace and of the roots resolved,
  // lists sorted, literal denies folded into `additional_roots`. Later changes of `config` change
  // nothing. Returns kInvalidProfile, naming the field, for: an empty, relative or missing
  // workspace; a workspace that is the home which `home` hides; relative or contradictory roots;
  // unconfined without acknowledgement or with a file or network field below Allow; malformed
  // globs, variables, targets, ports, limits or sockets; values that no enumerator has.
  [[nodiscard]] static absl::StatusOr<Profile> Create(const ProfileConfig& config);

  [[nodiscard]] bool valid() const { return rep_ != nullptr; }

  // The access that this profile gives `kind` at `scope` (forms in capability.h). Returns
  // kInvalidScope for a malformed scope or one that does not belong to the kind, and
  // kInvalidProfile for a default-constructed profile. A tree scope answers for the whole tree.
  [[nodiscard]] absl::StatusOr<Access> AccessFor(CapabilityKind kind, std::string_view scope) const;

  // The same with the rule that decided, for a path. Any spelling of an absolute path.
  [[nodiscard]] PathDecision Explain(Axis axis, std::string_view path) const;

  // The same for a network target `host:port`: the `network` field, and Allow for what
  // `network_targets` covers. Returns kInvalidTarget for malformed text.
  [[nodiscard]] absl::StatusOr<PathDecision> ExplainNetwork(std::string_view target) const;

  // SHA-256 over all authority in a canonical order and nothing secret: values of variables do not
  // enter, their names do.
  [[nodiscard]] Digest Fingerprint() const;

  // The canonical description: `Create(p.Settings())` gives `p` again.
  [[nodiscard]] const ProfileConfig& Settings() const;

  [[nodiscard]] const PathPolicy& paths() const;

  // What must hold before anything starts: derived from the fields, plus those asked for.
  [[nodiscard]] Guarantees RequiredGuarantees() const;

  // Equal authority.
  friend bool operator==(const Profile& a, const Profile& b) {
    return a.Fingerprint() == b.Fingerprint();
  }

 private:
  friend absl::StatusOr<Profile> Restrict(const Profile& base, const Profile& ceiling);
  struct Rep;
  [[nodiscard]] static Profile FromCanonical(ProfileConfig canonical);
  explicit Profile(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  std::shared_ptr<const Rep> rep_;
};

// Never more than `base` anywhere, nor more than `ceiling`; `Restrict(p, p) == p`. Roots are
// not resolved again. Both must have the same workspace. Access is the narrower of the two field by
// field and, for files, path by path: a nested Deny of either survives. Lists that allow (targets,
// ports, sockets, variables) are intersected, lists that deny are united, limits are the lower of
// the two, what needs an acknowledgement needs that of both, and the audit log is kept as strictly
// as either says. Returns kInvalidProfile for
// default-constructed profiles and for different workspaces.
[[nodiscard]] absl::StatusOr<Profile> Restrict(const Profile& base, const Profile& ceiling);

// Trees that every profile can read and execute: the system's programs, libraries and the parts of
// /etc that programs need; never password hashes or private keys. A host may lack some of them.
[[nodiscard]] const std::vector<std::string>& SystemPaths();

// Secrets that `HomeMode::kReal` and the `trusted` preset hide: password hashes and host keys, and
// below `home_root` the usual key and token files. Literal paths.
[[nodiscard]] std::vector<std::string> SecretPaths(std::string_view home_root);

// Globs of what `protect_paths` protects below the writable root `root`.
[[nodiscard]] std::vector<std::string> ProtectedPatterns(std::string_view root);

// Names of the caller's variables that always pass: locale, time zone, terminal type, user name.
[[nodiscard]] const std::vector<std::string>& BaselineEnvironment();

// The three presets of the command line, as an application would compose them: "read-only",
// "workspace" and "trusted". Returns kInvalidProfile for another name, naming the three.
[[nodiscard]] absl::StatusOr<ProfileConfig> PresetConfig(std::string_view name,
                                                         std::string_view workspace_root);

}  // namespace cordon

#endif  // CORDON_SDK_PROFILE_H_
