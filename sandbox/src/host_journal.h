// What a compilation of a view asked the host, and what it was told: while every answer would be
// the same, so would the view.

#ifndef CORDON_SANDBOX_SRC_HOST_JOURNAL_H_
#define CORDON_SANDBOX_SRC_HOST_JOURNAL_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"
#include "folder_watches.h"

namespace cordon::internal {

// The questions of host_looks.h.
enum class LookKind : std::uint8_t {
  kType,
  kFile,
  kLink,
  kNames,
  kText,
  kOwner,
  kResolved,
  kSockets
};

// For one thread at a time.
//
// Nothing is forgotten by accident: what goes through directory_reader.h and not through
// host_looks.h while a journal is kept makes it worthless (`StillHolds` is false then), unless
// somebody has said, with `Unnoted`, that the answer is looked after elsewhere. That the sources of
// a compilation ask the kernel in no other way is checked by tests/boundaries.
class HostJournal {
 public:
  // To be made before the first look.
  HostJournal();
  HostJournal(const HostJournal&) = delete;
  HostJournal& operator=(const HostJournal&) = delete;

  // The looks of this thread go into the journal while this exists; not nested.
  class Recording {
   public:
    explicit Recording(HostJournal& journal);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
  };

  // What this thread asks while this exists is not noted.
  class Unnoted {
   public:
    Unnoted();
    ~Unnoted();
    Unnoted(const Unnoted&) = delete;
    Unnoted& operator=(const Unnoted&) = delete;

   private:
    HostJournal* const suspended_;
  };

  // The journal that this thread keeps; null for none.
  [[nodiscard]] static HostJournal* OfThisThread();
  // For looks that nobody can repeat.
  static void NoteUnrepeatable();

  // One that was noted before must have had the same answer, or the journal is worth nothing.
  void Note(LookKind kind, std::string_view path, const std::string& answer);

  // Whether every question has the answer that it had, for the same user, and nothing was mounted
  // or unmounted. A name in a folder that keeps times (`KeepsTimes`) is taken to be what it was
  // while its folder is the same object with the same times, seen when those could no longer be
  // given to a later change. Of a journal that is asked often the folders are watched, where that
  // is reliable (folder_watches.h), and not asked for their times while nothing happens in them and
  // in those that lead to them. `links_may_differ`: files may have got other names since, which no
  // folder of theirs tells.
  [[nodiscard]] bool StillHolds(bool links_may_differ = false);

  // The folders that have not changed, by their times, since the last `StillHolds` that is counted
  // in `rechecks`.
  [[nodiscard]] std::set<std::string> UnchangedFolders() const;
  // How often a `StillHolds` had to ask more of a folder than for its times.
  [[nodiscard]] std::uint64_t rechecks() const { return rechecks_; }

  // Whether `folder` shows, by its times, that the names in it are what they were at the last
  // `StillHolds`; and whether `path` in it was missing then.
  [[nodiscard]] bool IsUnchanged(const std::string& folder) const;
  [[nodiscard]] bool WasMissing(const std::string& path) const;

 private:
  using Looks = std::map<std::pair<LookKind, std::string>, std::string>;  // To the answer.
  struct Folder {
    Looks looks;  // At names in it, and at its list of names.
    DirectoryStamp stamp;
    bool settled = false;    // All looks had their answer after it had the stamp.
    bool missing = false;    // All looks had their answer, as it was missing.
    bool unchanged = false;  // In the present `StillHolds`.
    FolderWatch watch;       // Only where all folders that lead to it have one in `ways_`.
  };
  struct Caller {
    uid_t user = 0;
    gid_t group = 0;
    DirectoryStamp root;  // Device and inode.
    std::uint64_t mount = 0;

    friend bool operator==(const Caller&, const Caller&) = default;
  };

  [[nodiscard]] static Caller PresentCaller();
  [[nodiscard]] bool AlwaysHolds();
  [[nodiscard]] static bool Holds(const Looks& looks);
  [[nodiscard]] static bool FilesHold(const Looks& looks);
  [[nodiscard]] bool MountsChanged() const;
  [[nodiscard]] bool FolderHolds(const std::string& path, Folder& folder, bool links_may_differ);
  [[nodiscard]] bool IsMissingStill(const std::string& path, const Folder& folder) const;
  [[nodiscard]] bool KeepsTimes(const std::string& folder, std::uint64_t device);
  // Whether nothing has happened in what is watched since it was last looked at.
  [[nodiscard]] bool IsQuiet();
  void StartWatching();
  [[nodiscard]] bool WatchWayTo(const std::string& folder);
  [[nodiscard]] bool Watch(const std::string& folder, FolderWatch& watch);

  std::unique_ptr<FolderWatches> watches_;   // Outlives each watch.
  std::map<std::string, FolderWatch> ways_;  // By path.
  bool is_quiet_ = false;                    // In the present `StillHolds`.
  std::size_t asked_ = 0;
  std::size_t disturbed_ = 0;  // In a row.
  Looks always_;               // To be asked again each time.
  std::map<std::string, Folder> folders_;
  std::map<std::uint64_t, bool> keeps_times_;  // By device.
  UniqueFd mounts_;   // /proc/self/mountinfo, which poll(2) watches (proc(5)).
  UniqueFd sockets_;  // `UnixSocketTable::Open`, once it was needed.
  Caller caller_;
  std::uint64_t rechecks_ = 0;
  bool worthless_ = false;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_HOST_JOURNAL_H_
