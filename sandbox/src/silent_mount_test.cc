// A file system of user space whose server never answers holds up no command that does not use it.

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "executor_testing.h"
#include "mount_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::EnterMountNamespace;
using testing::InChild;
using testing::SandboxFixture;

constexpr int kNotHere = 77;

// The server's end, at which nobody listens; -1 where none can be mounted.
int MountSilent(const std::string& folder) {
  const int server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  const std::string options = "fd=" + std::to_string(server) +
                              ",rootmode=40000,user_id=" + std::to_string(geteuid()) +
                              ",group_id=" + std::to_string(getegid());
  const bool mounted = server >= 0 && mount("none", folder.c_str(), "fuse", MS_NOSUID | MS_NODEV,
                                            options.c_str()) == 0;
  return mounted ? server : -1;
}

TEST_CASE("a mount that never answers holds no start up, and is closed where rules might apply",
          "[live]") {
  const bool on_host = GENERATE(false, true);
  if (!on_host) CORDON_NEED_NAMESPACES();
  const std::string glob = GENERATE("", "**/.env");
  SandboxFixture fixture;
  if (on_host) fixture.options.backend = Backend::kLandlock;
  if (!glob.empty()) fixture.config.deny_read = {glob};
  const std::string silent = fixture.workspace() + "/silent";
  std::filesystem::create_directory(silent);
  const int result = InChild([&] {
    if (!EnterMountNamespace() || MountSilent(silent) < 0) return kNotHere;
    alarm(testing::kDeadline.count());  // Ends this process, and with it the server.
    const auto set = fixture.Make();
    if (!set.ok()) return on_host ? kNotHere : 2;
    const auto executor = (*set)->For("test");
    if (!executor.ok()) return 3;
    for (int i = 0; i < 2; ++i) {
      const auto ran = (*executor)->RunCommand(fixture.workspace(), "echo x >made");
      if (!ran.ok() || ran->outcome.code != 0) return 4;
      bool said = false;
      for (const ReportEntry& entry : ran->report.entries) {
        said = said || entry.detail.find(silent) != std::string::npos;
      }
      if (!said) return 5;
    }
    return 0;
  });
  if (result == kNotHere) CORDON_SKIP("fuse", "none can be mounted, or there is no such tier");
  CHECK(result == 0);
}

}  // namespace
}  // namespace cordon::internal
