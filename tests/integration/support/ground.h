// The ground on which a test of the whole program stands: a workspace, a home and a place that is
// neither, in a scratch folder that is removed at the end.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_GROUND_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_GROUND_H_

#include <string>
#include <string_view>
#include <vector>

#include "integration/support/child.h"

namespace cordon::test {

class Ground {
 public:
  Ground();
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;
  ~Ground();

  // All absolute, without symbolic links.
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] const std::string& workspace() const { return workspace_; }
  [[nodiscard]] const std::string& home() const { return home_; }        // $HOME of `environment`.
  [[nodiscard]] const std::string& outside() const { return outside_; }  // Neither of the two.
  [[nodiscard]] const std::string& temporary() const { return temporary_; }  // $TMPDIR of it.

  // What programs are started with: the same everywhere, nothing of the caller but PATH's default.
  [[nodiscard]] const Environment& environment() const { return environment_; }
  void SetVariable(const std::string& name, const std::string& value) {
    environment_[name] = value;
  }

  // In all of these a relative path starts at the workspace.
  [[nodiscard]] std::string PathOf(std::string_view path) const;
  std::string MakeFile(std::string_view path, std::string_view content) const;
  std::string MakeProgram(std::string_view path, std::string_view content) const;
  std::string MakeFolder(std::string_view path) const;
  std::string MakeLink(std::string_view path, std::string_view target) const;
  void Remove(std::string_view path) const;
  [[nodiscard]] bool Exists(std::string_view path) const;  // Also for a link that leads nowhere.
  // The text of a file; "(missing)" where there is none.
  [[nodiscard]] std::string Read(std::string_view path) const;

  // Everything in the workspace is removed.
  void EmptyWorkspace() const;

  // Runs shell text in the workspace without any sandbox.
  Ended RunUnconfined(std::string_view text) const;

 private:
  std::string root_;
  std::string workspace_;
  std::string home_;
  std::string outside_;
  std::string temporary_;
  Environment environment_;
};

// A line for everything below `folder`: kind, mode, owner, size, change of the content, name,
// content or target. What a folder's own times say does not count.
[[nodiscard]] std::vector<std::string> Snapshot(const std::string& folder);

[[nodiscard]] bool RunningAsRoot();

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_GROUND_H_
