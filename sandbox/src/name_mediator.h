// Makes, moves and removes names for a command of the landlock tier where Landlock would let it do
// so only with more than it may have: in folders with something protected or hidden below, and in
// what was made in those since the command started. Where something is hidden, no rule of Landlock
// lets the command read what it made there, so that it is opened for it, too: for reading what it
// could have opened for reading and writing anyhow. Such calls are handed over
// (seccomp_unotify(2)).
//
// This only ever adds: what is not clearly allowed goes on, under Landlock, which refuses it there.
// The arguments are read once and links replaced by text. Then the folder of the name is opened
// (O_PATH, no links) and held, its place looked at, and the call made with its last component
// alone, which is never followed. The folders that this is about cannot be moved by the command but
// by calls like these, which are served one after the other.

#ifndef CORDON_SANDBOX_SRC_NAME_MEDIATOR_H_
#define CORDON_SANDBOX_SRC_NAME_MEDIATOR_H_

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "caller.h"
#include "command_tree.h"
#include "name_call.h"
#include "observer.h"
#include "open_call.h"
#include "plain_paths.h"
#include "writable_places.h"

namespace cordon::internal {

class NameMediator final : public CallHandler {
 public:
  NameMediator(std::shared_ptr<const WritablePlaces> places,
               std::shared_ptr<const CommandTree> tree)
      : places_(std::move(places)), tree_(std::move(tree)) {}

  CallAnswer OnCall(const seccomp_notif& call, int listener) override;

 private:
  // A name and, once it is held, its folder.
  struct Place {
    std::string path;
    std::string folder;
    std::string name;
    UniqueFd held;
  };

  [[nodiscard]] CallAnswer OnOpen(const Caller& caller);
  [[nodiscard]] CallAnswer OnRead(const Caller& caller, const OpenRequest& request);
  [[nodiscard]] CallAnswer OnName(const Caller& caller);
  // Where the name is that the caller means; nothing when it leads nowhere.
  [[nodiscard]] std::optional<Place> Locate(const std::string& path, bool follow);
  // Opens the folder; false when the name may not be changed, the folder is another one by now, or
  // its owner lacks one of `bits` on it.
  [[nodiscard]] bool Hold(Place& place, mode_t bits);
  // What is at the place, or at that of a folder of which a part is hidden, O_PATH; invalid when it
  // may not be read.
  [[nodiscard]] UniqueFd HoldToRead(Place& place);
  [[nodiscard]] UniqueFd HoldUnlisted(const std::string& folder) const;
  // The caller's file mode mask; nothing when nothing is done for it: it is in another sandbox
  // inside of this one, whose rules are not known here, or waits no more.
  [[nodiscard]] std::optional<mode_t> MaskOf(const Caller& caller) const;
  // Whether the rules give all that can be done in `folder`, so that the call may as well go on.
  [[nodiscard]] bool IsCovered(const std::string& folder) const;
  // The same for the folder of `path`, by its text alone: most calls are about such a place, and a
  // link that leads from there to another one is left to the rules.
  [[nodiscard]] bool SeemsCovered(const std::string& path) const;
  // The same for reading; links that start where the rules do not give all are looked at.
  [[nodiscard]] bool IsReadable(const std::string& folder) const;
  [[nodiscard]] bool SeemsReadable(const std::string& path, bool is_folder) const;
  [[nodiscard]] bool MayMove(const Place& from, const Place& to) const;
  [[nodiscard]] int Make(const Place& place, const NameRequest& request, mode_t mask);
  [[nodiscard]] int Rename(const Place& from, const Place& to, unsigned flags);
  [[nodiscard]] int Link(const Place& from, const Place& to);
  // Whether the file is known by all its names: one, or those that it was given here.
  [[nodiscard]] bool HasOwnNames(const struct stat& status) const;
  // A descriptor for the object that was opened (O_PATH): a file, or a folder to list it; invalid
  // when it may not be given.
  [[nodiscard]] UniqueFd OpenExisting(int object, std::uint64_t flags) const;
  [[nodiscard]] bool IsMovable(const struct stat& status) const;
  // Whether `folder` was made here, or is below such a one.
  [[nodiscard]] bool IsMade(const std::string& folder) const;
  void NoteMoved(const std::string& from, const std::string& to);
  [[nodiscard]] int Remove(const Place& place, int flags);

  const std::shared_ptr<const WritablePlaces> places_;
  const std::shared_ptr<const CommandTree> tree_;
  PlainPaths plain_;
  std::set<std::string> made_;                // What was made or moved here, by its place.
  std::set<std::pair<dev_t, ino_t>> linked_;  // Files that were given more names here.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_NAME_MEDIATOR_H_
