#include "upstream_tls.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "endpoint.h"
#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

constexpr std::uint32_t kEdges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
constexpr std::size_t kChunk = std::size_t{64} * 1024;
// After so many steps one tunnel lets the others have their turn.
constexpr int kTurn = 64;

std::string LastProblem(const OpenSslCalls& calls) {
  const unsigned long code = calls.ERR_peek_last_error();
  const char* const reason = calls.ERR_reason_error_string(code);
  return reason != nullptr ? reason : "it closed the connection";
}

bool WouldBlock(int error) { return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE; }

}  // namespace

absl::StatusOr<TlsClient> TlsClient::Create(const std::string& host, const std::string& ca_file) {
  const absl::StatusOr<const OpenSslCalls*> loaded_calls = LoadOpenSsl();
  if (!loaded_calls.ok()) return loaded_calls.status();
  const OpenSslCalls& calls = **loaded_calls;
  TlsClient client;
  client.calls_ = &calls;
  client.host_ = host;
  client.context_ = {calls.SSL_CTX_new(calls.TLS_client_method()), SslDeleter{&calls}};
  SSL_CTX* const context = client.context_.get();
  if (context == nullptr || calls.SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    return MakeError(ErrorCode::kInternal, "TLS for the upstream proxy cannot be set up");
  }
  calls.SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  calls.SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  const int loaded = ca_file.empty() ? calls.SSL_CTX_set_default_verify_paths(context)
                                     : calls.SSL_CTX_load_verify_file(context, ca_file.c_str());
  calls.ERR_clear_error();
  if (loaded != 1) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrCat("no certificates can be read from \"", EscapeForDisplay(ca_file),
                                  "\" for the upstream proxy"));
  }
  return client;
}

std::unique_ptr<SSL, SslDeleter> TlsClient::Begin(int fd) const {
  const OpenSslCalls& calls = *calls_;
  std::unique_ptr<SSL, SslDeleter> ssl(calls.SSL_new(context_.get()), SslDeleter{calls_});
  if (ssl == nullptr || calls.SSL_set_fd(ssl.get(), fd) != 1) return nullptr;
  calls.SSL_set_connect_state(ssl.get());
  // Either binds the handshake to the host: without it any certificate of an authority would do.
  if (IpAddress::Parse(host_).has_value()) {
    if (calls.X509_VERIFY_PARAM_set1_ip_asc(calls.SSL_get0_param(ssl.get()), host_.c_str()) != 1)
      return nullptr;
    return ssl;
  }
  calls.SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool is_bound = calls.SSL_set1_host(ssl.get(), host_.c_str()) == 1 &&
                        calls.SSL_set_tlsext_host_name(ssl.get(), host_.c_str()) == 1;
  return is_bound ? std::move(ssl) : nullptr;
}

UpstreamTls::UpstreamTls(EventLoop& loop, const TlsClient& client, UniqueFd proxy, Ready ready,
                         std::function<void(UpstreamTls*)> over)
    : loop_(loop),
      calls_(client.calls()),
      proxy_(std::move(proxy)),
      ssl_(client.Begin(proxy_.get())),
      ready_(std::move(ready)),
      over_(std::move(over)) {
  plain_.tls = this;
}

// Either it is over, or so is the loop.
UpstreamTls::~UpstreamTls() = default;

void UpstreamTls::Start() {
  (void)loop_.Watch(proxy_.get(), kEdges, this);
  loop_.Again(this);
}

void UpstreamTls::Abandon() {
  ready_ = nullptr;
  End();
}

void UpstreamTls::OnIo(std::uint32_t /*events*/) { Run(); }

void UpstreamTls::Plain::OnIo(std::uint32_t events) {
  // Both directions are closed: what it said before is still to be read.
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) gone = true;
  tls->Run();
}

void UpstreamTls::Run() {
  if (is_over_) return;
  if (!is_open_) Handshake();
  if (is_open_ && !is_over_) Carry();
}

void UpstreamTls::Handshake() {
  if (ssl_ == nullptr) return Fail("TLS for the upstream proxy cannot be set up");
  calls_.ERR_clear_error();
  const int result = calls_.SSL_do_handshake(ssl_.get());
  if (result != 1) {
    const int error = calls_.SSL_get_error(ssl_.get(), result);
    if (WouldBlock(error)) return;
    const long verified = calls_.SSL_get_verify_result(ssl_.get());
    if (verified == X509_V_OK)
      return Fail("TLS with the upstream proxy failed: " + LastProblem(calls_));
    return Fail(absl::StrCat("the certificate of the upstream proxy is not accepted: ",
                             calls_.X509_verify_cert_error_string(verified)));
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return Fail("no more descriptors for the upstream proxy");
  }
  plain_.fd.Reset(ends[0]);
  UniqueFd theirs(ends[1]);
  if (!loop_.Watch(plain_.fd.get(), kEdges, &plain_)) {
    return Fail("the kernel watches no more sockets");
  }
  is_open_ = true;
  const Ready ready = std::move(ready_);
  ready(std::move(theirs), "");
}

void UpstreamTls::Carry() {
  for (int step = 0; step < kTurn; ++step) {
    bool went_on = ReadTls();
    went_on = WritePlain() || went_on;
    went_on = !is_over_ && (ReadPlain() || went_on);
    went_on = !is_over_ && (WriteTls() || went_on);
    if (is_over_) return;
    if (up_.shut && down_.shut) return End();
    if (went_on) continue;
    if (plain_.gone && up_.empty()) End();
    return;
  }
  loop_.Again(this);
}

bool UpstreamTls::ReadTls() {
  if (down_.ended || !down_.empty()) return false;
  down_.bytes.resize(kChunk);
  down_.sent = 0;
  calls_.ERR_clear_error();
  std::size_t count = 0;
  const int result = calls_.SSL_read_ex(ssl_.get(), down_.bytes.data(), kChunk, &count);
  down_.bytes.resize(count);
  if (result == 1) return true;
  down_.bytes.shrink_to_fit();  // Idle tunnels keep nothing.
  const int error = calls_.SSL_get_error(ssl_.get(), result);
  if (WouldBlock(error)) return false;
  *was_cut_ = error != SSL_ERROR_ZERO_RETURN;
  down_.ended = true;
  return true;
}

bool UpstreamTls::WritePlain() {
  if (down_.empty()) {
    if (!down_.ended || down_.shut) return false;
    shutdown(plain_.fd.get(), SHUT_WR);
    down_.shut = true;
    return true;
  }
  const ssize_t count =
      Send(plain_.fd.get(), down_.bytes.data() + down_.sent, down_.bytes.size() - down_.sent);
  if (count < 0 && errno == EAGAIN) return false;
  if (count < 0) {
    End();
    return false;
  }
  down_.sent += static_cast<std::size_t>(count);
  return true;
}

bool UpstreamTls::ReadPlain() {
  if (up_.ended || !up_.empty()) return false;
  up_.bytes.resize(kChunk);
  up_.sent = 0;
  const ssize_t count = Receive(plain_.fd.get(), up_.bytes.data(), kChunk);
  up_.bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (count > 0) return true;
  up_.bytes.shrink_to_fit();
  if (count < 0 && errno == EAGAIN) return false;
  up_.ended = true;
  return true;
}

bool UpstreamTls::WriteTls() {
  if (up_.empty()) {
    if (!up_.ended || up_.shut) return false;
    calls_.SSL_shutdown(
        ssl_.get());  // One record; lost when the buffer is full, and then closing says it.
    shutdown(proxy_.get(), SHUT_WR);
    up_.shut = true;
    return true;
  }
  calls_.ERR_clear_error();
  std::size_t count = 0;
  const int result = calls_.SSL_write_ex(ssl_.get(), up_.bytes.data() + up_.sent,
                                         up_.bytes.size() - up_.sent, &count);
  if (result == 1) {
    up_.sent += count;
    return true;
  }
  if (!WouldBlock(calls_.SSL_get_error(ssl_.get(), result))) End();
  return false;
}

void UpstreamTls::Fail(std::string problem) {
  const Ready ready = std::exchange(ready_, nullptr);
  End();
  if (ready != nullptr) ready({}, std::move(problem));
}

void UpstreamTls::End() {
  if (is_over_) return;
  is_over_ = true;
  loop_.Forget(this);
  loop_.Forget(&plain_);
  ssl_.reset();
  plain_.fd.Reset();
  proxy_.Reset();
  over_(this);
}

UpstreamTls* UpstreamTlsSet::Add(UniqueFd proxy, UpstreamTls::Ready ready) {
  auto tls = std::make_unique<UpstreamTls>(
      loop_, *client_, std::move(proxy), std::move(ready),
      [this](UpstreamTls* over) { loop_.Retire(std::move(all_.extract(over).mapped())); });
  UpstreamTls* const raw = tls.get();
  all_.emplace(raw, std::move(tls));
  raw->Start();
  return raw;
}

}  // namespace cordon::internal::egress
