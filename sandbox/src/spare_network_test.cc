// Networks that are made ahead for sandboxes that start from a template
// (launcher/spare_network.h).

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "cordon/sdk/unique_fd.h"
#include "output_pump.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;

// Writes a line, then waits for its input to end. What it wrote is all that there is of it.
constexpr char kShowNetwork[] =
    "readlink /proc/self/ns/net; wc -l </proc/net/dev; wc -l </proc/net/tcp; "
    "grep -q 127.0.0.1 /proc/net/fib_trie && echo up; cat >/dev/null";

struct Seen {
  std::string output;
  // By whether the network belongs to the sandbox's own user namespace, it was made with it.
  bool made_ahead = false;
};

std::string PidOf(int pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  const std::string text((std::istreambuf_iterator<char>(info)), {});
  return Field(text, "Pid");
}

ino_t InodeOf(int descriptor) {
  struct stat status = {};
  REQUIRE(fstat(descriptor, &status) == 0);
  return status.st_ino;
}

bool IsMadeAhead(int pidfd) {
  const std::string namespaces = "/proc/" + PidOf(pidfd) + "/ns/";
  const UniqueFd user(open((namespaces + "user").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd network(open((namespaces + "net").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE((user.valid() && network.valid()));
  const UniqueFd owner(ioctl(network.get(), NS_GET_USERNS));
  return !owner.valid() || InodeOf(owner.get()) != InodeOf(user.get());
}

class Networks {
 public:
  explicit Networks(const SandboxPlan& plan) : id_(launcher_->AddPlan(plan).value()) {}

  Seen Run() {
    SpawnPlace place;
    place.template_plan = id_;
    Pipe input = MakePipe().value();
    Pipe output = MakePipe().value();
    auto spawned = launcher_->Spawn(id_, Shell(kShowNetwork), input.reader.get(),
                                    output.writer.get(), output.writer.get(), place);
    REQUIRE(spawned.ok());
    output.writer.Reset();
    Seen seen;
    // Its first process may not be looked into by others than root.
    REQUIRE(WaitReadable(output.reader.get()));
    if (geteuid() == 0) seen.made_ahead = IsMadeAhead(spawned->pidfd.get());
    input.writer.Reset();
    seen.output = ReadAll(output.reader.get());
    REQUIRE(WaitReadable(spawned->pidfd.get()));
    return seen;
  }

 private:
  const std::shared_ptr<Launcher> launcher_ = StartedLauncherOrFail();
  const std::uint32_t id_;
};

TEST_CASE("a network that was made ahead serves one sandbox, and is as a new one") {
  NEEDS_NAMESPACES();
  if (geteuid() != 0) CORDON_SKIP("root", "only root can look into a sandbox's first process");
  Networks networks(SystemPlan());
  const Seen first = networks.Run();
  CHECK_FALSE(first.made_ahead);
  const std::string shown = first.output.substr(first.output.find('\n'));
  CHECK(shown == "\n3\n1\nup\n");
  std::set<std::string> outputs = {first.output};
  std::size_t runs = 1;
  std::size_t ahead = 0;
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (ahead < 3 && std::chrono::steady_clock::now() < deadline) {
    // The launcher makes them when it has had nothing to do for a moment.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Seen seen = networks.Run();
    ++runs;
    if (seen.made_ahead) ++ahead;
    CHECK(seen.output.substr(seen.output.find('\n')) == shown);
    outputs.insert(seen.output);
  }
  if (ahead == 0) CORDON_SKIP("templates", "no template: before Linux 6.15?");
  CHECK(ahead == 3);
  // The kernel may give the number of one that is gone to another, but not to one that is there.
  CHECK(outputs.size() > 1);
  CHECK(runs >= 4);
}

TEST_CASE("a command with the host's network gets none that was made ahead") {
  NEEDS_NAMESPACES();
  SandboxPlan plan = SystemPlan();
  plan.host_network = true;
  Networks networks(plan);
  const std::string own = fs::read_symlink("/proc/self/ns/net");
  for (int i = 0; i < 5; ++i) {
    CHECK(networks.Run().output.substr(0, own.size()) == own);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace
}  // namespace cordon::internal::testing
