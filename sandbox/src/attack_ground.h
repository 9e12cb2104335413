// The victims of the conformance suite: files, a process and listening sockets of this host, and a
// workspace with the program that attacks them.

#ifndef CORDON_SANDBOX_SRC_ATTACK_GROUND_H_
#define CORDON_SANDBOX_SRC_ATTACK_GROUND_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

class AttackGround {
 public:
  // In a new folder below `scratch_root`. Returns kInvalidOption when that is no folder, kInternal
  // when a victim cannot be made.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<AttackGround>> Create(
      const std::string& scratch_root);
  AttackGround(const AttackGround&) = delete;
  AttackGround& operator=(const AttackGround&) = delete;
  ~AttackGround();  // Ends and removes everything.

  [[nodiscard]] std::string workspace() const { return path_ + "/workspace"; }
  [[nodiscard]] std::string scratch() const { return path_ + "/scratch"; }
  [[nodiscard]] std::string attacker() const { return workspace() + "/attacker"; }
  // What the unix socket of the host is bound to.
  [[nodiscard]] const std::string& socket_path() const { return socket_path_; }
  // A path in the folder that nobody allows.
  [[nodiscard]] std::string Outside(const std::string& name) const {
    return path_ + "/outside/" + name;
  }
  [[nodiscard]] std::string victim_pid() const { return std::to_string(victim_); }
  [[nodiscard]] std::string stream_port() const { return std::to_string(stream_port_); }
  [[nodiscard]] std::string datagram_port() const { return std::to_string(datagram_port_); }

  // The outside folder as it is before every attack: files `kept` and `secret`.
  [[nodiscard]] absl::Status Restore() const;
  // Whether it still is.
  [[nodiscard]] bool IsUntouched() const;

  // Whether anything arrived at a listening socket since the last call.
  [[nodiscard]] bool TakeContacts() const;

  // Runs the attacker with `words` as this process could, and returns its status; -1 when it could
  // not be run.
  [[nodiscard]] int RunOutside(const std::vector<std::string>& words) const;

 private:
  explicit AttackGround(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] absl::Status MakeVictims();
  [[nodiscard]] absl::Status Listen();

  const std::string path_;
  std::string socket_path_;
  UniqueFd root_;  // The folder that it was made in.
  std::string name_;
  pid_t victim_ = -1;
  UniqueFd stream_;  // 0.0.0.0: any address of the loopback.
  UniqueFd datagram_;
  UniqueFd unix_;
  int stream_port_ = 0;
  int datagram_port_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_ATTACK_GROUND_H_
