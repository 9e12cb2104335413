#include "observation.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_remedy.h"
#include "directory_reader.h"
#include "refusal_text.h"

namespace cordon::internal {
namespace {

// Programs look into these of their own accord, and do without.
bool IsProbed(const std::string& path) {
  constexpr std::string_view kProbed[] = {"/proc",     "/sys",      "/dev",      "/run/systemd",
                                          "/run/udev", "/run/nscd", "/run/user", "/run/dbus"};
  // The JVM's own, of every user.
  if (BaseName(path).starts_with("hsperfdata_")) return true;
  return std::any_of(std::begin(kProbed), std::end(kProbed),
                     [&path](std::string_view folder) { return IsWithin(path, folder); });
}

struct HostObject {
  bool exists = false;
  struct stat status = {};
};

HostObject OnHost(const std::string& path, bool follow) {
  HostObject found;
  const int flags = AT_NO_AUTOMOUNT | (follow ? 0 : AT_SYMLINK_NOFOLLOW);
  found.exists = fstatat(AT_FDCWD, path.c_str(), &found.status, flags) == 0;
  return found;
}

// Whether this user could do it outside: what the system itself refuses is no policy's doing.
bool MayOnHost(const std::string& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

bool IsSameObject(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// An empty thing without any permission, in the place of what is denied.
bool IsMask(const ViewPlace& place) {
  return place.exists && (place.status.st_mode & 07777) == 0 && place.status.st_size == 0 &&
         place.read_only;
}

}  // namespace

std::optional<ReportEntry> Observation::Gap() const {
  if (is_blind_) {
    return ReportEntry{"observation", FeatureStatus::kUnenforced,
                       "refusals are not listed: this host forbids reading the arguments of calls "
                       "(ptrace, Yama's ptrace_scope)"};
  }
  const std::uint64_t left_out = refusals_.left_out();
  if (left_out == 0) return std::nullopt;
  return ReportEntry{"observation", FeatureStatus::kNarrowed,
                     absl::StrCat(left_out, " refusals of other targets than the first ",
                                  Refusals::kMaxTargets, " are not listed")};
}

CallAnswer Observation::OnCall(const seccomp_notif& call, int listener) {
  const ObservedCall* const known = FindObservedCall(call.data.nr);
  if (known == nullptr) return {};
  if (known->kind != CallKind::kConnect && !inputs_.lists_paths) return {};
  const Caller caller(call, listener);
  CallAnswer answer;
  if (known->kind == CallKind::kConnect) {
    answer = OnConnect(caller);
  } else {
    OnPathCall(caller, *known);
  }
  // The first call of all is the launcher's own, which executes the command: nobody looks into that
  // process but root.
  if (caller.is_out_of_reach() && known->kind != CallKind::kExecute) is_blind_ = true;
  return answer;
}

CallAnswer Observation::OnConnect(const Caller& caller) {
  // connect(fd, address, size); sendto(fd, bytes, size, flags, address, size)
  const bool is_send = FindObservedCall(caller.call_number())->name == std::string_view("sendto");
  const int place = is_send ? 4 : 1;
  const ObservedAddress address =
      ReadObservedAddress(caller, caller.argument(place), caller.argument(place + 1));
  const bool is_closed = inputs_.profile.Settings().network != Access::kAllow;
  if (inputs_.on_host && is_closed) return OnConnectOnHost(caller, address);
  switch (address.kind) {
    case ObservedAddress::Kind::kNone:
      return {};
    case ObservedAddress::Kind::kPath:
      OnSocketPath(caller, address.text);
      return {};
    case ObservedAddress::Kind::kInternet:
      break;
  }
  if (!is_closed || address.is_inside) return {};
  // A datagram goes nowhere either, but getaddrinfo(3) connects such sockets only to sort
  // addresses.
  if (caller.SocketType(caller.number(0)) != SOCK_STREAM || !caller.IsWaiting()) return {};
  OnInternetAddress(address.text);
  return {};
}

// No such call ever goes on.
CallAnswer Observation::OnConnectOnHost(const Caller& caller, const ObservedAddress& address) {
  constexpr CallAnswer kRefused = {false, EACCES};
  if (address.kind != ObservedAddress::Kind::kInternet) return kRefused;
  if (!inputs_.has_door) {
    if (!address.is_inside) OnInternetAddress(address.text);
    return kRefused;
  }
  const UniqueFd socket = caller.CopyDescriptor(caller.number(0));
  if (!socket.valid() || !caller.IsWaiting()) return kRefused;
  return {false, connections_.Connect(socket.get(), address)};
}

void Observation::OnInternetAddress(const std::string& target) {
  for (const ConsumedGrant& grant : inputs_.grants) {
    if (grant.target == "tcp:" + target) return;
  }
  const absl::StatusOr<PathDecision> decision = inputs_.profile.ExplainNetwork(target);
  if (!decision.ok() || decision->access == Access::kAllow) return;
  refusals_.Add("network", "tcp:" + target, [&target, &decision](Denial& denial) {
    denial.reason = NetworkReason(*decision);
    denial.allow_with = "--net " + target;
  });
}

void Observation::OnSocketPath(const Caller& caller, const std::string& path) {
  if (!HoldRoot(caller)) return;
  const std::string absolute = Absolute(caller, AT_FDCWD, path);
  if (absolute.empty() || !caller.IsWaiting()) return;
  const ViewPlace place = Find(absolute, /*follow=*/true);
  if (IsProbed(place.path) || !IsSafeToLookAt(place.path)) return;
  const HostObject host = OnHost(place.path, /*follow=*/true);
  if (!host.exists || !S_ISSOCK(host.status.st_mode)) return;
  if (place.exists && IsSameObject(place.status, host.status)) return;
  OnRefusedSocket(place.path);
}

void Observation::OnRefusedSocket(const std::string& place) {
  if (IsProbed(place)) return;
  refusals_.Add("unix_socket", place, [&place](Denial& denial) {
    denial.reason = "not one of the listed unix sockets";
    denial.allow_with = "--unix-socket " + ShellQuoted(place);
  });
}

void Observation::OnPathCall(const Caller& caller, const ObservedCall& call) {
  const std::optional<std::string> path = PathArgument(caller, call.folder, call.path);
  std::optional<std::string> second;
  if (call.second_path >= 0) second = PathArgument(caller, call.second_folder, call.second_path);
  std::uint64_t flags = call.flags >= 0 ? caller.argument(call.flags) : 0;
  if (call.kind == CallKind::kOpenHow && !caller.Read(flags, &flags, sizeof flags)) return;
  if (!HoldRoot(caller) || !caller.IsWaiting()) return;

  if (second.has_value()) OnCreate(*second, /*may_exist=*/true);
  if (!path.has_value()) return;
  switch (call.kind) {
    case CallKind::kConnect:
    case CallKind::kLink:
      return;
    case CallKind::kOpen:
    case CallKind::kOpenHow:
      return OnOpen(*path, flags);
    case CallKind::kCreateFile:
      return OnCreate(*path, /*may_exist=*/true);
    case CallKind::kCreateName:
      return OnCreate(*path, /*may_exist=*/false);
    case CallKind::kRemove:
    case CallKind::kRename:
      return OnRemove(*path);
    case CallKind::kChange:
      return OnChange(*path, (flags & AT_SYMLINK_NOFOLLOW) == 0);
    case CallKind::kChangeNoLink:
      return OnChange(*path, /*follow=*/false);
    case CallKind::kExecute:
      return OnExecute(*path);
    case CallKind::kEnter:
      return OnRead(*path);
  }
}

void Observation::OnOpen(const std::string& path, std::uint64_t flags) {
  if ((flags & O_PATH) != 0) return;  // Only a look, like stat(2).
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
  const bool makes_file = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  if (makes_file) return OnCreate(path, (flags & O_EXCL) == 0);
  if (writes) return OnChange(path, (flags & O_NOFOLLOW) == 0);
  OnRead(path);
}

void Observation::OnRead(const std::string& path) {
  const ViewPlace place = Find(path, /*follow=*/true);
  if (Allows(Axis::kRead, place) || IsProbed(place.path) || !IsSafeToLookAt(place.path)) return;
  if (MayOnHost(place.path, R_OK)) Refuse(Axis::kRead, place.path);
}

void Observation::OnChange(const std::string& path, bool follow) {
  const ViewPlace place = Find(path, follow);
  if (Allows(Axis::kWrite, place)) return;
  if (IsProbed(place.path) || !IsSafeToLookAt(place.path)) return;
  const HostObject host = OnHost(place.path, follow);
  if (!host.exists) return;
  if (S_ISLNK(host.status.st_mode) || MayOnHost(place.path, W_OK)) {
    Refuse(Axis::kWrite, place.path);
  }
}

void Observation::OnCreate(const std::string& path, bool may_exist) {
  const ViewPlace place = Find(path, /*follow=*/may_exist);
  if (place.exists && !IsMask(place)) {
    if (may_exist) OnChange(path, /*follow=*/true);
    return;
  }
  if (Allows(Axis::kWrite, place)) return;
  if (IsProbed(place.path) || !IsSafeToLookAt(place.path)) return;
  const HostObject host = OnHost(place.path, /*follow=*/true);
  const bool possible = host.exists ? may_exist && MayOnHost(place.path, W_OK)
                                    : MayOnHost(ParentPath(place.path), W_OK);
  if (possible) Refuse(Axis::kWrite, place.path);
}

void Observation::OnRemove(const std::string& path) {
  const ViewPlace place = Find(path, /*follow=*/false);
  // What is mounted over a name keeps it, also in a folder that can be written to.
  if (Allows(Axis::kWrite, place) &&
      Allows(Axis::kWrite, Find(ParentPath(place.path), /*follow=*/true))) {
    return;
  }
  if (IsProbed(place.path) || !IsSafeToLookAt(place.path)) return;
  if (!OnHost(place.path, /*follow=*/false).exists) return;
  if (MayOnHost(ParentPath(place.path), W_OK)) Refuse(Axis::kWrite, place.path);
}

void Observation::OnExecute(const std::string& path) {
  const ViewPlace place = Find(path, /*follow=*/true);
  if (Allows(Axis::kExecute, place)) return;
  if (IsProbed(place.path) || !IsSafeToLookAt(place.path)) return;
  const HostObject host = OnHost(place.path, /*follow=*/true);
  if (host.exists && S_ISREG(host.status.st_mode) && MayOnHost(place.path, X_OK)) {
    Refuse(Axis::kExecute, place.path);
  }
}

std::optional<std::string> Observation::PathArgument(const Caller& caller, int folder,
                                                     int place) const {
  const std::uint64_t address = caller.argument(place);
  if (address == 0) return std::nullopt;
  const std::optional<std::string> path = caller.ReadPath(address);
  if (!path.has_value() || path->empty()) return std::nullopt;  // The descriptor itself is meant.
  const int from = folder >= 0 ? caller.number(folder) : AT_FDCWD;
  std::string absolute = Absolute(caller, from, *path);
  if (absolute.empty()) return std::nullopt;
  return absolute;
}

std::string Observation::Absolute(const Caller& caller, int folder, const std::string& path) const {
  if (path.starts_with('/')) return path;
  const std::string from = caller.FolderPath(folder);
  return from.empty() ? std::string() : JoinPath(from, path);
}

bool Observation::HoldRoot(const Caller& caller) {
  if (root_.valid()) return true;
  UniqueFd root = caller.OpenRoot();
  if (!root.valid() || !caller.IsWaiting()) return false;
  root_ = std::move(root);
  return true;
}

ViewPlace Observation::Find(const std::string& path, bool follow) const {
  return FindInView(root_.get(), path, follow);
}

bool Observation::Allows(Axis axis, const ViewPlace& place) const {
  if (inputs_.on_host) {
    const auto is_above = [&place](const std::string& own) { return IsWithin(place.path, own); };
    return std::any_of(inputs_.own_folders.begin(), inputs_.own_folders.end(), is_above) ||
           inputs_.paths.Resolve(axis, place.path).access == Access::kAllow;
  }
  if (IsMask(place)) return false;
  switch (axis) {
    case Axis::kRead:
      return place.exists;
    case Axis::kExecute:
      return place.exists && !place.no_exec;
    case Axis::kWrite:
      return place.folder_exists && !place.read_only;
  }
  return false;
}

bool Observation::IsSafeToLookAt(const std::string& path) {
  if (!mounts_.has_value()) mounts_ = MountTable::OfThisProcess();
  return mounts_->HasLocally(path);
}

void Observation::Refuse(Axis axis, const std::string& path) {
  const std::string kind = absl::StrCat("filesystem.", std::string(AxisName(axis)));
  refusals_.Add(kind, path, [&](Denial& denial) {
    const PathDecision decision = inputs_.paths.Resolve(axis, path);
    denial.reason = PathReason(decision);
    denial.allow_with = PathRemedy(axis, decision, path);
  });
}

}  // namespace cordon::internal
