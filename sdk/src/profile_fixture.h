// For tests of profiles: folders on disk to make them for, and short ways to ask them.

#ifndef CORDON_SDK_SRC_PROFILE_FIXTURE_H_
#define CORDON_SDK_SRC_PROFILE_FIXTURE_H_

#include <string>
#include <string_view>

#include "cordon/sdk/profile.h"
#include "cordon/sdk/status.h"
#include "scratch_folder.h"
#include "support/catch.h"

namespace cordon::test {

inline constexpr Access kDeny = Access::kDeny;
inline constexpr Access kGated = Access::kGated;
inline constexpr Access kAllow = Access::kAllow;

// A workspace and a home on disk, and a profile over them that allows the workspace.
struct Host {
  ScratchFolder folder;
  std::string workspace = folder.MakeFolder("ws");
  std::string home = folder.MakeFolder("home");

  [[nodiscard]] ProfileConfig Config() const {
    ProfileConfig config;
    config.workspace_root = workspace;
    config.home_root = home;
    config.workspace_read = kAllow;
    config.workspace_write = kAllow;
    config.command = kAllow;
    return config;
  }
};

inline Profile Created(const ProfileConfig& config) {
  const absl::StatusOr<Profile> profile = Profile::Create(config);
  INFO(std::string(profile.status().message()));
  REQUIRE(profile.ok());
  CHECK(profile->valid());
  return *profile;
}

// Refused as kInvalidProfile with a message that has `text` in it.
inline void CheckRefused(const ProfileConfig& config, std::string_view text) {
  const absl::Status status = Profile::Create(config).status();
  INFO("expected: " << text << ", got: " << std::string(status.message()));
  CHECK(Is(status, ErrorCode::kInvalidProfile));
  CHECK(std::string(status.message()).find(text) != std::string::npos);
}

inline Access ReadAt(const Profile& profile, std::string_view path) {
  return profile.Explain(Axis::kRead, path).access;
}
inline Access WriteAt(const Profile& profile, std::string_view path) {
  return profile.Explain(Axis::kWrite, path).access;
}

}  // namespace cordon::test

#endif  // CORDON_SDK_SRC_PROFILE_FIXTURE_H_
