// Names that must not come into being while commands of a set run, for other programs of the same
// user that run commands in the same workspace: see running_names.h. They are in a file in the
// set's own scratch folder, which nobody but the user may enter and no command sees.

#ifndef CORDON_SANDBOX_SRC_PUBLISHED_NAMES_H_
#define CORDON_SANDBOX_SRC_PUBLISHED_NAMES_H_

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/unique_fd.h"
#include "view.h"

namespace cordon::internal {

// Those of one set. Safe from any thread.
class PublishedNames {
 public:
  // `folder`: the set's scratch folder, absolute. The file is made with the first names.
  explicit PublishedNames(std::string folder) : folder_(std::move(folder)) {}
  PublishedNames(const PublishedNames&) = delete;
  PublishedNames& operator=(const PublishedNames&) = delete;
  ~PublishedNames();

  // A command that must not leave anything under the view's absent names, or under `more`, is about
  // to be started. False when that could not be said.
  [[nodiscard]] bool Begin(const std::shared_ptr<const CompiledView>& view,
                           const std::vector<std::string>& more);
  // One that was begun has been tidied up after.
  void End();

  // Those of the commands that run now in sets of this user whose scratch folders are beside
  // `own_folder` (absolute).
  [[nodiscard]] static std::set<std::string> OfOthers(const std::string& own_folder);

 private:
  struct Shared;

  [[nodiscard]] bool OpenLocked();
  [[nodiscard]] bool WriteLocked(const CompiledView& view, const std::vector<std::string>& more);

  const std::string folder_;
  std::mutex mutex_;
  UniqueFd file_;
  Shared* shared_ = nullptr;  // The start of the file, mapped; null while there are no names.
  std::set<std::shared_ptr<const CompiledView>> views_;  // Whose names are written.
  std::set<std::string> written_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PUBLISHED_NAMES_H_
