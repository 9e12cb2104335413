#include "soak_traffic.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "egress_traffic.h"

namespace cordon::bench {
namespace {

constexpr std::size_t kPeriod = 1'048'573;
constexpr std::size_t kBlock = std::size_t{256} * 1024;
constexpr int kClients = 12;
constexpr int kLongOnes = 4;
constexpr std::uint64_t kLongBytes = 64U << 20U;

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
  std::uint64_t neither_tls_nor_http = 0;  // To whoever looks at the first bytes.
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

void Exchange(const UniqueFd& fd, const Wish& wish, SoakTotals& totals) {
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

void RunShort(const SoakConnector& connect, std::uint64_t count, std::uint64_t mean,
              SoakTotals& totals) {
  for (std::uint64_t i = 0; (i = totals.begun++) < count;) {
    Wish wish;
    wish.start = i * 7919;
    wish.up = i * 2654435761U % (mean + 1);
    wish.down = mean - wish.up;
    Exchange(connect(i), wish, totals);
  }
}

void RunLong(const SoakConnector& connect, std::uint64_t bytes, SoakTotals& totals) {
  for (std::uint64_t i = 0; bytes > 0; ++i) {
    const std::uint64_t part = std::min(bytes, kLongBytes);
    Exchange(connect(i), {0, part / 2, part - part / 2, i * 104'729}, totals);
    bytes -= part;
  }
}

}  // namespace

void PrepareSoak() { (void)Sequence(); }

void ServeSoak(int fd) {
  Wish wish;
  if (!ReceiveAll(fd, reinterpret_cast<char*>(&wish), sizeof wish)) return;
  if (!ReceiveSequence(fd, wish.start, wish.up, true)) return;
  SendSequence(fd, wish.start + wish.up, wish.down);
}

void RunSoak(const SoakConnector& connect, const SoakAmount& amount, SoakTotals& totals,
             const std::function<void()>& watch) {
  const std::uint64_t count = amount.connections;
  const std::uint64_t mean =
      std::max<std::uint64_t>(amount.bytes / 4 / std::max<std::uint64_t>(count, 1), 1);
  const std::uint64_t each_long = amount.bytes / 4 * 3 / kLongOnes;
  std::atomic<int> running = kClients + kLongOnes;
  std::vector<std::thread> threads;
  threads.reserve(kClients + kLongOnes);
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&] {
      RunShort(connect, count, mean, totals);
      --running;
    });
  }
  for (int i = 0; i < kLongOnes; ++i) {
    threads.emplace_back([&] {
      RunLong(connect, each_long, totals);
      --running;
    });
  }
  for (; running > 0; poll(nullptr, 0, 20)) watch();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cordon::bench
