// Our resolver's sockets: datagrams, and streams with a length before each message (RFC 7766).
// Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_DNS_SERVER_H_
#define CORDON_NET_PROXY_SRC_DNS_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cordon/sdk/unique_fd.h"
#include "event_loop.h"
#include "listener.h"

namespace cordon::internal::egress {

class DnsServer {
 public:
  // The answer to one message; empty when there is none to give.
  using Answer = std::function<std::string(std::string_view)>;

  // Without sockets of its own: it answers in streams that it is given.
  DnsServer(EventLoop& loop, Answer answer);
  DnsServer(EventLoop& loop, UniqueFd datagrams, UniqueFd streams, Answer answer);
  ~DnsServer();
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;

  [[nodiscard]] bool Start();

  // Answers in a stream that was accepted elsewhere; closes it when there are too many.
  void Serve(UniqueFd stream);

 private:
  struct Datagrams final : IoHandler {
    void OnIo(std::uint32_t events) override;
    DnsServer* server = nullptr;
    UniqueFd fd;
  };
  struct Stream final : IoHandler {
    void OnIo(std::uint32_t events) override;
    [[nodiscard]] bool Read();
    [[nodiscard]] bool AnswerAll();
    DnsServer* server = nullptr;
    UniqueFd fd;
    std::string input;
    EventLoop::TimerId deadline = EventLoop::kNoTimer;
  };

  void Accept(UniqueFd fd);
  void Close(Stream* stream);

  static constexpr std::size_t kMaxStreams = 32;  // Others wait at the listener.
  static constexpr std::size_t kMaxGivenStreams = 256;
  EventLoop& loop_;
  Answer answer_;
  Datagrams datagrams_;
  std::unique_ptr<Listener> listener_;
  std::unordered_map<Stream*, std::unique_ptr<Stream>> streams_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_DNS_SERVER_H_
