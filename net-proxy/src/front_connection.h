// A client of an explicit front until it is known where it wants to go: HTTP (a request in absolute
// form or CONNECT) or SOCKS 5. Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_FRONT_CONNECTION_H_
#define CORDON_NET_PROXY_SRC_FRONT_CONNECTION_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "connection.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/unique_fd.h"
#include "event_loop.h"
#include "http_head.h"

namespace cordon::internal::egress {

class Session;

class FrontConnection final : public IoHandler {
 public:
  // `input` was read already; with `is_known` the client has shown its credential before.
  FrontConnection(Session& session, UniqueFd client, std::string input, bool is_known);
  ~FrontConnection() override;
  FrontConnection(const FrontConnection&) = delete;
  FrontConnection& operator=(const FrontConnection&) = delete;

  // May end it at once.
  void Start();
  void OnIo(std::uint32_t events) override;

 private:
  enum class Stage : std::uint8_t { kFirst, kHttp, kSocksGreeting, kSocksPassword, kSocksRequest };

  void Advance();
  [[nodiscard]] bool Step();  // False when more bytes are needed or it is over.
  bool TakeHttp();
  bool TakeHttpTarget(const HttpHead& head, std::size_t size);
  bool TakeSocksGreeting();
  bool TakeSocksPassword();
  bool TakeSocksRequest();
  bool Say(std::string_view bytes);
  bool RefuseHttp(int status, std::string_view text, std::string_view fields = "");
  bool Refuse(const std::string& words);
  bool GoTo(NetworkTarget target, ConnectionTerms terms);
  void Leave();

  Session& session_;
  EventLoop& loop_;
  UniqueFd client_;
  std::string input_;
  bool is_known_;
  Stage stage_ = Stage::kFirst;
  std::size_t scanned_ = 0;
  EventLoop::TimerId deadline_ = EventLoop::kNoTimer;
  bool is_over_ = false;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_FRONT_CONNECTION_H_
