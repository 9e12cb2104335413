// What a relayed connection costs: direct loopback, our explicit front, and squid and tinyproxy
// where they are installed, in one run. Through tunnels (CONNECT), but for requests, which are in
// absolute form.
//
//   bench_egress [SECONDS-PER-FIGURE]
//
// Client, relay and server share the machine's processors, so read the ratios.

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "egress_traffic.h"

namespace cordon::bench {
namespace {

constexpr int kParallel = 16;
constexpr std::size_t kBlock = std::size_t{256} * 1024;
constexpr std::uint64_t kManyConnections = 100'000;
constexpr double kMostSeconds = 120;  // For those.

// Answers each head with a hundred bytes.
void ServeRequests(int fd, std::string heads) {
  const std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'a');
  char bytes[8192];
  while (true) {
    for (std::size_t end = 0; (end = heads.find("\r\n\r\n")) != std::string::npos;) {
      heads.erase(0, end + 4);
      if (!SendAll(fd, answer.data(), answer.size())) return;
    }
    const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
    if (count <= 0) return;
    heads.append(bytes, static_cast<std::size_t>(count));
  }
}

// The first byte says what is wanted: 'd' data until the end, 'u' takes data, 'e' echoes bytes, 'G'
// is an HTTP request.
void Serve(int fd) {
  std::vector<char> block(kBlock, 'x');
  char wish = 0;
  if (recv(fd, &wish, 1, 0) != 1) return;
  if (wish == 'G') return ServeRequests(fd, "G");
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

// What `act` does in `threads` threads at once, a second, until `seconds` have passed or it was
// done `most` times.
double Rate(int threads, double seconds, std::uint64_t most, const std::function<bool()>& act) {
  std::atomic<std::uint64_t> done = 0;
  const auto start = Clock::now();
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      while (Since(start) < seconds && done < most) done += act() ? 1 : 0;
    });
  }
  for (std::thread& thread : running) thread.join();
  return static_cast<double>(done) / Since(start);
}

// One connection, with one byte there and back.
bool ConnectOnce(const Relay& relay, std::uint16_t server) {
  const UniqueFd fd = Connect(relay, server);
  if (!fd.valid() || !SendAll(fd.get(), "e", 1) || !Echo(fd.get())) return false;
  ResetOnClose(fd.get());
  return true;
}

// One request on a connection that is kept as long as the relay keeps it.
bool RequestOnce(const Relay& relay, std::uint16_t server, UniqueFd& fd) {
  const std::string host = "127.0.0.1:" + std::to_string(server);
  const std::string request = "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  const bool was_open = fd.valid();
  if (!was_open) fd = ConnectTo(relay.port != 0 ? relay.port : server);
  std::string answer;
  char bytes[8192];
  bool is_open = fd.valid() && SendAll(fd.get(), request.data(), request.size());
  while (is_open) {
    const std::size_t head = answer.find("\r\n\r\n");
    if (head != std::string::npos && answer.size() >= head + 4 + 100) {
      return answer.find(" 200 ") != std::string::npos;
    }
    const ssize_t count = recv(fd.get(), bytes, sizeof bytes, 0);
    is_open = count > 0;
    if (is_open) answer.append(bytes, static_cast<std::size_t>(count));
  }
  fd.Reset();
  // A relay that closes after each answer is asked again on a new connection.
  return was_open && RequestOnce(relay, server, fd);
}

double Requests(const Relay& relay, std::uint16_t server, int parallel, double seconds) {
  return Rate(parallel, seconds, UINT64_MAX, [&] {
    thread_local UniqueFd fd;
    return RequestOnce(relay, server, fd);
  });
}

// Connections a second, and the relay's own processor time for each: that one depends less on what
// else the machine does.
struct NewConnections {
  double rate = 0;
  double cpu_us = 0;
};

NewConnections ConnectOften(const Relay& relay, std::uint16_t server, double seconds,
                            std::uint64_t most) {
  std::atomic<std::uint64_t> made = 0;
  const double cpu = CpuSeconds(relay.pid);
  NewConnections result;
  result.rate = Rate(kParallel, seconds, most, [&] {
    const bool is_made = ConnectOnce(relay, server);
    made += is_made ? 1 : 0;
    return is_made;
  });
  const double each = static_cast<double>(std::max<std::uint64_t>(made, 1));
  result.cpu_us = (CpuSeconds(relay.pid) - cpu) * 1e6 / each;
  return result;
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
  const std::size_t after = ResidentKiB(relay.pid);
  return after > before ? static_cast<double>(after - before) / kIdle : 0;
}

void Measure(const Relay& relay, std::uint16_t server, double seconds) {
  const double idle = IdleKiB(relay, server);  // First, before memory of others is free again.
  const double cpu_before = CpuSeconds(relay.pid);
  const double down = Bulk(relay, server, 'd', seconds);
  const double up = Bulk(relay, server, 'u', seconds);
  const double gib = std::max((down + up) * seconds / 1024, 1e-3);
  const double cpu = (CpuSeconds(relay.pid) - cpu_before) / gib;
  const double one = Requests(relay, server, 1, seconds);
  const double many = Requests(relay, server, kParallel, seconds);
  const NewConnections fresh = ConnectOften(relay, server, seconds, UINT64_MAX);
  (void)ConnectOften(relay, server, kMostSeconds, kManyConnections);
  const NewConnections later = ConnectOften(relay, server, seconds, UINT64_MAX);
  const Latency trip = RoundTrips(relay, server, seconds);
  std::printf("%-10s %7.0f %7.0f %7.2f %7.0f %7.0f %7.0f %6.0f %9.0f %6.0f %8.1f %8.1f %8.1f\n",
              relay.name.c_str(), down, up, cpu, one, many, fresh.rate, fresh.cpu_us, later.rate,
              later.cpu_us, trip.median_us, trip.p99_us, idle);
  std::fflush(stdout);
}

std::vector<Relay> StartRelays(const std::string& folder, std::uint16_t server) {
  std::vector<Relay> relays = {{"direct", 0, 0}, StartOurs(server)};
  const std::uint16_t squid_port = FreePort();
  const auto squid = StartPeer(
      "squid", folder,
      "http_port 127.0.0.1:" + std::to_string(squid_port) +
          "\nhttp_access allow all\naccess_log none\ncache_log /dev/null\ncache deny all\n"
          "pid_filename none\nshutdown_lifetime 0\nlogfile_rotate 0\n",
      {"-N", "-f", folder + "/squid.conf"}, squid_port);
  if (squid.has_value()) relays.push_back(*squid);
  const std::uint16_t tiny_port = FreePort();
  const auto tiny = StartPeer("tinyproxy", folder,
                              "Port " + std::to_string(tiny_port) +
                                  "\nListen 127.0.0.1\nMaxClients 1000\nLogLevel Critical\n",
                              {"-d", "-c", folder + "/tinyproxy.conf"}, tiny_port);
  if (tiny.has_value()) relays.push_back(*tiny);
  return relays;
}

int Main(double seconds) {
  std::string folder = std::filesystem::temp_directory_path() / "cordon-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  std::uint16_t server = 0;
  const pid_t server_pid = StartServer(&server, Serve);
  const std::vector<Relay> relays = StartRelays(folder, server);
  std::printf("%-10s %7s %7s %7s %7s %7s %7s %6s %9s %6s %8s %8s %8s\n", "", "down", "up", "s/GiB",
              "req 1", "req 16", "new", "cpu us", "new later", "cpu us", "trip us", "p99 us",
              "KiB idle");
  for (const Relay& relay : relays) Measure(relay, server, seconds);
  Measure(relays[0], server, seconds);  // Whether the machine was the same to the end.
  std::printf(
      "down, up: MiB/s over one connection; req: HTTP requests a second over 1 and 16\n"
      "connections; new: connections a second, and after 100,000 more of them, each with the\n"
      "relay's processor time for one; trip: one byte there and back; s/GiB: of the relay\n");
  for (const Relay& relay : relays) {
    if (relay.pid != 0) EndChild(relay.pid);
  }
  EndChild(server_pid);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
  if (argc > 2 || !(seconds > 0 && seconds <= 600)) {
    std::fprintf(stderr, "usage: bench_egress [SECONDS-PER-FIGURE]    (up to 600; default 2)\n");
    return 2;
  }
  return cordon::bench::Main(seconds);
}
