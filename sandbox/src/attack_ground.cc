#include "attack_ground.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "directory_reader.h"
#include "scratch.h"

extern "C" {
extern const char cordon_attacker_image[];
extern const char cordon_attacker_image_end[];
}

namespace cordon::internal {
namespace {

constexpr char kText[] = "before\n";

absl::Status Failed(const std::string& what) { return MakeErrnoError(errno, what); }

absl::Status WriteFile(const std::string& path, std::string_view text, mode_t mode) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!file.valid() ||
      write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Failed(absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

int PortOf(int socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  return getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0
             ? ntohs(address.sin_port)
             : 0;
}

UniqueFd BoundSocket(int type) {
  UniqueFd bound(socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  // Of 127.0.0.0/8 only: reached by nobody from elsewhere, since that is never routed.
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!bound.valid() ||
      bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return {};
  }
  return bound;
}

pid_t Start(const std::string& program, const std::vector<std::string>& words) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  return posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv.data(), environ) == 0 ? pid : -1;
}

int Await(pid_t pid) {
  int status = 0;
  pid_t ended;
  do {
    ended = waitpid(pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool Holds(const std::string& path, mode_t mode) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & 07777) == mode && status.st_nlink == 1 && status.st_mtim.tv_sec == 1 &&
         ReadSmallFile(path, sizeof(kText)) == kText;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AttackGround>> AttackGround::Create(
    const std::string& scratch_root) {
  OpenedNode root = OpenFolderAt(scratch_root);
  if (!root.fd.valid()) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrCat("scratch_root is no folder: ", scratch_root));
  }
  const std::string name = absl::StrCat("cordon-prove-", RandomId());
  std::unique_ptr<AttackGround> ground(new AttackGround(JoinPath(scratch_root, name)));
  if (mkdirat(root.fd.get(), name.c_str(), 0700) != 0) {
    return Failed(absl::StrCat("cannot make a folder in ", scratch_root));
  }
  ground->root_ = std::move(root.fd);
  ground->name_ = name;
  absl::Status status = ground->MakeVictims();
  if (!status.ok()) return status;
  return ground;
}

AttackGround::~AttackGround() {
  if (victim_ > 0) {
    kill(victim_, SIGKILL);
    (void)Await(victim_);
  }
  if (root_.valid()) (void)RemoveTree(root_.get(), name_);
}

absl::Status AttackGround::MakeVictims() {
  for (const char* name : {"workspace", "outside", "scratch"}) {
    if (mkdir(JoinPath(path_, name).c_str(), 0700) != 0) return Failed("cannot make a folder");
  }
  const std::string_view image(
      cordon_attacker_image,
      static_cast<std::size_t>(cordon_attacker_image_end - cordon_attacker_image));
  absl::Status status = WriteFile(attacker(), image, 0700);
  if (status.ok()) status = WriteFile(workspace() + "/.secret", kText, 0600);
  if (status.ok()) status = Restore();
  if (status.ok()) status = Listen();
  if (!status.ok()) return status;
  victim_ = Start(attacker(), {"wait", "600"});
  return victim_ > 0 ? absl::OkStatus() : Failed("cannot start a process");
}

absl::Status AttackGround::Listen() {
  stream_ = BoundSocket(SOCK_STREAM);
  datagram_ = BoundSocket(SOCK_DGRAM);
  unix_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string path = JoinPath(path_, "socket");
  socket_path_ = path;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return MakeError(ErrorCode::kInvalidOption, "scratch_root is too long for a unix socket in it");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const bool ready =
      stream_.valid() && datagram_.valid() && unix_.valid() && listen(stream_.get(), 16) == 0 &&
      bind(unix_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      listen(unix_.get(), 16) == 0;
  if (!ready) return Failed("cannot listen on the loopback");
  stream_port_ = PortOf(stream_.get());
  datagram_port_ = PortOf(datagram_.get());
  return absl::OkStatus();
}

absl::Status AttackGround::Restore() const {
  const UniqueFd folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  absl::Status status = RemoveTree(folder.get(), "outside");
  if (!status.ok()) return status;
  if (mkdir(Outside("").c_str(), 0700) != 0) return Failed("cannot make a folder");
  for (const char* name : {"kept", "secret"}) {
    status = WriteFile(Outside(name), kText, 0640);
    const timespec times[2] = {{1, 0}, {1, 0}};
    if (!status.ok()) return status;
    if (chmod(Outside(name).c_str(), 0640) != 0 ||
        utimensat(AT_FDCWD, Outside(name).c_str(), times, 0) != 0) {
      return Failed("cannot prepare a file");
    }
  }
  return absl::OkStatus();
}

bool AttackGround::IsUntouched() const {
  const OpenedNode folder = OpenFolderAt(path_ + "/outside");
  std::size_t names = 0;
  const int error = folder.fd.valid()
                        ? ReadNames(folder.fd.get(), [&names](std::string_view, NodeType,
                                                              std::uint64_t) { ++names; })
                        : folder.error_number;
  return error == 0 && names == 2 && Holds(Outside("kept"), 0640) && Holds(Outside("secret"), 0640);
}

bool AttackGround::TakeContacts() const {
  bool any = false;
  for (const UniqueFd* listener : {&stream_, &unix_}) {
    while (UniqueFd(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC)).valid()) any = true;
  }
  char byte;
  while (recv(datagram_.get(), &byte, 1, MSG_DONTWAIT) >= 0) any = true;
  return any;
}

int AttackGround::RunOutside(const std::vector<std::string>& words) const {
  const pid_t pid = Start(attacker(), words);
  return pid < 0 ? -1 : Await(pid);
}

}  // namespace cordon::internal
