// TLS to an organisation's proxy. What relays bytes needs to know nothing about it: they go through
// one end of a socket pair, whose other end is carried to the proxy and back here. All of it
// belongs to the loop's thread, but for `TlsClient::Create`.

#ifndef CORDON_NET_PROXY_SRC_UPSTREAM_TLS_H_
#define CORDON_NET_PROXY_SRC_UPSTREAM_TLS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"
#include "event_loop.h"
#include "openssl_calls.h"

namespace cordon::internal::egress {

struct SslDeleter {
  void operator()(SSL_CTX* context) const { calls->SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { calls->SSL_free(ssl); }
  const OpenSslCalls* calls = nullptr;
};

// What a client of one proxy demands: TLS 1.2 or newer, and a certificate for `host` (a name or a
// literal address) by one of the authorities in `ca_file`, or of the host's when that is empty.
class TlsClient {
 public:
  // kInvalidOption when `ca_file` cannot be read; see `LoadOpenSsl`.
  [[nodiscard]] static absl::StatusOr<TlsClient> Create(const std::string& host,
                                                        const std::string& ca_file);
  // For one connection; null without memory.
  [[nodiscard]] std::unique_ptr<SSL, SslDeleter> Begin(int fd) const;

  [[nodiscard]] const OpenSslCalls& calls() const { return *calls_; }

 private:
  const OpenSslCalls* calls_ = nullptr;
  std::unique_ptr<SSL_CTX, SslDeleter> context_;
  std::string host_;
};

class UpstreamTls final : public IoHandler {
 public:
  // Called once, when the proxy is known to be the right one: `plain` carries what is said to it.
  // Else `problem` says why not.
  using Ready = std::function<void(UniqueFd plain, std::string problem)>;

  // `proxy` is connected and not watched. `over` is called last, and may retire this.
  UpstreamTls(EventLoop& loop, const TlsClient& client, UniqueFd proxy, Ready ready,
              std::function<void(UpstreamTls*)> over);
  ~UpstreamTls() override;
  UpstreamTls(const UpstreamTls&) = delete;
  UpstreamTls& operator=(const UpstreamTls&) = delete;

  // Later, never from here, all is said by the callbacks.
  void Start();
  // Nobody waits any more: `ready` is not called.
  void Abandon();

  // Once `plain` has ended: whether the proxy never said that this was all (RFC 8446 section 6.1).
  [[nodiscard]] std::shared_ptr<const bool> was_cut() const { return was_cut_; }

 private:
  // Of the relay's end; a hang-up there ends all.
  struct Plain final : IoHandler {
    void OnIo(std::uint32_t events) override;
    UpstreamTls* tls = nullptr;
    UniqueFd fd;
    bool gone = false;
  };
  // Bytes of one direction that the receiver did not take yet.
  struct Waiting {
    std::vector<char> bytes;
    std::size_t sent = 0;
    bool ended = false;  // The sender has ended.
    bool shut = false;   // The receiver was told.
    [[nodiscard]] bool empty() const { return sent == bytes.size(); }
  };

  void OnIo(std::uint32_t events) override;
  void Run();
  void Handshake();
  void Carry();
  // Each true when it got on.
  bool ReadTls();
  bool WriteTls();
  bool ReadPlain();
  bool WritePlain();
  void Fail(std::string problem);
  void End();

  EventLoop& loop_;
  const OpenSslCalls& calls_;
  UniqueFd proxy_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
  Plain plain_;
  Waiting up_;
  Waiting down_;
  Ready ready_;
  std::function<void(UpstreamTls*)> over_;
  const std::shared_ptr<bool> was_cut_ = std::make_shared<bool>(true);
  bool is_open_ = false;  // After the handshake.
  bool is_over_ = false;
};

// Those of one loop.
class UpstreamTlsSet {
 public:
  // Without a client none is added.
  UpstreamTlsSet(EventLoop& loop, std::optional<TlsClient> client)
      : loop_(loop), client_(std::move(client)) {}
  // See `UpstreamTls`. The result is good until `ready` was called, for `Abandon`.
  UpstreamTls* Add(UniqueFd proxy, UpstreamTls::Ready ready);

 private:
  EventLoop& loop_;
  const std::optional<TlsClient> client_;
  std::unordered_map<UpstreamTls*, std::unique_ptr<UpstreamTls>> all_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_UPSTREAM_TLS_H_
