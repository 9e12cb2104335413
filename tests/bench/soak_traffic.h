// What a soak sends through a relay, however that is reached: many short connections and a few long
// ones. Each byte is that of its place in a sequence whose length is a prime, so that what is lost,
// doubled or moved shows.

#ifndef CORDON_TESTS_BENCH_SOAK_TRAFFIC_H_
#define CORDON_TESTS_BENCH_SOAK_TRAFFIC_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "cordon/sdk/unique_fd.h"

namespace cordon::bench {

struct SoakAmount {
  std::uint64_t connections = 0;
  std::uint64_t bytes = 0;  // A quarter goes with the connections, the rest over the long ones.
};

struct SoakTotals {
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<std::uint64_t> connections = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> failures = 0;  // Exchanges that broke off or had a wrong byte.
};

// Makes what is sent, which a child shares when it is called before.
void PrepareSoak();

// What the server does with a connection: answers only what came as it was sent.
void ServeSoak(int fd);

// Connection number `i` to the server; not valid when there is none.
using SoakConnector = std::function<UniqueFd(std::uint64_t i)>;

// All of it, over connections at the same time. Calls `watch` from time to time.
void RunSoak(const SoakConnector& connect, const SoakAmount& amount, SoakTotals& totals,
             const std::function<void()>& watch);

}  // namespace cordon::bench

#endif  // CORDON_TESTS_BENCH_SOAK_TRAFFIC_H_
