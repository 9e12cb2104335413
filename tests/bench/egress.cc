// What a relayed connection costs: direct loopback, our explicit front, and squid and tinyproxy
// where they are installed, all through CONNECT, in one run.
//
//   bench_egress [SECONDS-PER-FIGURE]
//   bench_egress soak [SECONDS]    ours alone, for as long: descriptors and memory before and after
//
// Client, relay and server share the machine's processors, so read the ratios.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cordon/net-proxy/proxy.h"
#include "cordon/sdk/unique_fd.h"

namespace {

using cordon::UniqueFd;
using Clock = std::chrono::steady_clock;

constexpr int kParallel = 16;
constexpr std::size_t kBlock = 256 * 1024;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd Listen(std::uint16_t* port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(fd.get(), 1024) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("listen");
    std::exit(1);
  }
  *port = ntohs(address.sin_port);
  return fd;
}

bool SendAll(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t count = send(fd, data, size, MSG_NOSIGNAL);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

// The first byte says what is wanted: 'd' data until the end, 'u' takes data, 'e' echoes bytes.
void ServeOne(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> block(kBlock, 'x');
  char wish = 0;
  if (recv(fd, &wish, 1, 0) != 1) return;
  if (wish == 'd') {
    while (SendAll(fd, block.data(), block.size())) {
    }
    return;
  }
  ssize_t count = 0;
  while ((count = recv(fd, block.data(), block.size(), 0)) > 0) {
    if (wish == 'e' && !SendAll(fd, block.data(), static_cast<std::size_t>(count))) return;
  }
}

// A child that runs `body`; ended with us.
pid_t Child(const std::function<void()>& body) {
  const pid_t parent = getpid();
  std::fflush(stdout);  // Or the child would print it again.
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) body();
  _exit(0);
}

pid_t StartServer(std::uint16_t* port) {
  UniqueFd listener = Listen(port);
  return Child([&listener] {
    while (true) {
      const int fd = accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      std::thread([fd] {
        ServeOne(fd);
        close(fd);
      }).detach();
    }
  });
}

struct Relay {
  std::string name;
  std::uint16_t port = 0;  // 0: none.
  pid_t pid = 0;
};

Relay StartOurs(std::uint16_t server) {
  int pipe_fds[2];
  if (pipe(pipe_fds) != 0) std::exit(1);
  Relay relay{"cordon", 0, 0};
  relay.pid = Child([&] {
    cordon::EgressProxyOptions options;
    const auto proxy = cordon::NewEgressProxy(std::move(options));
    cordon::EgressPlan plan;
    plan.execution_id = "bench";
    plan.targets = {{.host = "127.0.0.1", .port = server, .is_address = true}};
    const auto front = proxy.value()->ServeFront(plan, {});
    const std::uint16_t port = front.value()->port();
    if (write(pipe_fds[1], &port, sizeof port) != sizeof port) return;
    pause();
  });
  if (read(pipe_fds[0], &relay.port, sizeof relay.port) != sizeof relay.port) std::exit(1);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  return relay;
}

std::uint16_t FreePort() {
  std::uint16_t port = 0;
  Listen(&port);
  return port;
}

std::string FindProgram(const char* name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    if (access((std::string(folder) + name).c_str(), X_OK) == 0) return std::string(folder) + name;
  }
  const char* const given = std::getenv((std::string("BENCH_") + name).c_str());
  return given == nullptr ? "" : given;
}

bool CanConnect(std::uint16_t port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

std::optional<Relay> StartPeer(const std::string& name, const std::string& folder,
                               const std::string& configuration,
                               const std::vector<std::string>& arguments, std::uint16_t port) {
  const std::string program = FindProgram(name.c_str());
  if (program.empty()) {
    std::printf("%s is not installed: left out\n", name.c_str());
    return std::nullopt;
  }
  std::ofstream(folder + "/" + name + ".conf") << configuration;
  Relay relay{name, port, 0};
  relay.pid = Child([&] {
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) return;
    execv(program.c_str(), argv.data());
  });
  const auto start = Clock::now();
  while (!CanConnect(port)) {
    if (Since(start) > 10) {
      std::printf("%s did not start: left out\n", name.c_str());
      kill(relay.pid, SIGKILL);
      return std::nullopt;
    }
    usleep(20'000);
  }
  return relay;
}

// A connection to the server, through `relay` when it has a port.
UniqueFd Connect(const Relay& relay, std::uint16_t server) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{10, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const sockaddr_in address = Loopback(relay.port != 0 ? relay.port : server);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  if (relay.port == 0) return fd;
  const std::string target = "127.0.0.1:" + std::to_string(server);
  const std::string head = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n";
  if (!SendAll(fd.get(), head.data(), head.size())) return {};
  std::string answer;
  char bytes[1024];
  while (answer.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = recv(fd.get(), bytes, sizeof bytes, 0);
    if (count <= 0) return {};
    answer.append(bytes, static_cast<std::size_t>(count));
  }
  return answer.find(" 200 ") == std::string::npos ? UniqueFd() : std::move(fd);
}

// MiB/s in one direction over one connection.
double Bulk(const Relay& relay, std::uint16_t server, char wish, double seconds) {
  const UniqueFd fd = Connect(relay, server);
  std::vector<char> block(kBlock, 'y');
  if (!fd.valid() || !SendAll(fd.get(), &wish, 1)) return 0;
  std::uint64_t bytes = 0;
  const auto start = Clock::now();
  while (Since(start) < seconds) {
    const ssize_t count = wish == 'd' ? recv(fd.get(), block.data(), block.size(), 0)
                                      : send(fd.get(), block.data(), block.size(), MSG_NOSIGNAL);
    if (count <= 0) return 0;
    bytes += static_cast<std::uint64_t>(count);
  }
  return static_cast<double>(bytes) / Since(start) / (1024 * 1024);
}

bool Echo(int fd) {
  char byte = 'z';
  return SendAll(fd, &byte, 1) && recv(fd, &byte, 1, 0) == 1;
}

// Connections a second, each with one byte there and back.
double NewConnections(const Relay& relay, std::uint16_t server, double seconds) {
  std::atomic<std::uint64_t> done = 0;
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < kParallel; ++i) {
    threads.emplace_back([&] {
      while (Since(start) < seconds) {
        const UniqueFd fd = Connect(relay, server);
        if (!fd.valid() || !SendAll(fd.get(), "e", 1) || !Echo(fd.get())) continue;
        ++done;
        const linger now{1, 0};  // So that no port stays in TIME_WAIT.
        setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(done) / Since(start);
}

struct Latency {
  double median_us = 0;
  double p99_us = 0;
};

Latency RoundTrips(const Relay& relay, std::uint16_t server, double seconds) {
  const UniqueFd fd = Connect(relay, server);
  if (!fd.valid() || !SendAll(fd.get(), "e", 1)) return {};
  std::vector<double> times;
  const auto start = Clock::now();
  while (Since(start) < seconds) {
    const auto begin = Clock::now();
    if (!Echo(fd.get())) return {};
    times.push_back(Since(begin) * 1e6);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

std::size_t ResidentKiB(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  std::size_t kib = 0;
  while (status >> word) {
    if (word == "VmRSS:") status >> kib;
  }
  return kib;
}

// Processor seconds that a process has used.
double CpuSeconds(pid_t pid) {
  if (pid == 0) return 0;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  double ticks = 0;
  for (int field = 1; field <= 15 && stat >> word; ++field) {
    if (field >= 14) ticks += std::atof(word.c_str());
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// KiB of the relay for each connection on which nothing happens.
double IdleKiB(const Relay& relay, std::uint16_t server) {
  constexpr std::size_t kIdle = 400;
  if (relay.pid == 0) return 0;
  const std::size_t before = ResidentKiB(relay.pid);
  std::vector<UniqueFd> idle;
  for (std::size_t i = 0; i < kIdle; ++i) {
    idle.push_back(Connect(relay, server));
    if (!idle.back().valid() || !SendAll(idle.back().get(), "e", 1) || !Echo(idle.back().get())) {
      return -1;
    }
  }
  return static_cast<double>(ResidentKiB(relay.pid) - before) / kIdle;
}

void Measure(const Relay& relay, std::uint16_t server, double seconds) {
  const double cpu_before = CpuSeconds(relay.pid);
  const double down = Bulk(relay, server, 'd', seconds);
  const double up = Bulk(relay, server, 'u', seconds);
  const double gib = (down + up) * seconds / 1024;
  const double cpu = (CpuSeconds(relay.pid) - cpu_before) / gib;
  const double fresh = NewConnections(relay, server, seconds);
  const Latency trip = RoundTrips(relay, server, seconds);
  const double idle = IdleKiB(relay, server);
  std::printf("%-10s %12.0f %10.0f %10.0f %10.1f %8.1f %10.1f %8.2f\n", relay.name.c_str(), down,
              up, fresh, trip.median_us, trip.p99_us, idle, cpu);
  std::fflush(stdout);
}

std::size_t Descriptors(pid_t pid) {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    if (!entry.path().empty()) ++count;
  }
  return count;
}

// New connections and bulk in turns; fails when something is left behind.
int Soak(double seconds) {
  std::uint16_t server = 0;
  const pid_t server_pid = StartServer(&server);
  const Relay relay = StartOurs(server);
  double connections = NewConnections(relay, server, 2) * 2;  // Until its memory has settled.
  const std::size_t descriptors = Descriptors(relay.pid);
  const std::size_t resident = ResidentKiB(relay.pid);
  double mib = 0;
  for (const auto start = Clock::now(); Since(start) < seconds;) {
    connections += NewConnections(relay, server, 5) * 5;
    mib += (Bulk(relay, server, 'd', 1) + Bulk(relay, server, 'u', 1));
  }
  usleep(1'500'000);  // The last ones end.
  const std::size_t descriptors_after = Descriptors(relay.pid);
  const std::size_t resident_after = ResidentKiB(relay.pid);
  std::printf("%.0f connections, %.1f GiB\n", connections, mib / 1024);
  std::printf("descriptors %zu -> %zu, resident %zu -> %zu KiB\n", descriptors, descriptors_after,
              resident, resident_after);
  for (const pid_t pid : {server_pid, relay.pid}) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  return descriptors_after <= descriptors + 2 && resident_after <= resident + 4096 ? 0 : 1;
}

int Main(double seconds) {
  const std::string folder = std::filesystem::temp_directory_path() / "cordon-bench-XXXXXX";
  std::vector<char> name(folder.begin(), folder.end());
  name.push_back('\0');
  if (mkdtemp(name.data()) == nullptr) return 1;
  const std::string scratch = name.data();
  std::uint16_t server = 0;
  std::vector<pid_t> pids = {StartServer(&server)};
  std::vector<Relay> relays = {{"direct", 0, 0}, StartOurs(server)};
  const std::uint16_t squid_port = FreePort();
  const auto squid =
      StartPeer("squid", scratch,
                "http_port 127.0.0.1:" + std::to_string(squid_port) +
                    "\nhttp_access allow all\naccess_log none\n" +
                    "cache_log /dev/null\ncache deny all\npid_filename none\nshutdown_lifetime 0\n",
                {"-N", "-f", scratch + "/squid.conf"}, squid_port);
  if (squid.has_value()) relays.push_back(*squid);
  const std::uint16_t tiny_port = FreePort();
  const auto tiny = StartPeer("tinyproxy", scratch,
                              "Port " + std::to_string(tiny_port) +
                                  "\nListen 127.0.0.1\nMaxClients 1000\nLogLevel Critical\n",
                              {"-d", "-c", scratch + "/tinyproxy.conf"}, tiny_port);
  if (tiny.has_value()) relays.push_back(*tiny);

  std::printf("%-10s %12s %10s %10s %10s %8s %10s %8s\n", "", "down MiB/s", "up MiB/s", "new/s",
              "trip us", "p99 us", "KiB/idle", "s/GiB");
  for (const Relay& relay : relays) Measure(relay, server, seconds);
  Measure(relays[0], server, seconds);  // Whether the machine was the same to the end.
  for (const Relay& relay : relays) {
    if (relay.pid != 0) pids.push_back(relay.pid);
  }
  for (const pid_t pid : pids) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  std::filesystem::remove_all(scratch);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "soak") == 0) {
    return Soak(argc > 2 ? std::atof(argv[2]) : 60.0);
  }
  return Main(argc > 1 ? std::atof(argv[1]) : 2.0);
}
