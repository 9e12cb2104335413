// Two connected sockets made one: bytes, half-closes and resets of each go to the other, as if
// there were nothing between them. Belongs to the loop's thread.
//
// Memory: one buffer for all relays of a loop; a relay keeps only what the slower side did not take
// yet, at most what was read at once, and then reads no more. What is not looked at and comes in
// bulk goes through a pipe, as long as there is one.

#ifndef CORDON_NET_PROXY_SRC_RELAY_H_
#define CORDON_NET_PROXY_SRC_RELAY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client_inspector.h"
#include "cordon/sdk/unique_fd.h"
#include "event_loop.h"
#include "splice_pipe.h"

namespace cordon::internal::egress {

class Relay {
 public:
  struct Options {
    // Null: nothing is looked at.
    std::unique_ptr<ClientInspector> inspector;
    // Called when the inspector refuses, before the client learns of it.
    std::function<void(const ClientInspector::Refusal&)> refused;
    // For the client before anything else.
    std::string greeting;
    // Of the client, read already.
    std::string early;
    // Once the server has ended: whether that was somebody else's doing, so that the client must
    // not take what came for all. May be null.
    std::shared_ptr<const bool> server_was_cut;
    // With an inspector: ends a relay on which nothing went on in either direction for so long
    // after its start.
    std::chrono::milliseconds first_byte_timeout{30'000};
  };
  struct Outcome {
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
    std::string
        protocol;  // "tls", "http", "other", "server first"; empty when it was not looked at.
    bool refused = false;
    ClientInspector::Refusal refusal;
    // The client goes on to another target, with `rest`, when this is valid.
    UniqueFd client;
    std::string rest;
  };

  static constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;

  // What the relays of one loop share.
  struct Shared {
    // What is not used of it costs no memory.
    std::unique_ptr<char[]> buffer = std::make_unique_for_overwrite<char[]>(kBufferBytes);
    SplicePipes pipes;
  };

  // Both sockets are connected and not watched. `ended` is called once, last of all; it may retire
  // the relay, not delete it.
  Relay(EventLoop& loop, Shared& shared, UniqueFd client, UniqueFd server, Options options,
        std::function<void(Outcome&)> ended);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // False when the kernel cannot watch the sockets; then `ended` is not called.
  [[nodiscard]] bool Start();

  // Ends it at once with resets.
  void Cut() { Reset(); }

  // Whether a protocol that names no host has begun: only the address was checked.
  [[nodiscard]] bool names_no_host() const;

 private:
  struct Side final : IoHandler {
    void OnIo(std::uint32_t events) override;
    Relay* relay = nullptr;
    UniqueFd fd;
    bool readable = false;
    bool writable = false;
    bool hung_up = false;  // A FIN or an error is there: only reading to the end finds it.
  };
  struct Flow {
    Side* from = nullptr;
    Side* to = nullptr;
    std::string pending;  // Read, not taken by `to` yet, from `sent` on.
    std::size_t sent = 0;
    std::unique_ptr<SplicePipe> pipe;  // While bytes come in bulk.
    std::size_t chunk = kFirstChunk;
    std::uint64_t bytes = 0;
    bool ended = false;    // `from` said that it is done.
    bool shut = false;     // `to` was told.
    bool broken = false;   // `to` takes nothing any more; what comes is thrown away.
    bool stopped = false;  // Nothing more is read.
  };
  enum class Stage : std::uint8_t { kRelaying, kLastAnswers, kDraining, kOver };

  static constexpr std::size_t kFirstChunk = std::size_t{16} * 1024;
  static constexpr std::size_t kSlowChunk = std::size_t{64} * 1024;

  void Run(Side& side);
  void Pump(Flow& flow);
  bool ReadOnce(Flow& flow, std::size_t& budget);
  bool GotNothing(Flow& flow, ssize_t count);
  static void Count(Flow& flow, std::size_t size, std::size_t& budget);
  bool Flush(Flow& flow);
  bool SpliceIn(Flow& flow, std::size_t& budget);
  bool SpliceOut(Flow& flow);
  [[nodiscard]] bool WantsPipe(const Flow& flow) const;
  void ReturnPipe(Flow& flow);
  void Pass(Flow& flow, const char* data, std::size_t size);
  void Inspect(const char* data, std::size_t size);
  void Apply(ClientInspector::Verdict verdict);
  void FlowEnded(Flow& flow);
  void Break(Flow& flow);
  void CheckDone();
  void FeedEarly();
  void CheckLeaving();
  void Refuse();
  void AnswerAndDrain();
  void Drain();
  void ReadToDrain();
  void SetTimer(std::chrono::milliseconds wait);
  void OnTimer();
  void Reset();
  void End();

  EventLoop& loop_;
  Shared& shared_;
  Side client_;
  Side server_;
  Flow up_;
  Flow down_;
  std::unique_ptr<ClientInspector> inspector_;
  bool raw_ = false;
  Stage stage_ = Stage::kRelaying;
  EventLoop::TimerId timer_ = EventLoop::kNoTimer;
  EventLoop::TimerId release_timer_ = EventLoop::kNoTimer;
  std::chrono::milliseconds first_byte_timeout_;
  std::size_t drained_ = 0;
  std::string early_;
  std::shared_ptr<const bool> server_was_cut_;
  bool is_leaving_ = false;  // To another target, when all that was read has been passed on.
  bool server_first_ = false;
  Outcome outcome_;
  std::function<void(const ClientInspector::Refusal&)> refused_;
  std::function<void(Outcome&)> ended_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_RELAY_H_
