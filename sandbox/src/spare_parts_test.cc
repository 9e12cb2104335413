// What is made ahead for sandboxes that start from a template (launcher/spare_parts.h).

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
#include <vector>

#include "cordon/sdk/unique_fd.h"
#include "output_pump.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;

// Its namespaces and whether it starts from a template, as view_template_test.cc tells; then what
// is to be seen in them. Leaves an IPC object there, and lives until its input ends.
constexpr char kShow[] =
    "echo $(readlink /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/uts); "
    "[ $(stat -c %d /dev/shm) = $(stat -c %d /) ] && echo new || echo template; "
    "wc -l </proc/net/dev; wc -l </proc/net/tcp; "
    "grep -q 127.0.0.1 /proc/net/fib_trie && echo up; hostname; "
    "wc -l </proc/sysvipc/msg; ipcmk -Q >/dev/null; wc -l </proc/sysvipc/msg; "
    "echo end; cat >/dev/null";

// A sandbox that runs.
struct Seen {
  SpawnedSandbox sandbox;
  UniqueFd input;
  std::vector<std::string> namespaces;  // Network, IPC, host name.
  bool from_template = false;
  std::string shown;
  // By whether they belong to the sandbox's own user namespace, they were made with it.
  bool network_made_ahead = false;
  bool ipc_made_ahead = false;
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

bool IsMadeAhead(int pidfd, const std::string& kind) {
  const std::string namespaces = "/proc/" + PidOf(pidfd) + "/ns/";
  const UniqueFd user(open((namespaces + "user").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd made(open((namespaces + kind).c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE((user.valid() && made.valid()));
  const UniqueFd owner(ioctl(made.get(), NS_GET_USERNS));
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

class Sandboxes {
 public:
  explicit Sandboxes(const SandboxPlan& plan) : id_(launcher_->AddPlan(plan).value()) {}

  Seen Run() {
    SpawnPlace place;
    place.template_plan = id_;
    Pipe input = MakePipe().value();
    Pipe output = MakePipe().value();
    auto spawned = launcher_->Spawn(id_, Shell(kShow), input.reader.get(), output.writer.get(),
                                    output.writer.get(), place);
    REQUIRE(spawned.ok());
    output.writer.Reset();
    Seen seen;
    seen.sandbox = *std::move(spawned);
    seen.input = std::move(input.writer);
    std::istringstream text(ReadToEnd(output.reader.get()));
    std::string kind;
    std::string names;
    std::getline(text, names);
    std::istringstream words(names);
    seen.namespaces.assign(std::istream_iterator<std::string>(words), {});
    REQUIRE(seen.namespaces.size() == 3);
    std::getline(text, kind);
    seen.from_template = kind == "template";
    seen.shown.assign(std::istreambuf_iterator<char>(text), {});
    // Its first process may not be looked into by others than root.
    if (geteuid() == 0) {
      seen.network_made_ahead = IsMadeAhead(seen.sandbox.pidfd.get(), "net");
      seen.ipc_made_ahead = IsMadeAhead(seen.sandbox.pidfd.get(), "ipc");
    }
    return seen;
  }

 private:
  const std::shared_ptr<Launcher> launcher_ = StartedLauncherOrFail();
  const std::uint32_t id_;
};

TEST_CASE("what one sandbox needs for itself is made ahead, for one sandbox each, and is as new") {
  NEEDS_NAMESPACES();
  if (geteuid() != 0) CORDON_SKIP("root", "only root can look into a sandbox's first process");
  SandboxPlan plan = SystemPlan();
  const bool host_network = GENERATE(false, true);
  CAPTURE(host_network);
  plan.host_network = host_network;
  Sandboxes sandboxes(plan);
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  Seen last = sandboxes.Run();
  const Seen first = std::move(last);
  CHECK(first.network_made_ahead == host_network);  // That one is of no sandbox.
  CHECK_FALSE(first.ipc_made_ahead);
  if (!host_network) CHECK(first.shown.starts_with("3\n1\nup\n"));
  CHECK(first.shown.ends_with("\n1\n2\nend\n"));
  last = sandboxes.Run();
  while (!last.from_template && std::chrono::steady_clock::now() < deadline) last = sandboxes.Run();
  if (!last.from_template) CORDON_SKIP("templates", "no template: before Linux 6.15?");
  int ahead = 0;
  while (ahead < 3 && std::chrono::steady_clock::now() < deadline) {
    // The launcher makes them when it has had nothing to do for a moment.
    (void)poll(nullptr, 0, 5);
    Seen seen = sandboxes.Run();
    if (!host_network) CHECK(seen.network_made_ahead == seen.ipc_made_ahead);
    if (seen.ipc_made_ahead) ++ahead;
    if (!host_network) CHECK(seen.shown == first.shown);
    // All of which are still there.
    for (const Seen* other : {&first, static_cast<const Seen*>(&last)}) {
      CHECK((seen.namespaces[0] == other->namespaces[0]) == host_network);
      CHECK(seen.namespaces[1] != other->namespaces[1]);
      CHECK(seen.namespaces[2] != other->namespaces[2]);
    }
    last = std::move(seen);
  }
  CHECK(ahead == 3);
}

TEST_CASE("a command with the host's network gets none that was made ahead") {
  NEEDS_NAMESPACES();
  SandboxPlan plan = SystemPlan();
  plan.host_network = true;
  Sandboxes sandboxes(plan);
  const std::string own = fs::read_symlink("/proc/self/ns/net");
  for (int i = 0; i < 5; ++i) {
    CHECK(sandboxes.Run().namespaces[0] == own);
    (void)poll(nullptr, 0, 5);
  }
}

}  // namespace
}  // namespace cordon::internal::testing
