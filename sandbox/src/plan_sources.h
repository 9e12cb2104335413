// The objects of the host that a view's mounts are made of, or, where there is no view, that
// Landlock's rules are about. A sandbox that was made ahead may only be used while the same paths
// still lead to the same objects.

#ifndef CORDON_SANDBOX_SRC_PLAN_SOURCES_H_
#define CORDON_SANDBOX_SRC_PLAN_SOURCES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checked_folders.h"
#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"
#include "object_identity.h"
#include "plan.h"

namespace cordon::internal {

// For one thread at a time.
class PlanSources {
 public:
  // Looks at the objects that the plan mounts, covers or pins or, without namespaces, gives rights
  // for, and writes their identities into it: a sandbox made of it has these very objects, or fails
  // (ESTALE). What is not there must not be there then either.
  explicit PlanSources(SandboxPlan& plan);

  // Whether every path still leads to the object that it led to, and nothing was mounted or
  // unmounted on the host. Asks for the folders that the objects are in, and for an object itself
  // only when something in its folder has changed. Once false, always false.
  // A folder that was just checked for the command, and has not changed since it was last asked
  // for, is not asked for again.
  [[nodiscard]] bool StillHold(const CheckedFolders& checked = {});

 private:
  struct Object {
    std::string path;
    ObjectIdentity identity;
  };
  struct Folder {
    DirectoryStamp stamp;
    bool may_change_unnoticed = false;
    std::uint64_t version = 0;  // Of the `CheckedFolders` when it was last asked for.
    std::vector<Object> objects;
  };

  void NoteView(std::vector<ViewOp>& ops);
  void NoteRules(std::vector<LandlockRule>& rules);
  ObjectIdentity Note(const std::string& path);
  [[nodiscard]] bool FolderHolds(const std::string& path, Folder& folder) const;
  [[nodiscard]] bool MountsChanged() const;

  std::map<std::string, Folder> folders_;
  UniqueFd mounts_;  // /proc/self/mountinfo, which poll(2) watches (proc(5)).
  bool hold_ = true;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PLAN_SOURCES_H_
