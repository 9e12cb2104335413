// For tests: a workspace with a home, an outside and scratch folders, and views compiled for it.

#ifndef CORDON_SANDBOX_SRC_VIEW_TESTING_H_
#define CORDON_SANDBOX_SRC_VIEW_TESTING_H_

#include <string>
#include <string_view>

#include "cordon/sdk/profile.h"
#include "sandbox_testing.h"
#include "view.h"

namespace cordon::internal::testing {

class ViewFixture {
 public:
  ViewFixture();

  // Of a preset, in `workspace`, with `home` as the user's home.
  [[nodiscard]] ProfileConfig Config(std::string_view preset = "workspace") const;

  [[nodiscard]] Profile MakeProfile(const ProfileConfig& config) const;
  [[nodiscard]] CompiledView Compile(const ProfileConfig& config) const;
  [[nodiscard]] CompiledView Compile(const Profile& profile) const;

  // A plan of `view`, without seccomp.
  [[nodiscard]] static SandboxPlan PlanOf(const CompiledView& view);

  // Runs `text` in the workspace, in a view of `config`, and undoes what it must not have made.
  [[nodiscard]] Ran RunIn(const ProfileConfig& config, const std::string& text) const;

  // Whether `text` succeeds in the workspace as a person would run it, without any sandbox: the
  // control of what a command is refused.
  [[nodiscard]] bool WorksOutside(const std::string& text) const;

  // Makes the file `path`, relative to the fixture's top, with the folders above it.
  std::string Write(const std::string& path, const std::string& text = "text\n") const;

  [[nodiscard]] ScratchFolders scratch() const;

  TemporaryFolder top;
  std::string workspace = top / "ws";
  std::string home = top / "home";
  std::string outside = top / "outside";
};

// The content of a file.
[[nodiscard]] std::string Contents(const std::string& path);

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_VIEW_TESTING_H_
