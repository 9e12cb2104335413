#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cordon/sdk/address_class.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/status.h"
#include "profile_canonical.h"
#include "profile_paths.h"

namespace cordon {
namespace {

using internal::LiteralRules;
using internal::ProtectRules;
using internal::WritableRoots;

template <typename T>
std::vector<T> Intersection(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::vector<std::string> Union(const std::vector<std::string>& a,
                               const std::vector<std::string>& b) {
  std::vector<std::string> either;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(either));
  return either;
}

template <typename T>
std::optional<T> Lower(const std::optional<T>& a, const std::optional<T>& b) {
  if (!a.has_value()) return b;
  if (!b.has_value()) return a;
  return std::min(*a, *b);
}

// What both stand for; nothing when they have no target in common.
std::optional<NetworkTarget> Common(const NetworkTarget& a, const NetworkTarget& b) {
  const auto at_any_port = [](NetworkTarget target) {
    target.port = 0;
    return target;
  };
  if (a.port != 0 && b.port != 0 && a.port != b.port) return std::nullopt;
  // Each must allow it by itself: `*:443` does not allow an address that has to be named.
  const bool a_is_wider = Grants(at_any_port(a), at_any_port(b));
  if (!a_is_wider && !Grants(at_any_port(b), at_any_port(a))) return std::nullopt;
  NetworkTarget common = a_is_wider ? b : a;
  common.port = a.port != 0 ? a.port : b.port;
  return common;
}

std::vector<std::string> CommonTargets(const std::vector<std::string>& a,
                                       const std::vector<std::string>& b) {
  std::vector<std::string> common;
  for (const std::string& left : a) {
    for (const std::string& right : b) {
      const absl::StatusOr<NetworkTarget> l = ParseNetworkTarget(left);
      const absl::StatusOr<NetworkTarget> r = ParseNetworkTarget(right);
      if (!l.ok() || !r.ok()) continue;
      if (const auto both = Common(*l, *r)) common.push_back(NetworkTargetText(*both));
    }
  }
  return internal::ReduceTargets(common);
}

// An open network stands for every target.
std::vector<std::string> RestrictTargets(const ProfileConfig& base, const ProfileConfig& ceiling) {
  const bool base_is_open = base.network == Access::kAllow;
  const bool ceiling_is_open = ceiling.network == Access::kAllow;
  if (base_is_open == ceiling_is_open) {
    return CommonTargets(base.network_targets, ceiling.network_targets);
  }
  return base_is_open ? ceiling.network_targets : base.network_targets;
}

Limits LowerLimits(const Limits& a, const Limits& b) {
  return {.memory_bytes = Lower(a.memory_bytes, b.memory_bytes),
          .processes = Lower(a.processes, b.processes),
          .cpu_time = Lower(a.cpu_time, b.cpu_time),
          .file_size_bytes = Lower(a.file_size_bytes, b.file_size_bytes)};
}

// Everything but the roots.
ProfileConfig RestrictFields(const ProfileConfig& base, const ProfileConfig& ceiling) {
  ProfileConfig result;
  result.workspace_root = base.workspace_root;
  result.workspace_read = Min(base.workspace_read, ceiling.workspace_read);
  result.workspace_write = Min(base.workspace_write, ceiling.workspace_write);
  result.host_read = Min(base.host_read, ceiling.host_read);
  result.host_write = Min(base.host_write, ceiling.host_write);
  result.network = Min(base.network, ceiling.network);
  result.command = Min(base.command, ceiling.command);
  result.home = std::min(base.home, ceiling.home);
  result.home_root = base.home == result.home ? base.home_root : ceiling.home_root;
  result.isolation = std::min(base.isolation, ceiling.isolation);
  if (result.isolation == Isolation::kUnconfined) result.ack_unconfined = base.ack_unconfined;
  if (ceiling.ack_tracing.given()) result.ack_tracing = base.ack_tracing;
  if (ceiling.ack_nested_namespaces.given()) {
    result.ack_nested_namespaces = base.ack_nested_namespaces;
  }
  result.deny_read = Union(base.deny_read, ceiling.deny_read);
  result.deny_write = Union(base.deny_write, ceiling.deny_write);
  result.protect_paths = base.protect_paths || ceiling.protect_paths;
  result.environment = Intersection(base.environment, ceiling.environment);
  result.network_targets = RestrictTargets(base, ceiling);
  // No authority, but the only way that the base may use: a ceiling has no better one.
  result.network_route = base.network_route;
  result.loopback_ports = Intersection(base.loopback_ports, ceiling.loopback_ports);
  result.publish_ports = Intersection(base.publish_ports, ceiling.publish_ports);
  result.unix_sockets = Intersection(base.unix_sockets, ceiling.unix_sockets);
  result.limits = LowerLimits(base.limits, ceiling.limits);
  result.audit = std::max(base.audit, ceiling.audit);
  result.required_guarantees = GuaranteesFromBits(static_cast<std::uint8_t>(
      GuaranteesToBits(base.required_guarantees) | GuaranteesToBits(ceiling.required_guarantees)));
  return result;
}

// The policy of a side without its deny globs, which the result takes over as they are.
PathPolicy WithoutDenyGlobs(const Profile& side) {
  return {side.paths().rules(), ProtectRules(side.Settings())};
}

AdditionalRoot AccessAt(const PathPolicy& policy, const std::string& path) {
  return {.path = path,
          .read = policy.Resolve(Axis::kRead, path).access,
          .write = policy.Resolve(Axis::kWrite, path).access};
}

AdditionalRoot Narrower(const AdditionalRoot& a, const AdditionalRoot& b) {
  return {.path = a.path, .read = Min(a.read, b.read), .write = Min(a.write, b.write)};
}

std::set<std::string> RootPaths(const ProfileConfig& config) {
  std::set<std::string> paths;
  for (const AdditionalRoot& root : config.additional_roots) paths.insert(root.path);
  return paths;
}

// Paths that have to stay roots of the result even where its other rules say the same: what both
// name, and what gives protected patterns a place to start from.
std::set<std::string> KeptRoots(const ProfileConfig& base, const ProfileConfig& ceiling,
                                const ProfileConfig& result) {
  std::set<std::string> kept;
  for (const ProfileConfig* side : {&base, &ceiling}) {
    if (!side->protect_paths) continue;
    for (const std::string& path : WritableRoots(*side)) kept.insert(path);
  }
  // Where the result's own fields start protection already.
  for (const std::string& path : WritableRoots(result)) kept.erase(path);
  kept.erase(result.workspace_root);
  kept.erase("/");
  const std::set<std::string> of_ceiling = RootPaths(ceiling);
  for (const std::string& path : RootPaths(base)) {
    if (of_ceiling.contains(path)) kept.insert(path);
  }
  return kept;
}

using RootsByPath = std::map<std::string, AdditionalRoot>;

RootsByPath RootsOf(const std::vector<PathRule>& rules) {
  RootsByPath roots;
  for (const PathRule& rule : rules) {
    roots[rule.path] = {rule.path, rule.read.value_or(Access::kDeny),
                        rule.write.value_or(Access::kDeny)};
    roots[rule.path].write = Min(roots[rule.path].read, roots[rule.path].write);
  }
  return roots;
}

// What the root of `path` or the nearest one above it says; "/" has one.
const AdditionalRoot& Nearest(const RootsByPath& roots, std::string path) {
  for (;;) {
    const auto found = roots.find(path);
    if (found != roots.end()) return found->second;
    const std::size_t slash = path.rfind('/');
    path.resize(slash == 0 ? 1 : slash);
  }
}

// The rules of a profile divide all paths into regions, each at and below the path of a rule, and a
// region has one access. So it is enough to compare the two sides at every path that has a rule, of
// theirs or of the result's own, and to give the result a root wherever its rules say otherwise.
// Parents come before what is below them, since a root also changes its region's inner parts.
void RestrictRoots(const Profile& base, const Profile& ceiling, ProfileConfig& result) {
  const PathPolicy of_base = WithoutDenyGlobs(base);
  const PathPolicy of_ceiling = WithoutDenyGlobs(ceiling);
  const std::set<std::string> kept = KeptRoots(base.Settings(), ceiling.Settings(), result);
  RootsByPath so_far = RootsOf(LiteralRules(result));
  std::set<std::string> paths = kept;
  for (const PathPolicy* policy : {&of_base, &of_ceiling}) {
    for (const PathRule& rule : policy->rules()) paths.insert(rule.path);
  }
  for (const auto& [path, root] : so_far) paths.insert(path);
  for (const std::string& path : paths) {
    const AdditionalRoot wanted = Narrower(AccessAt(of_base, path), AccessAt(of_ceiling, path));
    const AdditionalRoot& own = Nearest(so_far, path);
    if (!kept.contains(path) && own.read == wanted.read && own.write == wanted.write) continue;
    so_far[path] = wanted;
    result.additional_roots.push_back(wanted);
  }
}

}  // namespace

absl::StatusOr<Profile> Restrict(const Profile& base, const Profile& ceiling) {
  if (!base.valid() || !ceiling.valid()) {
    return MakeError(ErrorCode::kInvalidProfile, "an empty profile restricts nothing");
  }
  const ProfileConfig& of_base = base.Settings();
  const ProfileConfig& of_ceiling = ceiling.Settings();
  if (of_base.workspace_root != of_ceiling.workspace_root) {
    return MakeError(ErrorCode::kInvalidProfile,
                     absl::StrFormat("the profile is for the workspace \"%s\", its ceiling for "
                                     "\"%s\"",
                                     of_base.workspace_root, of_ceiling.workspace_root));
  }
  ProfileConfig result = RestrictFields(of_base, of_ceiling);
  RestrictRoots(base, ceiling, result);
  return Profile::FromCanonical(std::move(result));
}

}  // namespace cordon
