#include "resolver_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/egress.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"
#include "host_looks.h"

namespace cordon::internal {
namespace {

constexpr const char* kNames[] = {"resolv.conf", "hosts", "nsswitch.conf"};
constexpr std::size_t kMaxHostBytes = std::size_t{64} * 1024;
constexpr char kSwitch[] = "/etc/nsswitch.conf";
constexpr char kHosts[] = "hosts: files dns\n";

std::string ContentOf(std::string_view name) {
  // Only the server: a search list would make short names into ones that were not asked for.
  if (name == "resolv.conf") return absl::StrCat("nameserver ", kGatewayAddress, "\n");
  if (name == "hosts") {
    // `cordon` is the host name inside.
    return "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 cordon\n";
  }
  return NameServiceSwitch(TextAt(kSwitch, kMaxHostBytes));
}

absl::Status WriteFile(int folder, const char* name, const std::string& text) {
  const UniqueFd file(openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) return MakeErrnoError(errno, absl::StrCat("cannot make ", name));
  const ssize_t written = write(file.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return absl::OkStatus();
  return MakeErrnoError(written < 0 ? errno : ENOSPC, absl::StrCat("cannot write ", name));
}

bool ShowsAllOf(std::string_view folder, const std::vector<ViewOp>& ops) {
  return std::any_of(ops.begin(), ops.end(), [folder](const ViewOp& op) {
    return op.kind == ViewOp::Kind::kBind && op.target == folder;
  });
}

// Where the view has to show something else for `path` to read as that: the link's target where the
// link itself comes with its folder.
std::string PlaceFor(const std::string& path, const std::vector<ViewOp>& ops) {
  const std::string text = LinkAt(path);
  if (text.empty() || !ShowsAllOf("/etc", ops)) return path;
  std::string next = NormalizePath(text[0] == '/' ? text : JoinPath("/etc", text));
  if (IsWithin(next, "/run")) return next;  // The view's own, which has just this of the host's.
  const absl::StatusOr<std::string> target = ResolveLinks(path);
  return target.ok() ? *target : next;
}

// Whether the view itself, and nothing of the host's, is around `target`.
bool IsInOwnFolder(std::string_view target, const std::vector<ViewOp>& ops) {
  return std::none_of(ops.begin(), ops.end(), [target](const ViewOp& op) {
    return op.kind == ViewOp::Kind::kBind && op.target != target && IsWithin(target, op.target);
  });
}

ViewOp FileOp(std::string target, std::string content) {
  ViewOp file;
  file.kind = ViewOp::Kind::kFile;
  file.target = std::move(target);
  file.data = std::move(content);
  file.mode = 0644;
  return file;
}

ViewOp BindOp(std::string target, std::string source) {
  ViewOp bind;
  bind.kind = ViewOp::Kind::kBind;
  bind.target = std::move(target);
  bind.source = std::move(source);
  bind.read_only = true;
  bind.executable = false;
  return bind;
}

absl::Status WriteFiles(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) != 0) {
    if (errno == EEXIST) return absl::OkStatus();  // By this function, for an earlier command.
    return MakeErrnoError(errno, absl::StrCat("cannot make ", folder));
  }
  const UniqueFd opened(open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.valid()) return MakeErrnoError(errno, absl::StrCat("cannot open ", folder));
  for (const char* name : kNames) {
    absl::Status status = WriteFile(opened.get(), name, ContentOf(name));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

std::string NameServiceSwitch(std::string_view host_text) {
  std::string text;
  for (std::string_view rest = host_text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos || line.substr(start).starts_with("hosts:")) continue;
    text.append(line).append("\n");
  }
  return text + kHosts;
}

absl::Status ShowResolverFiles(const std::string& folder, std::vector<ViewOp>& ops) {
  for (const char* name : kNames) {
    std::string target = PlaceFor(JoinPath("/etc", name), ops);
    ViewOp op;
    if (IsInOwnFolder(target, ops)) {
      op = FileOp(std::move(target), ContentOf(name));
    } else {
      absl::Status written = WriteFiles(folder);
      if (!written.ok()) return written;
      (void)TypeAt(folder);  // Without it they are to be written again.
      op = BindOp(std::move(target), JoinPath(folder, name));
      // A host without the file, all of whose /etc is shown, has no place for ours either.
      op.optional = ShowsAllOf("/etc", ops);
    }
    std::erase_if(ops, [&op](const ViewOp& other) { return other.target == op.target; });
    ops.push_back(std::move(op));
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const ViewOp& a, const ViewOp& b) { return a.target < b.target; });
  return absl::OkStatus();
}

}  // namespace cordon::internal
