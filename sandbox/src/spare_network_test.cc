// Networks that are made ahead for sandboxes that start from a template
// (launcher/spare_network.h).

#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

#include "cordon/sdk/unique_fd.h"
#include "output_pump.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;

// Its network and whether it starts from a template, as view_template_test.cc tells; then what is
// to be seen in the network. Lives until its input ends.
constexpr char kShowNetwork[] =
    "readlink /proc/self/ns/net; "
    "[ $(stat -c %d /dev/shm) = $(stat -c %d /) ] && echo new || echo template; "
    "wc -l </proc/net/dev; wc -l </proc/net/tcp; "
    "grep -q 127.0.0.1 /proc/net/fib_trie && echo up; echo end; cat >/dev/null";

// A sandbox that runs.
struct Seen {
  SpawnedSandbox sandbox;
  UniqueFd input;
  std::string network;
  bool from_template = false;
  std::string shown;
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

// Up to the line that says so.
std::string ReadToEnd(int pipe) {
  std::string text;
  char part[256];
  while (text.find("end\n") == std::string::npos) {
    REQUIRE(WaitReadable(pipe));
    const ssize_t size = read(pipe, part, sizeof(part));
    REQUIRE(size > 0);
    text.append(part, static_cast<std::size_t>(size));
  }
  return text;
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
    seen.sandbox = *std::move(spawned);
    seen.input = std::move(input.writer);
    std::istringstream text(ReadToEnd(output.reader.get()));
    std::string kind;
    std::getline(text, seen.network);
    std::getline(text, kind);
    seen.from_template = kind == "template";
    seen.shown.assign(std::istreambuf_iterator<char>(text), {});
    // Its first process may not be looked into by others than root.
    if (geteuid() == 0) seen.made_ahead = IsMadeAhead(seen.sandbox.pidfd.get());
    return seen;
  }

 private:
  const std::shared_ptr<Launcher> launcher_ = StartedLauncherOrFail();
  const std::uint32_t id_;
};

TEST_CASE("networks are made ahead, for one sandbox each, and are as new ones") {
  NEEDS_NAMESPACES();
  if (geteuid() != 0) CORDON_SKIP("root", "only root can look into a sandbox's first process");
  Networks networks(SystemPlan());
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  Seen last = networks.Run();
  CHECK_FALSE(last.made_ahead);
  CHECK(last.shown == "3\n1\nup\nend\n");
  while (!last.from_template && std::chrono::steady_clock::now() < deadline) last = networks.Run();
  if (!last.from_template) CORDON_SKIP("templates", "no template: before Linux 6.15?");
  int ahead = 0;
  while (ahead < 3 && std::chrono::steady_clock::now() < deadline) {
    // The launcher makes them when it has had nothing to do for a moment.
    (void)poll(nullptr, 0, 5);
    Seen seen = networks.Run();
    if (seen.made_ahead) ++ahead;
    CHECK(seen.shown == last.shown);
    CHECK(seen.network != last.network);  // Which is still there.
    last = std::move(seen);
  }
  CHECK(ahead == 3);
}

TEST_CASE("a command with the host's network gets none that was made ahead") {
  NEEDS_NAMESPACES();
  SandboxPlan plan = SystemPlan();
  plan.host_network = true;
  Networks networks(plan);
  const std::string own = fs::read_symlink("/proc/self/ns/net");
  for (int i = 0; i < 5; ++i) {
    CHECK(networks.Run().network == own);
    (void)poll(nullptr, 0, 5);
  }
}

}  // namespace
}  // namespace cordon::internal::testing
