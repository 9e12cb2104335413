// A web server on the host's 127.0.0.1 that answers every request with the same line and counts
// them: what a confined command must not reach.

#ifndef CORDON_SAMPLES_AGENT_LOOPBACK_SERVER_H_
#define CORDON_SAMPLES_AGENT_LOOPBACK_SERVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::agent {

class LoopbackServer {
 public:
  static constexpr std::string_view kAnswer = "reached the host's network";

  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LoopbackServer>> Start();
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Connections so far.
  [[nodiscard]] int visits() const { return visits_; }

 private:
  LoopbackServer(UniqueFd listener, UniqueFd stop_event, std::uint16_t port);
  void Serve();

  const UniqueFd listener_;
  const UniqueFd stop_event_;
  const std::uint16_t port_;
  std::atomic<int> visits_{0};
  std::thread thread_;
};

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_LOOPBACK_SERVER_H_
