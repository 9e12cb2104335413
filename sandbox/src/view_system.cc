#include "view_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/status.h"
#include "directory_reader.h"
#include "host_looks.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxCopiedBytes = std::size_t{64} * 1024;
constexpr char kSshIncludes[] = "/etc/ssh/ssh_config.d";

ViewOp Op(ViewOp::Kind kind, std::string target) {
  ViewOp op;
  op.kind = kind;
  op.target = std::move(target);
  return op;
}

ViewOp LinkOp(std::string target, std::string text) {
  ViewOp op = Op(ViewOp::Kind::kSymlink, std::move(target));
  op.data = std::move(text);
  return op;
}

ViewOp BindFileOp(std::string target, std::string source) {
  ViewOp op = Op(ViewOp::Kind::kBind, std::move(target));
  op.source = std::move(source);
  op.read_only = true;
  op.executable = false;
  op.optional = true;
  return op;
}

bool IsReadable(const PathPolicy& paths, const std::string& path) {
  return paths.Resolve(Axis::kRead, path).access == Access::kAllow;
}

// Whether a literal rule shows exactly `path`.
bool IsNamed(const PathPolicy& paths, std::string_view path) {
  for (const PathRule& rule : paths.rules()) {
    if (rule.path == path && rule.read == Access::kAllow) return true;
  }
  return false;
}

std::string TemporaryFolder(const PathPolicy& paths) {
  return IsNamed(paths, "/tmp") ? kTemporaryInView : "/tmp";
}

// Where one step along the link at `path` leads, as text.
std::string LinkDestination(const std::string& path, const std::string& text) {
  return NormalizePath(text[0] == '/' ? text : JoinPath(ParentPath(path), text));
}

// The user as which files of all other owners appear inside (user_namespaces(7)).
unsigned OverflowUser() {
  const std::string text = TextAt("/proc/sys/kernel/overflowuid", 16);
  return text.empty() ? 65534 : static_cast<unsigned>(std::atoi(text.c_str()));
}

}  // namespace

bool IsPrivatePlace(const PathPolicy& paths, std::string_view path) {
  if (path == "/proc" || path == "/dev" || path == "/run" || path == "/sys") return true;
  // What the host shows of /var/tmp when all of /var is readable is not hidden.
  return path == "/tmp" && !IsNamed(paths, path);
}

bool IsReservedPlace(std::string_view path) {
  return path == "/run" || path == "/dev/shm" || IsWithin(path, "/proc") ||
         (IsWithin(path, "/dev") && !IsWithin(path, "/dev/shm"));
}

void AddPrivatePlaces(const Profile& profile, const PathPolicy& paths,
                      const ScratchFolders& scratch, ViewBuilder& builder) {
  builder.AddOwnFolder("/");
  builder.AddOwnFolder("/run");
  builder.AddOwnFolder("/proc");
  builder.AddOwnFolder("/dev");
  builder.AddOp(Op(ViewOp::Kind::kDir, "/run"));
  builder.AddOp(Op(ViewOp::Kind::kProc, "/proc"));
  builder.AddOp(Op(ViewOp::Kind::kDev, "/dev"));
  if (profile.Settings().home == HomeMode::kIsolated) {
    builder.AddScratch(kHomeInView, scratch.home);
  } else {
    builder.AddScratch(kCacheInView, scratch.cache);
  }
  builder.AddScratch(TemporaryFolder(paths), scratch.temporary);
  if (!IsReadable(paths, "/var")) {
    if (!IsNamed(paths, "/var/tmp")) builder.AddScratch("/var/tmp", scratch.temporary);
    builder.AddOp(LinkOp("/var/run", "/run"));
  }
  if (!IsReadable(paths, "/etc")) builder.AddOp(LinkOp("/etc/mtab", "/proc/self/mounts"));
}

void AddLinkedFile(const PathPolicy& paths, const std::string& path, ViewBuilder& builder) {
  const std::string text = LinkAt(path);
  const absl::StatusOr<std::string> target = ResolveLinks(path);
  if (text.empty() || !target.ok()) return;
  if (IsReadable(paths, *target) && IsReadable(paths, LinkDestination(path, text))) {
    builder.AddOp(LinkOp(path, text));
  } else if (TypeAt(*target) == NodeType::kFile && !IsReservedPlace(*target)) {
    builder.AddOp(BindFileOp(path, *target));
  }
}

void AddTargetsInRun(const PathPolicy& paths, ViewBuilder& builder) {
  if (!IsReadable(paths, "/etc/resolv.conf")) return;
  for (const char* path : {"/etc/resolv.conf", "/etc/hosts", "/etc/hostname", "/etc/localtime"}) {
    const std::string text = LinkAt(path);
    const absl::StatusOr<std::string> target = ResolveLinks(path);
    if (text.empty() || !target.ok()) continue;
    const std::string destination = LinkDestination(path, text);
    if (IsWithin(destination, "/run") && TypeAt(*target) == NodeType::kFile) {
      builder.AddOp(BindFileOp(destination, *target));
    }
  }
}

void AddSshConfiguration(const PathPolicy& paths, ViewBuilder& builder) {
  const unsigned user = geteuid();
  if (user == 0 || user == OverflowUser() || !IsReadable(paths, kSshIncludes)) return;
  std::vector<ViewOp> copies;
  const int error = ListFolder(kSshIncludes, [&](std::string_view name, NodeType) {
    const std::string path = JoinPath(kSshIncludes, name);
    const absl::StatusOr<std::string> real = ResolveLinks(path);
    if (!real.ok()) return;
    ViewOp op = Op(ViewOp::Kind::kFile, path);
    op.data = TextAt(*real, kMaxCopiedBytes);
    op.mode = 0444;
    if (!op.data.empty()) copies.push_back(std::move(op));
  });
  if (error != 0) return;
  builder.AddOwnFolder(kSshIncludes);
  ViewOp own = Op(ViewOp::Kind::kTmpfs, kSshIncludes);
  own.read_only = true;
  builder.AddOp(std::move(own));
  for (ViewOp& op : copies) builder.AddOp(std::move(op));
}

absl::Status MakeScratchMountPoint(const std::string& scratch, const std::string& relative,
                                   bool is_folder) {
  // It is made before each command.
  const HostJournal::Unnoted unnoted;
  if (is_folder && OpenFolderAt(JoinPath(scratch, relative)).fd.valid()) return absl::OkStatus();
  OpenedNode folder = OpenFolderAt(scratch);
  for (std::string_view rest = relative; folder.fd.valid();) {
    const std::string name(rest.substr(0, rest.find('/')));
    const bool is_last = name.size() == rest.size();
    if (is_last && !is_folder) {
      const UniqueFd file(openat(folder.fd.get(), name.c_str(),
                                 O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
      if (file.valid()) return absl::OkStatus();
      folder.error_number = errno;
      break;
    }
    // What is there already, of whatever type, shows when it is opened.
    (void)mkdirat(folder.fd.get(), name.c_str(), 0700);
    folder = OpenFolderBeneath(folder.fd.get(), name);
    if (is_last && folder.fd.valid()) return absl::OkStatus();
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  return MakeErrnoError(folder.error_number,
                        absl::StrCat("cannot make the mount point ", relative, " in ", scratch));
}

FoldersInView FindFoldersInView(const Profile& profile) {
  const ProfileConfig& settings = profile.Settings();
  const std::string temporary = TemporaryFolder(profile.paths());
  if (settings.home == HomeMode::kReal) return {settings.home_root, temporary, kCacheInView};
  return {kHomeInView, temporary, JoinPath(kHomeInView, kCacheInHome)};
}

}  // namespace cordon::internal
