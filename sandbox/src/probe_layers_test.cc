#include "probe_layers.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "sandbox_testing.h"
#include "simulated_failures.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::TemporaryFolder;
namespace fs = std::filesystem;

bool Mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A host with one setting.
class Settings {
 public:
  Settings(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(top_ / path).parent_path());
    std::ofstream(top_ / path) << text << '\n';
  }
  [[nodiscard]] std::string Fix(Step step, int error_number) const {
    return FixFor(step, error_number, top_.path());
  }

 private:
  TemporaryFolder top_;
};

TEST_CASE("the fix for missing namespaces is that of the setting which forbids them") {
  const Settings apparmor("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1");
  CHECK(Mentions(apparmor.Fix(Step::kIdMaps, EPERM), "apparmor_restrict_unprivileged_userns=0"));
  const Settings debian("proc/sys/kernel/unprivileged_userns_clone", "0");
  CHECK(Mentions(debian.Fix(Step::kNamespaces, EPERM), "unprivileged_userns_clone=1"));
  const Settings none("proc/sys/user/max_user_namespaces", "0");
  CHECK(Mentions(none.Fix(Step::kNamespaces, ENOSPC), "user.max_user_namespaces"));
  const Settings container("proc/self/status", "Name:\tx\nSeccomp:\t2");
  CHECK(Mentions(container.Fix(Step::kNamespaces, EPERM), "seccomp=unconfined"));
  const Settings plain("proc/self/status", "Name:\tx\nSeccomp:\t0");
  CHECK(Mentions(plain.Fix(Step::kNamespaces, EPERM), "chroot"));
}

TEST_CASE("the fix for each other layer names what is to be done") {
  CHECK(Mentions(FixFor(Step::kProc, EPERM), "systempaths=unconfined"));
  CHECK(Mentions(FixFor(Step::kView, ENOSYS), "Linux 5.12"));
  CHECK(Mentions(FixFor(Step::kLandlock, EOPNOTSUPP), "lsm="));
  CHECK(Mentions(FixFor(Step::kLandlock, ENOSYS), "Linux 5.13"));
  CHECK(Mentions(FixFor(Step::kLandlock, EPERM), "seccomp=unconfined"));
  CHECK(Mentions(FixFor(Step::kSeccomp, EINVAL), "CONFIG_SECCOMP_FILTER"));
  CHECK(Mentions(FixFor(Step::kInit, ENOENT), "/proc"));
  CHECK(Mentions(FixFor(Step::kInit, EACCES), "nested"));
}

TEST_CASE("older kernels' Landlock is said to lack what newer ones have") {
  CHECK(LandlockGaps(0).empty());
  CHECK(LandlockGaps(2).size() == 4);
  CHECK(LandlockGaps(4).size() == 2);
  CHECK(LandlockGaps(7).empty());
}

TEST_CASE("steps that a test has fail are named with an errno, else nothing works at all") {
  CHECK(ParseSimulatedFailures("").empty());
  CHECK(ParseSimulatedFailures("id maps:1,landlock:38") ==
        SimulatedFailures{{Step::kIdMaps, 1}, {Step::kLandlock, 38}});
  for (const char* text : {"id maps", "id maps:", "nothing:1", "landlock:0", "landlock:x", ","}) {
    INFO(text);
    CHECK(ParseSimulatedFailures(text) == SimulatedFailures{{Step::kPlan, EINVAL}});
  }
}

}  // namespace
}  // namespace cordon::internal
