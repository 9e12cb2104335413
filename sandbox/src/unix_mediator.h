// Connects unix sockets for a command of the landlock tier. Landlock says nothing about sockets
// that are bound to files, so each connect(2) is handed over (seccomp_unotify(2)) and never goes
// on.
//
// The address is read once. What it means is opened (O_PATH) and held, and everything after that is
// about this one object: it is a socket that the profile lists, or the kernel says which socket is
// bound to it, and a process of the command's own tree has that one open. Then a copy of the
// command's socket is connected to the held object. So nothing depends on what the command does to
// its memory, its descriptors or to names meanwhile. Abstract names are connected to in the same
// way: a name belongs to its socket as long as that is held here.
//
// bind(2) goes on: Landlock ends it at the places where sockets may be made, and at no port of TCP.
// listen(2) is made here for unix sockets alone, since one of TCP would be in the host's network.

#ifndef CORDON_SANDBOX_SRC_UNIX_MEDIATOR_H_
#define CORDON_SANDBOX_SRC_UNIX_MEDIATOR_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caller.h"
#include "command_tree.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "observation.h"
#include "observer.h"
#include "own_sockets.h"
#include "pending_connects.h"
#include "plain_paths.h"
#include "writable_places.h"

namespace cordon::internal {

// The sockets that `profile` lists, O_PATH, as they are now; those that cannot be reached are left
// out.
[[nodiscard]] std::vector<UniqueFd> OpenListedSockets(const Profile& profile,
                                                      const PathPolicy& paths);

class UnixMediator final : public CallHandler {
 public:
  // Refused sockets of the host are listed in `observation`, which answers connects of all other
  // sockets and lets none go on.
  UnixMediator(std::shared_ptr<const CommandTree> tree,
               std::shared_ptr<const WritablePlaces> places,
               std::shared_ptr<Observation> observation, std::vector<UniqueFd> listed)
      : tree_(std::move(tree)),
        places_(std::move(places)),
        observation_(std::move(observation)),
        listed_(std::move(listed)),
        own_(tree_) {}

  CallAnswer OnCall(const seccomp_notif& call, int listener) override;

 private:
  [[nodiscard]] CallAnswer OnConnect(const Caller& caller, const seccomp_notif& call, int listener);
  // What the connect needs but for its socket; else an errno.
  [[nodiscard]] int Address(const Caller& caller, std::string_view address,
                            PendingConnects::Request& request);
  [[nodiscard]] int ToFile(const Caller& caller, const std::string& path,
                           PendingConnects::Request& request);
  [[nodiscard]] int ToName(const Caller& caller, std::string_view name,
                           PendingConnects::Request& request);
  [[nodiscard]] OpenedNode Open(const Caller& caller, const std::string& path);
  [[nodiscard]] bool IsListed(int object) const;
  // 0 when the socket that is bound to `object` is the tree's own, else an errno.
  [[nodiscard]] int CheckOwn(const Caller& caller, int object);

  const std::shared_ptr<const CommandTree> tree_;
  const std::shared_ptr<const WritablePlaces> places_;
  const std::shared_ptr<Observation> observation_;
  const std::vector<UniqueFd> listed_;
  OwnSockets own_;
  PlainPaths plain_;
  PendingConnects pending_;
};

// The kinds of calls that it answers.
[[nodiscard]] bool IsConnectCall(int number);
[[nodiscard]] bool IsListenCall(int number);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_UNIX_MEDIATOR_H_
