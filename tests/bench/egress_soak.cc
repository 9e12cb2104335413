// Connections and bytes without end, through our explicit front or from within a sandbox, where no
// program knows of a proxy: no descriptor and no memory is left behind, and no byte is wrong,
// missing or too many.
//
//   egress_soak [--transparent] [CONNECTIONS [MIB]]     200000 and 20480 by default
//
// Ends with 0 when all is well, with 77 where there can be no such sandbox.

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/net-proxy/proxy.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/profile.h"
#include "egress_traffic.h"
#include "soak_traffic.h"

namespace cordon::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kCannotTell = 77;
constexpr char kName[] = "soak.test";
constexpr SoakAmount kWarmUp = {2000, 256U << 20U};
#ifdef CORDON_ADDRESS_SANITIZER
constexpr std::size_t kMayGrowKiB = std::size_t{512} * 1024;  // Its allocator keeps what was freed.
#else
constexpr std::size_t kMayGrowKiB = std::size_t{8} * 1024;
#endif

struct State {
  std::size_t descriptors = 0;
  std::size_t resident_kib = 0;
};

State StateOf(pid_t pid) { return {Descriptors(pid), ResidentKiB(pid)}; }

// The state when as few descriptors as before are left, or after five seconds.
State SettledState(pid_t pid, std::size_t descriptors) {
  State state = StateOf(pid);
  for (const auto start = Clock::now(); state.descriptors > descriptors && Since(start) < 5;) {
    poll(nullptr, 0, 20);
    state = StateOf(pid);
  }
  return state;
}

struct Counts {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;
  std::uint64_t failures = 0;
};

Counts CountsOf(const SoakTotals& totals) {
  return {totals.connections, totals.bytes, totals.failures};
}

void Print(const char* what, const Counts& counts, const State& state, double seconds) {
  std::printf("%-8s %9" PRIu64 " connections %8.2f GiB %4zu descriptors %7zu KiB %7.1f s\n", what,
              counts.connections, static_cast<double>(counts.bytes) / (1U << 30U),
              state.descriptors, state.resident_kib, seconds);
  std::fflush(stdout);
}

// Sends `amount` through the relay and says what came of it.
using Send = std::function<Counts(const SoakAmount& amount, bool with_lines)>;

// Of the relay in process `pid`, around `send`.
int Soak(pid_t pid, const SoakAmount& amount, const Send& send) {
  const State fresh = StateOf(pid);
  // Buffers, threads and pipes that are kept on purpose come with the first connections.
  const Counts warm_up = send(
      {std::min(amount.connections, kWarmUp.connections), std::min(amount.bytes, kWarmUp.bytes)},
      false);
  // Pipes that are kept for the next bulk are descriptors too.
  const State before = SettledState(pid, fresh.descriptors);
  Print("before", warm_up, before, 0);
  const auto start = Clock::now();
  const Counts counts = send(amount, true);
  const double seconds = Since(start);
  const State after = SettledState(pid, before.descriptors);
  Print("after", counts, after, seconds);
  const std::uint64_t failures = counts.failures + warm_up.failures;
  const bool is_all = counts.connections >= amount.connections;
  // Sixteen pipes at most are kept, of two descriptors each.
  const bool is_flat = after.descriptors <= std::max(before.descriptors, fresh.descriptors + 32) &&
                       after.resident_kib <= before.resident_kib + kMayGrowKiB;
  std::printf("%" PRIu64 " exchanges that failed or had a wrong byte; %s; %s\n", failures,
              is_all ? "all were made" : "NOT ALL WERE MADE",
              is_flat ? "descriptors and memory flat" : "SOMETHING WAS LEFT BEHIND");
  return failures == 0 && is_all && is_flat ? 0 : 1;
}

// --- the explicit front

int SoakExplicit(std::uint16_t server, const SoakAmount& amount) {
  const Relay relay = StartOurs(server);
  const SoakConnector connect = [&relay, server](std::uint64_t i) {
    return i % 3 == 0 ? ConnectSocks(relay, server) : bench::Connect(relay, server);
  };
  const int status = Soak(relay.pid, amount, [&](const SoakAmount& part, bool with_lines) {
    SoakTotals totals;
    const auto start = Clock::now();
    double shown = 0;
    RunSoak(connect, part, totals, [&] {
      if (!with_lines || Since(start) < shown + 15) return;
      shown = Since(start);
      Print("running", CountsOf(totals), StateOf(relay.pid), shown);
    });
    return CountsOf(totals);
  });
  EndChild(relay.pid);
  return status;
}

// --- from within a sandbox

// What runs in the sandbox: an ordinary client that knows a name.
int RunInside(std::uint16_t port, const SoakAmount& amount) {
  PrepareSoak();
  SoakTotals totals;
  const SoakConnector connect = [port](std::uint64_t /*i*/) -> UniqueFd {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_family = AF_INET;
    addrinfo* found = nullptr;
    if (getaddrinfo(kName, std::to_string(port).c_str(), &hints, &found) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    SetDeadlines(fd.get());
    if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0) return {};
    return fd;
  };
  RunSoak(connect, amount, totals, [] {});
  const Counts counts = CountsOf(totals);
  std::printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", counts.connections, counts.bytes,
              counts.failures);
  return 0;
}

// The proxy and the executor are this very process, and the client is a command of theirs.
class Sandboxed {
 public:
  // An error where the namespaces tier cannot be had.
  static absl::StatusOr<Sandboxed> Create(const std::string& folder, std::uint16_t server) {
    Sandboxed made;
    made.folder_ = folder;
    made.port_ = server;
    const std::string target = std::string(kName) + ":" + std::to_string(server);
    ProfileConfig config;
    config.workspace_root = folder;
    config.workspace_read = Access::kAllow;
    config.command = Access::kAllow;
    config.network_targets = {target};
    absl::StatusOr<Profile> profile = Profile::Create(config);
    if (!profile.ok()) return profile.status();
    EgressProxyOptions proxy;
    absl::StatusOr<EgressOverride> where =
        ParseEgressOverride(target + "=127.0.0.1:" + std::to_string(server));
    if (!where.ok()) return where.status();
    proxy.overrides = {*std::move(where)};
    absl::StatusOr<std::unique_ptr<NetProxy>> egress = NewEgressProxy(std::move(proxy));
    if (!egress.ok()) return egress.status();
    ExecutorSetOptions options;
    options.scratch_root = folder;
    options.max_executors = 1;
    options.backend = Backend::kNamespaces;
    options.ready_sandboxes = 0;
    options.egress = *std::move(egress);
    absl::StatusOr<std::unique_ptr<ExecutorSet>> set = ExecutorSet::Create(*profile, options);
    if (!set.ok()) return set.status();
    made.set_ = *std::move(set);
    return made;
  }

  Counts Send(const SoakAmount& amount) {
    Counts counts;
    counts.failures = 1;
    const auto executor = set_->For("soak");
    if (!executor.ok()) return counts;
    const auto result = (*executor)->RunArgv(
        folder_, {folder_ + "/client", "--inside", std::to_string(port_),
                  std::to_string(amount.connections), std::to_string(amount.bytes)});
    if (!result.ok()) {
      std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
      return counts;
    }
    const std::string& said = result->standard_output.head;
    if (std::sscanf(said.c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64, &counts.connections,
                    &counts.bytes, &counts.failures) != 3) {
      std::fprintf(stderr, "%s\n", result->standard_error.head.c_str());
      counts.failures = 1;
    }
    return counts;
  }

 private:
  std::string folder_;
  std::uint16_t port_ = 0;
  std::unique_ptr<ExecutorSet> set_;
};

int SoakTransparent(std::uint16_t server, const SoakAmount& amount) {
  std::string folder = fs::temp_directory_path() / "cordon-soak-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  int status = kCannotTell;
  fs::copy_file("/proc/self/exe", folder + "/client");
  {
    absl::StatusOr<Sandboxed> sandboxed = Sandboxed::Create(folder, server);
    if (sandboxed.ok()) {
      status = Soak(getpid(), amount, [&](const SoakAmount& part, bool /*with_lines*/) {
        return sandboxed->Send(part);
      });
    } else {
      std::printf("left out: %s\n", sandboxed.status().ToString().c_str());
    }
  }
  fs::remove_all(folder);
  return status;
}

int Main(std::vector<std::string> words) {
  const auto number = [](const std::string& word) {
    return std::strtoull(word.c_str(), nullptr, 10);
  };
  if (words.size() == 4 && words[0] == "--inside") {
    return RunInside(static_cast<std::uint16_t>(number(words[1])),
                     {number(words[2]), number(words[3])});
  }
  const bool is_transparent = !words.empty() && words[0] == "--transparent";
  if (is_transparent) words.erase(words.begin());
  const SoakAmount amount = {!words.empty() ? number(words[0]) : 200'000,
                             (words.size() > 1 ? number(words[1]) : 20'480) << 20U};
  PrepareSoak();  // Before the children, which share it.
  std::uint16_t server = 0;
  const pid_t server_pid = StartServer(&server, ServeSoak);
  const int status =
      is_transparent ? SoakTransparent(server, amount) : SoakExplicit(server, amount);
  EndChild(server_pid);
  return status;
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) { return cordon::bench::Main({argv + 1, argv + argc}); }
