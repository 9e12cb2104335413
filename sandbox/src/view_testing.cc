#include "view_testing.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/catch.h"
#include "view_system.h"

namespace cordon::internal::testing {

namespace fs = std::filesystem;

ViewFixture::ViewFixture() {
  for (const char* name :
       {"ws", "home", "outside", "scratch/home", "scratch/tmp", "scratch/cache"}) {
    fs::create_directories(top / name);
  }
}

ProfileConfig ViewFixture::Config(std::string_view preset) const {
  absl::StatusOr<ProfileConfig> config = PresetConfig(preset, workspace);
  REQUIRE(config.ok());
  config->home_root = home;
  return *config;
}

Profile ViewFixture::MakeProfile(const ProfileConfig& config) const {
  absl::StatusOr<Profile> profile = Profile::Create(config);
  if (!profile.ok()) FAIL(profile.status());
  return *profile;
}

CompiledView ViewFixture::Compile(const ProfileConfig& config) const {
  return Compile(MakeProfile(config));
}

CompiledView ViewFixture::Compile(const Profile& profile) const {
  absl::StatusOr<CompiledView> view =
      CompileView(profile, profile.paths(), scratch(), /*landlock_abi=*/7);
  if (!view.ok()) FAIL(view.status());
  return *std::move(view);
}

SandboxPlan ViewFixture::PlanOf(const CompiledView& view) {
  SandboxPlan plan;
  plan.host_network = true;
  plan.view = view.ops;
  return plan;
}

Ran ViewFixture::RunIn(const ProfileConfig& config, const std::string& text) const {
  const Profile profile = MakeProfile(config);
  const CompiledView view = Compile(profile);
  const FoldersInView folders = FindFoldersInView(profile);
  CommandPlan command = Shell(text);
  command.working_directory = workspace;
  command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8",
                         "HOME=" + folders.home, "TMPDIR=" + folders.temporary,
                         "CACHE=" + folders.cache};
  Ran ran = Run(PlanOf(view), command);
  if (const SpawnEvent* failure = ran.failure()) {
    FAIL("step " << StepName(failure->step) << " " << failure->detail << ": errno "
                 << failure->error_number);
  }
  (void)UndoCreatedNames(view.absent);
  return ran;
}

bool ViewFixture::WorksOutside(const std::string& text) const {
  const std::string command =
      "cd '" + workspace + "' && { " + text + "; } >/dev/null 2>&1 </dev/null";
  return std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c): the tests' own text.
}

std::string ViewFixture::Write(const std::string& path, const std::string& text) const {
  const std::string full = top / path;
  fs::create_directories(fs::path(full).parent_path());
  std::ofstream(full) << text;
  return full;
}

ScratchFolders ViewFixture::scratch() const {
  return {top / "scratch/home", top / "scratch/tmp", top / "scratch/cache", top / "scratch"};
}

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace cordon::internal::testing
