// What a client says first, compared with the name that its connection was made to. Bytes go in,
// those that may go on come out. Not thread-safe; no input or output of its own.
//
// TLS: the server name of each ClientHello before encryption starts. HTTP/1: the Host and the
// absolute target of every request, until the server agrees to switch to another protocol. Anything
// else passes: the name and port of the connection are all that is known about it.

#ifndef CORDON_NET_PROXY_SRC_CLIENT_INSPECTOR_H_
#define CORDON_NET_PROXY_SRC_CLIENT_INSPECTOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "http_requests.h"

namespace cordon::internal::egress {

struct InspectorRules {
  std::string host;        // What each name must be; lower case.
  std::uint16_t port = 0;  // What a port in a Host must be.
  std::size_t max_head_bytes = std::size_t{64} * 1024;
  bool allow_encrypted_hello = false;
  // The client speaks HTTP to a proxy: each request is in absolute form and goes on in origin form.
  bool is_forward = false;
};

class ClientInspector {
 public:
  enum class Verdict : std::uint8_t {
    kRefuse = 0,  // `refusal` says why; nothing more is read.
    kGoOn,
    kRaw,        // The rest of the connection needs no look.
    kElsewhere,  // Forward only: the next request is for another target; see `TakeRest`.
  };
  struct Refusal {
    std::string reason;
    std::string other_host;  // The name that was asked for instead; empty when none was.
    std::string answer;      // For the client; may be empty.
  };

  explicit ClientInspector(InspectorRules rules);

  // The next bytes of the client. Appends to `out` what may go on; keeps at most a head.
  [[nodiscard]] Verdict Feed(std::string_view bytes, std::string& out);

  // The client waits for an answer to part of a line: it goes on while the look at it does too.
  void Release(std::string& out);
  // Whether `Release` would have something.
  [[nodiscard]] bool holds_partial_line() const {
    return kind_ == Kind::kUndecided && held_.size() > released_;
  }

  // The client has ended its direction. Appends what may go on of what was kept.
  void Finish(std::string& out);

  // While true, the server's bytes go to `FeedServer` before the client gets them.
  [[nodiscard]] bool awaits_switch() const { return awaits_switch_; }
  // May append to `out` what the client had sent ahead.
  [[nodiscard]] Verdict FeedServer(std::string_view bytes, std::string& out);

  // What was kept, from the head on that goes elsewhere.
  [[nodiscard]] std::string TakeRest() { return std::exchange(held_, {}); }

  // "tls", "http", "other"; empty until it is known.
  [[nodiscard]] std::string_view protocol() const;
  // Heads that went on. When there were some, answers to them may still be on their way.
  [[nodiscard]] std::size_t requests() const { return requests_; }
  [[nodiscard]] const Refusal& refusal() const { return refusal_; }

 private:
  enum class Kind : std::uint8_t { kUndecided, kTls, kHttp, kOther };

  void Decide();
  void ForwardAll(std::string& out);
  Verdict RunTls(std::string& out);
  Verdict RunHttp(std::string& out);
  Verdict CheckHello(std::string& out);
  Verdict TakeHead(const HttpHead& head, std::string_view bytes, std::string& out);
  Verdict TakeForwardHead(const HttpHead& head, std::string& out);
  // Empty when the request is for `rules_.host`.
  [[nodiscard]] std::string HeadProblem(const HttpHead& head, std::string& other_host) const;
  [[nodiscard]] std::string AuthorityProblem(std::string_view authority,
                                             std::string& other_host) const;
  Verdict RefuseTls(std::string reason, std::string other_host);
  Verdict RefuseHttp(int status, std::string reason, std::string other_host);

  InspectorRules rules_;
  Kind kind_ = Kind::kUndecided;
  std::string held_;
  std::size_t released_ = 0;  // Of `held_`, gone on already.
  HttpRequests http_;
  HttpSwitch switch_;
  std::size_t requests_ = 0;
  bool awaits_switch_ = false;
  bool had_hello_ = false;
  Refusal refusal_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_CLIENT_INSPECTOR_H_
