#include "metadata_mediator.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

using Kind = MetadataRequest::Kind;

constexpr mode_t kOtherIdentity = S_ISUID | S_ISGID;

OpenedNode Failed(int error_number) { return {UniqueFd(), error_number}; }

bool IsChangeable(const struct stat& status) {
  const mode_t type = status.st_mode & S_IFMT;
  const bool plain = type == S_IFREG || type == S_IFDIR || type == S_IFLNK || type == S_IFIFO;
  // Not what has lost its name: where it was says nothing about where it is.
  return plain && status.st_nlink > 0 && status.st_uid == geteuid();
}

int ChangeMode(int object, const struct stat& status, mode_t mode) {
  if (S_ISLNK(status.st_mode)) return EOPNOTSUPP;
  // A folder may keep the bit that it has: there it only hands its group on.
  const mode_t kept = S_ISDIR(status.st_mode) ? status.st_mode & S_ISGID : 0;
  if ((mode & kOtherIdentity & ~kept) != 0) return EPERM;
  const std::string name = absl::StrCat("/proc/self/fd/", object);
  return chmod(name.c_str(), mode) == 0 ? 0 : errno;
}

// Only to what it is already, as programs do that copy or unpack.
int ChangeOwner(const struct stat& status, uid_t user, gid_t group) {
  const bool same_user = user == static_cast<uid_t>(-1) || user == status.st_uid;
  const bool same_group = group == static_cast<gid_t>(-1) || group == status.st_gid;
  // Else it would have to lose these, too.
  const bool plain = S_ISDIR(status.st_mode) || (status.st_mode & kOtherIdentity) == 0;
  return same_user && same_group && plain ? 0 : EPERM;
}

int ChangeTimes(int object, const MetadataRequest& request) {
  const timespec* times = request.times.has_value() ? request.times->data() : nullptr;
  return utimensat(object, "", times, AT_EMPTY_PATH) == 0 ? 0 : errno;
}

}  // namespace

CallAnswer MetadataMediator::OnCall(const seccomp_notif& call, int listener) {
  if (!IsMetadataCall(call.data.nr)) return {};
  return {.goes_on = false, .error_number = Perform(Caller(call, listener))};
}

int MetadataMediator::Perform(const Caller& caller) {
  const DecodedMetadataCall decoded = DecodeMetadataCall(caller);
  // Of a caller that nobody may look into nothing is known.
  if (decoded.error_number != 0) return caller.is_out_of_reach() ? EPERM : decoded.error_number;
  const OpenedNode object = Open(caller, decoded.request);
  return object.fd.valid() ? Change(caller, object.fd.get(), decoded.request) : object.error_number;
}

OpenedNode MetadataMediator::Open(const Caller& caller, const MetadataRequest& request) {
  std::optional<int> descriptor;
  if (request.path.empty()) {
    descriptor = request.folder;
  } else if (request.follow) {
    // Libraries change links and open files like that.
    descriptor = OwnDescriptor(request.path);
  }
  if (descriptor.has_value()) {
    UniqueFd object = caller.OpenDescriptor(*descriptor);
    return object.valid() ? OpenedNode{std::move(object), 0} : Failed(EBADF);
  }
  if (request.path.starts_with('/')) return OpenPath(request.path, request.follow);
  const std::string from = caller.FolderPath(request.folder);
  if (from.empty()) return Failed(EPERM);
  return OpenPath(JoinPath(from, request.path), request.follow);
}

// What protected patterns name is looked for before the command starts. What has such a name since,
// as in a repository that it made, Landlock lets it write, and the report names it.
bool MetadataMediator::MayBeWritten(const std::string& path) const {
  return places_->MayChange(path, /*is_new=*/true);
}

OpenedNode MetadataMediator::OpenPath(const std::string& path, bool follow) {
  const std::string plain = plain_.WithoutLinks(path, follow);
  // Whether there is something outside of the writable places is not said.
  if (plain.empty() || !MayBeWritten(plain)) return Failed(EPERM);
  OpenedNode object = OpenPlain(plain);
  if (object.error_number == ELOOP) object.error_number = EPERM;  // Exchanged meanwhile.
  return object;
}

int MetadataMediator::Change(const Caller& caller, int object, const MetadataRequest& request) {
  const std::string place = PlaceOf(object);
  if (place.empty() || !plain_.IsLocal(place) || !MayBeWritten(place)) return EPERM;
  struct stat status = {};
  if (fstat(object, &status) != 0 || !IsChangeable(status)) return EPERM;
  // What this program may do as another user than the caller's is not the caller's to have.
  if (!caller.IsOfThisUser() || !caller.IsWaiting()) return EPERM;
  switch (request.kind) {
    case Kind::kMode:
      return ChangeMode(object, status, request.mode);
    case Kind::kOwner:
      return ChangeOwner(status, request.user, request.group);
    case Kind::kTimes:
      return ChangeTimes(object, request);
  }
  return EPERM;
}

}  // namespace cordon::internal
