#include "dns_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "endpoint.h"
#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

constexpr int kMaxPerTurn = 64;
constexpr std::size_t kMaxMessageBytes = 4096;
constexpr std::chrono::milliseconds kStreamTimeout{10'000};

}  // namespace

DnsServer::DnsServer(EventLoop& loop, Answer answer) : loop_(loop), answer_(std::move(answer)) {}

DnsServer::DnsServer(EventLoop& loop, UniqueFd datagrams, UniqueFd streams, Answer answer)
    : DnsServer(loop, std::move(answer)) {
  listener_ = std::make_unique<Listener>(
      loop, std::move(streams), [this] { return streams_.size() < kMaxStreams; },
      [this](UniqueFd fd) { Accept(std::move(fd)); });
  datagrams_.server = this;
  datagrams_.fd = std::move(datagrams);
}

DnsServer::~DnsServer() {
  if (datagrams_.fd.valid()) loop_.Unwatch(datagrams_.fd.get(), &datagrams_);
  for (auto& [stream, owned] : streams_) {
    loop_.Cancel(stream->deadline);
    loop_.Unwatch(stream->fd.get(), stream);
  }
}

bool DnsServer::Start() {
  if (listener_ == nullptr) return true;
  return loop_.Watch(datagrams_.fd.get(), EPOLLIN, &datagrams_) && listener_->Start();
}

void DnsServer::Serve(UniqueFd stream) {
  if (streams_.size() < kMaxGivenStreams) Accept(std::move(stream));
}

void DnsServer::Datagrams::OnIo(std::uint32_t /*events*/) {
  char message[kMaxMessageBytes];
  for (int i = 0; i < kMaxPerTurn; ++i) {
    SocketAddress from;
    const ssize_t size =
        recvfrom(fd.get(), message, sizeof message, MSG_DONTWAIT, from.get(), &from.size);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;
    const std::string answer = server->answer_({message, static_cast<std::size_t>(size)});
    if (answer.empty()) continue;
    // Lost when the queue is full, as datagrams may be; the client asks again.
    (void)sendto(fd.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL, from.get(),
                 from.size);
  }
}

void DnsServer::Accept(UniqueFd fd) {
  auto stream = std::make_unique<Stream>();
  Stream* const raw = stream.get();
  raw->server = this;
  raw->fd = std::move(fd);
  if (!loop_.Watch(raw->fd.get(), EPOLLIN, raw)) return;
  raw->deadline = loop_.After(kStreamTimeout, [this, raw] {
    raw->deadline = EventLoop::kNoTimer;
    Close(raw);
  });
  streams_.emplace(raw, std::move(stream));
}

void DnsServer::Close(Stream* stream) {
  const auto found = streams_.find(stream);
  loop_.Cancel(stream->deadline);
  loop_.Unwatch(stream->fd.get(), stream);
  stream->fd.Reset();
  loop_.Retire(std::move(found->second));
  streams_.erase(found);
  if (listener_ != nullptr) listener_->Resume();
}

void DnsServer::Stream::OnIo(std::uint32_t /*events*/) {
  if (!Read() || !AnswerAll()) server->Close(this);
}

bool DnsServer::Stream::Read() {
  char bytes[kMaxMessageBytes];
  const ssize_t count = Receive(fd.get(), bytes, sizeof bytes);
  if (count < 0) return errno == EAGAIN;
  if (count == 0) return false;
  input.append(bytes, static_cast<std::size_t>(count));
  return true;
}

// Answers are short: a client whose buffer cannot take one is not served further.
bool DnsServer::Stream::AnswerAll() {
  while (input.size() >= 2) {
    const std::size_t size = static_cast<std::size_t>(static_cast<std::uint8_t>(input[0])) << 8 |
                             static_cast<std::uint8_t>(input[1]);
    if (size > kMaxMessageBytes) return false;
    if (input.size() < 2 + size) return true;
    std::string answer = server->answer_(std::string_view(input).substr(2, size));
    input.erase(0, 2 + size);
    if (answer.empty()) return false;
    answer.insert(answer.begin(), {static_cast<char>(answer.size() >> 8 & 0xff),
                                   static_cast<char>(answer.size() & 0xff)});
    if (Send(fd.get(), answer.data(), answer.size()) != static_cast<ssize_t>(answer.size())) {
      return false;
    }
  }
  return true;
}

}  // namespace cordon::internal::egress
