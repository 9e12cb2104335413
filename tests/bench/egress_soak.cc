// Connections and bytes without end, through our explicit front: no descriptor and no memory is
// left behind, and no byte is wrong, missing or too many.
//
//   egress_soak [CONNECTIONS [MIB]]     200000 and 20480 by default
//
// A quarter of the bytes goes with the connections, the rest over a few long ones beside them. Each
// byte is that of its place in a sequence whose length is a prime, so that what is lost, doubled or
// moved shows. Ends with 0 when all is well.

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "egress_traffic.h"

namespace cordon::bench {
namespace {

constexpr std::size_t kPeriod = 1'048'573;
constexpr std::size_t kBlock = 256 * 1024;
constexpr int kClients = 12;
constexpr int kLongOnes = 4;
constexpr std::uint64_t kLongBytes = 64U << 20U;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kMayGrowKiB = 512 * 1024;  // Its allocator keeps what was freed.
#else
constexpr std::size_t kMayGrowKiB = 8 * 1024;
#endif

// The sequence twice in a row, so that every block of it is one piece.
const std::vector<char>& Sequence() {
  static const std::vector<char> sequence = [] {
    std::vector<char> bytes(kPeriod + kBlock);
    std::uint64_t state = 88172645463325252U;
    for (std::size_t i = 0; i < kPeriod; ++i) {
      state ^= state << 13U;
      state ^= state >> 7U;
      state ^= state << 17U;
      bytes[i] = static_cast<char>(state >> 32U);
    }
    std::copy_n(bytes.begin(), kBlock, bytes.begin() + kPeriod);
    return bytes;
  }();
  return sequence;
}

// What a client says first: how much comes each way, and where in the sequence it begins.
struct Wish {
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  std::uint64_t start = 0;
};

bool SendSequence(int fd, std::uint64_t start, std::uint64_t size) {
  for (std::uint64_t sent = 0; sent < size;) {
    const std::uint64_t part = std::min<std::uint64_t>(kBlock, size - sent);
    if (!SendAll(fd, Sequence().data() + (start + sent) % kPeriod, part)) return false;
    sent += part;
  }
  return true;
}

// `size` bytes of the sequence and then, with `to_the_end`, nothing more.
bool ReceiveSequence(int fd, std::uint64_t start, std::uint64_t size, bool to_the_end) {
  std::vector<char> block(std::min<std::uint64_t>(kBlock, size + 1));
  std::uint64_t got = 0;
  while (got < size) {
    const std::uint64_t part = std::min<std::uint64_t>(block.size(), size - got);
    const ssize_t count = recv(fd, block.data(), part, 0);
    if (count <= 0) return false;
    const auto length = static_cast<std::size_t>(count);
    if (std::memcmp(block.data(), Sequence().data() + (start + got) % kPeriod, length) != 0) {
      return false;
    }
    got += length;
  }
  return !to_the_end || recv(fd, block.data(), 1, 0) == 0;
}

// Answers only what came as it was sent.
void Serve(int fd) {
  Wish wish;
  if (!ReceiveAll(fd, reinterpret_cast<char*>(&wish), sizeof wish)) return;
  if (!ReceiveSequence(fd, wish.start, wish.up, true)) return;
  SendSequence(fd, wish.start + wish.up, wish.down);
}

struct Totals {
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<std::uint64_t> connections = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> failures = 0;
};

void Exchange(const Relay& relay, std::uint16_t server, const Wish& wish, bool by_socks,
              Totals& totals) {
  const UniqueFd fd = by_socks ? ConnectSocks(relay, server) : Connect(relay, server);
  const bool is_right =
      fd.valid() && SendAll(fd.get(), reinterpret_cast<const char*>(&wish), sizeof wish) &&
      SendSequence(fd.get(), wish.start, wish.up) && shutdown(fd.get(), SHUT_WR) == 0 &&
      ReceiveSequence(fd.get(), wish.start + wish.up, wish.down, true);
  if (!is_right) ++totals.failures;
  ++totals.connections;
  totals.bytes += wish.up + wish.down;
  // Half of the ends are resets, which also have to go.
  if (fd.valid() && wish.start % 2 == 0) ResetOnClose(fd.get());
}

void RunShort(const Relay& relay, std::uint16_t server, std::uint64_t count, std::uint64_t mean,
              Totals& totals) {
  for (std::uint64_t i = 0; (i = totals.begun++) < count;) {
    Wish wish;
    wish.start = i * 7919;
    wish.up = i * 2654435761U % (mean + 1);
    wish.down = mean - wish.up;
    Exchange(relay, server, wish, i % 3 == 0, totals);
  }
}

void RunLong(const Relay& relay, std::uint16_t server, std::uint64_t bytes, Totals& totals) {
  for (std::uint64_t i = 0; bytes > 0; ++i) {
    const std::uint64_t part = std::min(bytes, kLongBytes);
    Exchange(relay, server, {part / 2, part - part / 2, i * 104'729}, i % 2 == 0, totals);
    bytes -= part;
  }
}

struct State {
  std::size_t descriptors = 0;
  std::size_t resident_kib = 0;
};

State StateOf(const Relay& relay) { return {Descriptors(relay.pid), ResidentKiB(relay.pid)}; }

// The state when as few descriptors as before are left, or after five seconds.
State SettledState(const Relay& relay, std::size_t descriptors) {
  State state = StateOf(relay);
  for (const auto start = Clock::now(); state.descriptors > descriptors && Since(start) < 5;) {
    poll(nullptr, 0, 20);
    state = StateOf(relay);
  }
  return state;
}

void Print(const char* what, const Totals& totals, const State& state, double seconds) {
  std::printf("%-8s %9" PRIu64 " connections %8.2f GiB %4zu descriptors %7zu KiB %7.1f s\n", what,
              totals.connections.load(), static_cast<double>(totals.bytes.load()) / (1U << 30U),
              state.descriptors, state.resident_kib, seconds);
  std::fflush(stdout);
}

// All of it, with a line from time to time.
void Run(const Relay& relay, std::uint16_t server, std::uint64_t connections, std::uint64_t bytes,
         Totals& totals, bool with_lines) {
  const std::uint64_t mean =
      std::max<std::uint64_t>(bytes / 4 / std::max<std::uint64_t>(connections, 1), 1);
  const std::uint64_t each_long = bytes / 4 * 3 / kLongOnes;
  const auto start = Clock::now();
  std::atomic<int> running = kClients + kLongOnes;
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&] {
      RunShort(relay, server, connections, mean, totals);
      --running;
    });
  }
  for (int i = 0; i < kLongOnes; ++i) {
    threads.emplace_back([&] {
      RunLong(relay, server, each_long, totals);
      --running;
    });
  }
  for (double shown = 0; running > 0; poll(nullptr, 0, 20)) {
    if (!with_lines || Since(start) < shown + 15) continue;
    shown = Since(start);
    Print("running", totals, StateOf(relay), shown);
  }
  for (std::thread& thread : threads) thread.join();
}

int Soak(std::uint64_t connections, std::uint64_t bytes) {
  (void)Sequence();  // Before the children, which share it.
  std::uint16_t server = 0;
  const pid_t server_pid = StartServer(&server, Serve);
  const Relay relay = StartOurs(server);
  const State fresh = StateOf(relay);
  // Buffers, threads and pipes that are kept on purpose come with the first connections.
  Totals warm_up;
  Run(relay, server, std::min<std::uint64_t>(connections, 2000),
      std::min<std::uint64_t>(bytes, 256U << 20U), warm_up, false);
  // Pipes that are kept for the next bulk are descriptors too.
  const State before = SettledState(relay, fresh.descriptors);
  Print("before", warm_up, before, 0);
  Totals totals;
  const auto start = Clock::now();
  Run(relay, server, connections, bytes, totals, true);
  const double seconds = Since(start);
  const State after = SettledState(relay, before.descriptors);
  Print("after", totals, after, seconds);
  EndChild(relay.pid);
  EndChild(server_pid);
  const std::uint64_t failures = totals.failures + warm_up.failures;
  // Sixteen pipes at most are kept, of two descriptors each.
  const bool is_flat = after.descriptors <= std::max(before.descriptors, fresh.descriptors + 32) &&
                       after.resident_kib <= before.resident_kib + kMayGrowKiB;
  std::printf("%" PRIu64 " exchanges that failed or had a wrong byte; %s\n", failures,
              is_flat ? "descriptors and memory flat" : "SOMETHING WAS LEFT BEHIND");
  return failures == 0 && is_flat ? 0 : 1;
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) {
  const std::uint64_t connections = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
  const std::uint64_t mib = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20'480;
  return cordon::bench::Soak(connections, mib << 20U);
}
