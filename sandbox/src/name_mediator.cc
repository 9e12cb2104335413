#include "name_mediator.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "command_tree.h"
#include "cordon/sdk/path_policy.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

using Kind = NameRequest::Kind;

constexpr CallAnswer kGoesOn = {};

CallAnswer Fails(int error_number) { return {.goes_on = false, .error_number = error_number}; }
CallAnswer Done(int error_number) { return Fails(error_number); }

// O_LARGEFILE, which libc hides.
constexpr std::uint64_t kLargeFile = 0100000;
// What is handed on to the kernel, and what is dealt with here.
constexpr std::uint64_t kTaken = O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC;
constexpr std::uint64_t kKnown = kTaken | kLargeFile | O_CLOEXEC | O_CREAT | O_EXCL | O_NOCTTY |
                                 O_NOFOLLOW | O_TRUNC | O_NOATIME;
constexpr std::uint64_t kKnownToRead = kKnown | O_DIRECTORY;

constexpr mode_t kMayChange = S_IWUSR | S_IXUSR;

// This program may be able to do more than its commands, which have no capabilities.
bool OwnerMay(const struct stat& status, mode_t bits) {
  return status.st_uid == geteuid() && (status.st_mode & bits) == bits;
}

// Whether the folders above `folder` let somebody pass who has no capabilities, as commands of
// root.
bool IsReached(const std::string& folder) {
  if (geteuid() != 0) return true;  // This program came there like that.
  for (std::string at = folder; at != "/";) {
    at = ParentPath(at);
    struct stat status = {};
    if (lstat(at.c_str(), &status) != 0) return false;
    const mode_t others = status.st_gid == getegid() ? S_IXGRP : S_IXOTH;
    if ((status.st_mode & (status.st_uid == geteuid() ? S_IXUSR : others)) == 0) return false;
  }
  return true;
}

mode_t BitsFor(std::uint64_t flags) {
  switch (flags & O_ACCMODE) {
    case O_RDONLY:
      return (flags & O_TRUNC) != 0 ? S_IRUSR | S_IWUSR : S_IRUSR;
    case O_WRONLY:
      return S_IWUSR;
    default:
      return S_IRUSR | S_IWUSR;
  }
}

// How many files are given more names in one command.
constexpr std::size_t kMaxLinked = 100'000;
constexpr std::size_t kMaxMade = 100'000;

std::string ByDescriptor(int descriptor) { return absl::StrCat("/proc/self/fd/", descriptor); }

// What was made has been under this program's mask, too.
int CorrectMode(int object, mode_t mode) {
  struct stat status = {};
  if (fstat(object, &status) != 0) return errno;
  if ((status.st_mode & 0777) == (mode & 0777)) return 0;
  return chmod(ByDescriptor(object).c_str(), (status.st_mode & 07000) | mode) == 0 ? 0 : errno;
}

struct Made {
  UniqueFd file;
  int error_number = 0;
};

Made MakeFile(int folder, const std::string& name, std::uint64_t flags, mode_t mode) {
  const auto taken = static_cast<int>(flags & kTaken);
  Made made;
  made.file.Reset(openat(folder, name.c_str(),
                         taken | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode));
  made.error_number = made.file.valid() ? CorrectMode(made.file.get(), mode) : errno;
  return made;
}

// As it is written; empty when it starts nowhere.
std::string PathOf(const Caller& caller, const OpenRequest& request) {
  if (request.path.empty() || request.path.starts_with('/')) return request.path;
  const std::string from = caller.FolderPath(request.folder);
  return from.empty() ? std::string() : JoinPath(from, request.path);
}

bool IsSameObject(int one, int other) {
  struct stat a = {};
  struct stat b = {};
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

CallAnswer HandOver(const Caller& caller, const UniqueFd& opened, std::uint64_t flags) {
  const int number = caller.Give(opened.get(), (flags & O_CLOEXEC) != 0);
  if (number < 0) return Fails(-number);
  return {.goes_on = false, .value = number};
}

}  // namespace

CallAnswer NameMediator::OnCall(const seccomp_notif& call, int listener) {
  const Caller caller(call, listener);
  if (IsOpenCall(call.data.nr)) return OnOpen(caller);
  return IsNameCall(call.data.nr) ? OnName(caller) : kGoesOn;
}

CallAnswer NameMediator::OnOpen(const Caller& caller) {
  if (!places_->HasClosed() && !MayWriteByOpen(caller)) return kGoesOn;
  const std::optional<OpenRequest> request = DecodeOpenCall(caller);
  if (!request.has_value() || request->resolve != 0) return kGoesOn;
  if (request->only_reads()) return OnRead(caller, *request);
  if ((request->flags & ~kKnown) != 0 || !EndsInName(request->path)) return kGoesOn;
  const std::string path = PathOf(caller, *request);
  if (path.empty() || SeemsCovered(path)) return kGoesOn;
  const bool is_new = request->has(O_CREAT) && request->has(O_EXCL);
  std::optional<Place> place = Locate(path, !request->has(O_NOFOLLOW) && !is_new);
  if (!place.has_value() || IsCovered(place->folder)) return kGoesOn;
  if (!Hold(*place, kMayChange)) return kGoesOn;
  const std::optional<mode_t> mask = MaskOf(caller);
  if (!mask.has_value()) return kGoesOn;

  const UniqueFd object(
      openat(place->held.get(), place->name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (object.valid()) {
    if (is_new) return Fails(EEXIST);
    const UniqueFd opened = OpenExisting(object.get(), request->flags);
    return opened.valid() ? HandOver(caller, opened, request->flags) : kGoesOn;
  }
  if (errno != ENOENT || !request->has(O_CREAT)) return kGoesOn;
  const mode_t mode = static_cast<mode_t>(request->mode) & 0777 & ~*mask;
  const Made made = MakeFile(place->held.get(), place->name, request->flags, mode);
  if (!made.file.valid()) return made.error_number == EEXIST ? kGoesOn : Fails(made.error_number);
  return HandOver(caller, made.file, request->flags);
}

// Only below the folders that `WritablePlaces::HasClosed` is about. A file that was there before
// may be opened like that as well: by the same conditions it could be opened for writing, too.
CallAnswer NameMediator::OnRead(const Caller& caller, const OpenRequest& request) {
  if (!places_->HasClosed() || (request.flags & ~kKnownToRead) != 0) return kGoesOn;
  OpenRequest wanted = request;
  UniqueFd again;  // What is opened by a descriptor of the caller's, for which its place is taken.
  if (const std::optional<int> own = OwnDescriptor(request.path); own.has_value()) {
    again = caller.OpenDescriptor(*own);
    if (!again.valid() || request.has(O_NOFOLLOW)) return kGoesOn;
    wanted.path = PlaceOf(again.get());
  }
  const std::string path = PathOf(caller, wanted);
  if (path.empty() || SeemsReadable(path, wanted.has(O_DIRECTORY))) return kGoesOn;
  // A slash or a dot at the end asks for a folder, and for that which a link leads to.
  if (!EndsInName(path)) wanted.flags = (wanted.flags | O_DIRECTORY) & ~std::uint64_t{O_NOFOLLOW};
  std::optional<Place> place = Locate(path, !wanted.has(O_NOFOLLOW));
  if (!place.has_value() || IsReadable(place->folder)) return kGoesOn;
  const UniqueFd object =
      places_->IsUnlisted(place->path) ? HoldUnlisted(place->path) : HoldToRead(*place);
  if (!object.valid() || (again.valid() && !IsSameObject(object.get(), again.get()))) {
    return kGoesOn;
  }
  if (!MaskOf(caller).has_value()) return kGoesOn;
  const UniqueFd opened = OpenExisting(object.get(), wanted.flags);
  return opened.valid() ? HandOver(caller, opened, wanted.flags) : kGoesOn;
}

UniqueFd NameMediator::HoldToRead(Place& place) {
  if (!places_->IsInClosed(place.path) || !Hold(place, S_IXUSR)) return {};
  return UniqueFd(openat(place.held.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

// To list the names in it. What they lead to is opened by the rules.
UniqueFd NameMediator::HoldUnlisted(const std::string& folder) const {
  OpenedNode object = OpenPlain(folder);
  struct stat status = {};
  if (!object.fd.valid() || PlaceOf(object.fd.get()) != folder) return {};
  if (fstat(object.fd.get(), &status) != 0 || !S_ISDIR(status.st_mode)) return {};
  if (!IsReached(folder)) return {};
  return std::move(object.fd);
}

CallAnswer NameMediator::OnName(const Caller& caller) {
  const std::optional<NameRequest> request = DecodeNameCall(caller);
  if (!request.has_value() || !EndsInName(request->path)) return kGoesOn;
  if (SeemsCovered(request->path) &&
      (request->new_path.empty() || SeemsCovered(request->new_path))) {
    return kGoesOn;
  }
  std::optional<Place> place = Locate(request->path, /*follow=*/false);
  if (!place.has_value()) return kGoesOn;
  const bool is_covered = IsCovered(place->folder);
  std::optional<Place> to;
  if (!request->new_path.empty()) {
    if (!EndsInName(request->new_path)) return kGoesOn;
    to = Locate(request->new_path, /*follow=*/false);
    if (!to.has_value() || (is_covered && IsCovered(to->folder))) return kGoesOn;
    if (!Hold(*to, kMayChange)) return kGoesOn;
  } else if (is_covered) {
    return kGoesOn;
  }
  if (!Hold(*place, kMayChange)) return kGoesOn;
  const std::optional<mode_t> mask = MaskOf(caller);
  if (!mask.has_value()) return kGoesOn;
  switch (request->kind) {
    case Kind::kMakeFolder:
    case Kind::kMakeLink:
      return Done(Make(*place, *request, *mask));
    case Kind::kRemove:
      return Done(Remove(*place, 0));
    case Kind::kRemoveFolder:
      return Done(Remove(*place, AT_REMOVEDIR));
    case Kind::kRename:
      if ((request->flags & ~static_cast<unsigned>(RENAME_NOREPLACE)) != 0) return kGoesOn;
      if (!MayMove(*place, *to)) return kGoesOn;
      return Done(Rename(*place, *to, request->flags));
    case Kind::kLink:
      return request->flags == 0 ? Done(Link(*place, *to)) : kGoesOn;
  }
  return kGoesOn;
}

std::optional<NameMediator::Place> NameMediator::Locate(const std::string& path, bool follow) {
  Place place;
  place.path = plain_.WithoutLinks(path, follow);
  if (place.path.empty() || place.path == "/") return std::nullopt;
  place.folder = ParentPath(place.path);
  place.name = std::string(BaseName(place.path));
  return place;
}

bool NameMediator::Hold(Place& place, mode_t bits) {
  // In a new folder everything is the command's own, as below any other one.
  const bool is_new = IsMade(place.folder);
  if (!places_->MayChange(place.path, is_new) || !places_->MayChange(place.folder, is_new)) {
    return false;
  }
  if (!plain_.IsLocal(place.folder)) return false;
  OpenedNode folder = OpenPlain(place.folder);
  struct stat status = {};
  if (!folder.fd.valid() || PlaceOf(folder.fd.get()) != place.folder) return false;
  if (fstat(folder.fd.get(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (!OwnerMay(status, bits) || !IsReached(place.folder)) return false;
  place.held = std::move(folder.fd);
  return true;
}

std::optional<mode_t> NameMediator::MaskOf(const Caller& caller) const {
  const std::optional<HeldProcess> asking = HoldProcess(caller.thread());
  if (!asking.has_value() || !tree_->IsPlain(*asking)) return std::nullopt;
  if (!caller.IsOfThisUser() || !caller.IsWaiting()) return std::nullopt;
  return asking->status.mask;
}

bool NameMediator::HasOwnNames(const struct stat& status) const {
  return status.st_nlink == 1 || linked_.contains({status.st_dev, status.st_ino});
}

UniqueFd NameMediator::OpenExisting(int object, std::uint64_t flags) const {
  struct stat status = {};
  if (fstat(object, &status) != 0 || !OwnerMay(status, BitsFor(flags))) return {};
  const bool is_file = S_ISREG(status.st_mode) && HasOwnNames(status);
  const bool only_reads = (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == 0;
  if (!is_file && !(S_ISDIR(status.st_mode) && only_reads)) return {};
  const auto taken = static_cast<int>(flags & (kTaken | O_TRUNC | O_DIRECTORY));
  // Not waiting for who holds a lease on it (fcntl(2)).
  UniqueFd opened(open(ByDescriptor(object).c_str(), taken | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  const auto kept = static_cast<int>(flags & (O_APPEND | O_NONBLOCK));
  if (opened.valid() && fcntl(opened.get(), F_SETFL, kept) != 0) return {};
  return opened;
}

bool NameMediator::IsMovable(const struct stat& status) const {
  return S_ISLNK(status.st_mode) || (S_ISDIR(status.st_mode) && OwnerMay(status, S_IWUSR)) ||
         (S_ISREG(status.st_mode) && HasOwnNames(status));
}

bool NameMediator::IsMade(const std::string& folder) const {
  for (std::string at = folder; at != "/"; at = ParentPath(at)) {
    if (made_.contains(at)) return true;
  }
  return false;
}

bool NameMediator::IsCovered(const std::string& folder) const {
  for (std::string at = folder;; at = ParentPath(at)) {
    if (made_.contains(at)) return false;
    if (places_->IsFree(at)) return true;
    if (at == "/") return false;
  }
}

bool NameMediator::IsReadable(const std::string& folder) const {
  for (std::string at = folder;; at = ParentPath(at)) {
    if (made_.contains(at)) return false;
    if (places_->IsReadable(at)) return true;
    if (at == "/") return false;
  }
}

// What is in a folder with something hidden may be a link to what was made beside it, but not what
// has a rule of its own.
bool NameMediator::SeemsReadable(const std::string& path, bool is_folder) const {
  const std::string place = NormalizePath(path);
  if (is_folder && places_->IsReadable(place) && !made_.contains(place)) return true;
  const std::string folder = ParentPath(place);
  return IsReadable(folder) && !places_->IsInClosed(folder);
}

bool NameMediator::SeemsCovered(const std::string& path) const {
  return IsCovered(ParentPath(NormalizePath(path)));
}

// Rules go with the objects that they are about; what they leave out does not, so that a folder
// with something left out keeps its place.
bool NameMediator::MayMove(const Place& from, const Place& to) const {
  struct stat status = {};
  if (fstatat(from.held.get(), from.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return IsMovable(status) && !places_->HasRulesBelow(from.path) &&
         !places_->HasRulesBelow(to.path);
}

int NameMediator::Make(const Place& place, const NameRequest& request, mode_t mask) {
  const int folder = place.held.get();
  const char* const name = place.name.c_str();
  if (request.kind == Kind::kMakeLink) {
    return symlinkat(request.text.c_str(), folder, name) == 0 ? 0 : errno;
  }
  const mode_t mode = request.mode & 01777 & ~mask;
  if (made_.size() >= kMaxMade) return ENOSPC;
  if (mkdirat(folder, name, mode) != 0) return errno;
  made_.insert(place.path);
  const UniqueFd made(openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return made.valid() ? CorrectMode(made.get(), mode) : 0;
}

// Only of a file that the caller may read and write anyhow, so that no name gives it more.
int NameMediator::Link(const Place& from, const Place& to) {
  const UniqueFd object(
      openat(from.held.get(), from.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!object.valid() || fstat(object.get(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode) || !HasOwnNames(status)) return EPERM;
  if (linked_.size() == kMaxLinked) return EMLINK;
  if (!OwnerMay(status, S_IRUSR | S_IWUSR)) return EPERM;
  if (linkat(AT_FDCWD, ByDescriptor(object.get()).c_str(), to.held.get(), to.name.c_str(),
             AT_SYMLINK_FOLLOW) != 0) {
    return errno;
  }
  linked_.insert({status.st_dev, status.st_ino});
  return 0;
}

int NameMediator::Remove(const Place& place, int flags) {
  if (unlinkat(place.held.get(), place.name.c_str(), flags) != 0) return errno;
  // At a place that is covered stays known that what was there is gone.
  if (!places_->IsFree(place.path)) made_.erase(place.path);
  return 0;
}

int NameMediator::Rename(const Place& from, const Place& to, unsigned flags) {
  if (made_.size() >= kMaxMade) return ENOSPC;
  if (renameat2(from.held.get(), from.name.c_str(), to.held.get(), to.name.c_str(), flags) != 0) {
    return errno;
  }
  NoteMoved(from.path, to.path);
  return 0;
}

void NameMediator::NoteMoved(const std::string& from, const std::string& to) {
  std::vector<std::string> moved = {to};
  made_.erase(from);
  const std::string below = from + "/";
  for (auto at = made_.lower_bound(below); at != made_.end() && at->starts_with(below);) {
    moved.push_back(to + at->substr(from.size()));
    at = made_.erase(at);
  }
  made_.insert(moved.begin(), moved.end());
}

}  // namespace cordon::internal
