#include "relay.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

constexpr std::uint32_t kEdges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
// After so much one relay lets the others have their turn: what a new connection waits for is a
// round of everybody's turns, several times.
constexpr std::size_t kTurnBytes = std::size_t{256} * 1024;
constexpr std::chrono::milliseconds kReleaseAfter{100};
constexpr std::chrono::milliseconds kLastAnswersTimeout{1000};
constexpr std::chrono::milliseconds kDrainTimeout{1000};
constexpr std::size_t kMaxDrainedBytes = std::size_t{4} * 1024 * 1024;

}  // namespace

void Relay::Side::OnIo(std::uint32_t events) {
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) readable = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hung_up = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) writable = true;
  relay->Run(*this);
}

Relay::Relay(EventLoop& loop, Shared& shared, UniqueFd client, UniqueFd server, Options options,
             std::function<void(Outcome&)> ended)
    : loop_(loop),
      shared_(shared),
      inspector_(std::move(options.inspector)),
      raw_(inspector_ == nullptr),
      first_byte_timeout_(options.first_byte_timeout),
      early_(std::move(options.early)),
      server_was_cut_(std::move(options.server_was_cut)),
      refused_(std::move(options.refused)),
      ended_(std::move(ended)) {
  client_.relay = this;
  client_.fd = std::move(client);
  server_.relay = this;
  server_.fd = std::move(server);
  up_.from = down_.to = &client_;
  up_.to = down_.from = &server_;
  down_.pending = std::move(options.greeting);
}

Relay::~Relay() {
  loop_.Cancel(timer_);
  loop_.Cancel(release_timer_);
  for (Side* side : {&client_, &server_}) {
    if (side->fd.valid()) loop_.Forget(side);
  }
  for (Flow* flow : {&up_, &down_}) {
    if (flow->pipe != nullptr) shared_.pipes.Return(std::move(flow->pipe));
  }
}

bool Relay::Start() {
  // A silent connection that is not looked at may stay silent, as it could without us.
  if (!raw_) SetTimer(first_byte_timeout_);
  return loop_.Watch(client_.fd.get(), kEdges, &client_) &&
         loop_.Watch(server_.fd.get(), kEdges, &server_);
}

void Relay::Run(Side& side) {
  if (stage_ == Stage::kDraining) return ReadToDrain();
  if (!early_.empty()) {
    // The greeting comes before an answer to what was said early.
    if (!Flush(down_)) return;
    FeedEarly();
  }
  // What the side sent first, so that an answer in one segment with a FIN is not overtaken by it.
  Flow& from_it = &side == &client_ ? up_ : down_;
  Flow& to_it = &side == &client_ ? down_ : up_;
  Pump(from_it);
  if (stage_ == Stage::kOver || stage_ == Stage::kDraining) return;
  Pump(to_it);
  CheckLeaving();
}

void Relay::FeedEarly() {
  const std::string early = std::exchange(early_, {});
  up_.bytes += early.size();
  if (raw_) {
    up_.pending += early;
  } else {
    Inspect(early.data(), early.size());
  }
}

// A client that asks for another target has all answers of this one, or does not want them.
void Relay::CheckLeaving() {
  if (!is_leaving_ || stage_ != Stage::kRelaying) return;
  if (!up_.pending.empty() || !down_.pending.empty()) return;
  loop_.Unwatch(client_.fd.get(), &client_);
  outcome_.client = std::move(client_.fd);
  outcome_.rest = inspector_->TakeRest();
  End();
}

void Relay::Pump(Flow& flow) {
  std::size_t budget = kTurnBytes;
  while (stage_ == Stage::kRelaying || stage_ == Stage::kLastAnswers) {
    if (!Flush(flow)) return;
    if (flow.ended) return FlowEnded(flow);
    if (flow.stopped || !flow.from->readable) return ReturnPipe(flow);
    if (budget == 0) return loop_.Again(flow.from);
    if (flow.pipe == nullptr && WantsPipe(flow)) flow.pipe = shared_.pipes.Borrow();
    if (!(flow.pipe != nullptr ? SpliceIn(flow, budget) : ReadOnce(flow, budget))) {
      return ReturnPipe(flow);
    }
  }
}

// After a read of no bytes, or one that failed: whether to go on with the flow.
bool Relay::GotNothing(Flow& flow, ssize_t count) {
  if (count < 0 && errno == EINTR) return true;
  if (count < 0 && errno == EAGAIN) {
    flow.from->readable = false;
    return false;
  }
  const bool was_cut = &flow == &down_ && server_was_cut_ != nullptr && *server_was_cut_;
  if (count < 0 || was_cut) {
    // A reset. What the other side still has for this one is lost with it.
    Reset();
    return false;
  }
  flow.ended = true;
  if (&flow == &up_ && !raw_) inspector_->Finish(up_.pending);
  return true;
}

void Relay::Count(Flow& flow, std::size_t size, std::size_t& budget) {
  budget -= std::min(budget, size);
  flow.bytes += size;
}

// False when nothing more can be read now.
bool Relay::ReadOnce(Flow& flow, std::size_t& budget) {
  const std::size_t want = std::min(flow.chunk, budget);
  const ssize_t count = Receive(flow.from->fd.get(), shared_.buffer.get(), want);
  if (count <= 0) return GotNothing(flow, count);
  const auto size = static_cast<std::size_t>(count);
  Count(flow, size, budget);
  if (size < want && !flow.from->hung_up) flow.from->readable = false;
  if (size == flow.chunk) flow.chunk = std::min(flow.chunk * 2, kBufferBytes);
  Pass(flow, shared_.buffer.get(), size);
  return true;
}

void Relay::Pass(Flow& flow, const char* data, std::size_t size) {
  if (flow.broken) return;
  if (!raw_) {
    if (&flow == &up_) return Inspect(data, size);
    if (up_.bytes == 0) server_first_ = true;
    if (inspector_->awaits_switch()) {
      Apply(inspector_->FeedServer({data, size}, up_.pending));
      if (!up_.pending.empty()) loop_.Again(&client_);
    }
  }
  if (stage_ != Stage::kRelaying && stage_ != Stage::kLastAnswers) return;
  if (flow.to->writable) {
    const ssize_t sent = Send(flow.to->fd.get(), data, size);
    if (sent == static_cast<ssize_t>(size)) return;
    if (sent < 0 && errno != EAGAIN) return Break(flow);
    flow.to->writable = false;
    flow.chunk = kSlowChunk;
    const std::size_t taken = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    data += taken;
    size -= taken;
  }
  flow.pending.append(data, size);
}

void Relay::Inspect(const char* data, std::size_t size) {
  Apply(inspector_->Feed({data, size}, up_.pending));
  const bool partial = stage_ == Stage::kRelaying && !raw_ && inspector_->holds_partial_line();
  if (!partial) {
    loop_.Cancel(release_timer_);
  } else if (release_timer_ == EventLoop::kNoTimer) {
    release_timer_ = loop_.After(kReleaseAfter, [this] {
      release_timer_ = EventLoop::kNoTimer;
      inspector_->Release(up_.pending);
      Pump(up_);
    });
  }
}

void Relay::Apply(ClientInspector::Verdict verdict) {
  switch (verdict) {
    case ClientInspector::Verdict::kRefuse:
      return Refuse();
    case ClientInspector::Verdict::kGoOn:
      return;
    case ClientInspector::Verdict::kRaw:
      raw_ = true;
      return;
    case ClientInspector::Verdict::kElsewhere:
      is_leaving_ = true;
      up_.stopped = true;
      loop_.Again(&client_);
      return;
  }
}

// False when bytes are left.
bool Relay::Flush(Flow& flow) {
  if (flow.pipe != nullptr && !SpliceOut(flow)) return false;
  while (flow.sent < flow.pending.size() && !flow.broken) {
    if (!flow.to->writable) return false;
    const ssize_t count =
        Send(flow.to->fd.get(), flow.pending.data() + flow.sent, flow.pending.size() - flow.sent);
    if (count < 0 && errno == EAGAIN) {
      flow.to->writable = false;
      return false;
    }
    if (count < 0) {
      Break(flow);
      return stage_ == Stage::kRelaying || stage_ == Stage::kLastAnswers;
    }
    flow.sent += static_cast<std::size_t>(count);
  }
  if (flow.pending.capacity() > kSlowChunk) {
    std::string().swap(flow.pending);  // Idle relays keep nothing.
  } else {
    flow.pending.clear();
  }
  flow.sent = 0;
  return true;
}

void Relay::FlowEnded(Flow& flow) {
  if (stage_ == Stage::kLastAnswers && &flow == &down_) return AnswerAndDrain();
  if (!flow.shut) shutdown(flow.to->fd.get(), SHUT_WR);
  flow.shut = true;
  CheckDone();
}

// The receiver is gone. What it still has to say goes on, and the sender is listened to no more.
void Relay::Break(Flow& flow) {
  flow.broken = true;
  flow.pending.clear();
  flow.sent = 0;
  flow.to->readable = true;
  flow.to->hung_up = true;
  CheckDone();
  if (stage_ == Stage::kRelaying || stage_ == Stage::kLastAnswers) loop_.Again(flow.to);
}

void Relay::CheckDone() {
  const bool up_done = up_.shut || up_.broken;
  const bool down_done = down_.shut || down_.broken;
  if (!up_done || !down_done) return;
  if (up_.broken && down_.shut && !up_.ended) return Drain();  // It may not have read all yet.
  if (down_.broken) SetResetOnClose(server_.fd.get());
  End();
}

void Relay::Refuse() {
  loop_.Cancel(release_timer_);
  outcome_.refused = true;
  outcome_.refusal = inspector_->refusal();
  if (refused_ != nullptr) refused_(outcome_.refusal);
  up_.stopped = true;
  raw_ = true;
  if (inspector_->requests() == 0) return AnswerAndDrain();
  // Answers to earlier requests come first; what waits of those goes on.
  stage_ = Stage::kLastAnswers;
  up_.ended = true;
  SetTimer(kLastAnswersTimeout);
  if (Flush(up_)) FlowEnded(up_);
}

void Relay::AnswerAndDrain() {
  // The buffers of the socket take a short text even when the client reads slowly; when not, the
  // client sees the end alone.
  const std::string& answer = outcome_.refusal.answer;
  const bool flushed = Flush(down_);
  if (stage_ == Stage::kOver) return;
  if (flushed && !answer.empty()) (void)Send(client_.fd.get(), answer.data(), answer.size());
  Drain();
}

// Closing a socket with unread bytes sends a reset, which would take back what was just sent.
void Relay::Drain() {
  stage_ = Stage::kDraining;
  loop_.Forget(&server_);
  server_.fd.Reset();
  shutdown(client_.fd.get(), SHUT_WR);
  SetTimer(kDrainTimeout);
  loop_.Again(&client_);
}

void Relay::ReadToDrain() {
  while (drained_ < kMaxDrainedBytes) {
    const ssize_t count = Receive(client_.fd.get(), shared_.buffer.get(), kBufferBytes);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return End();
    drained_ += static_cast<std::size_t>(count);
  }
  End();
}

void Relay::SetTimer(std::chrono::milliseconds wait) {
  loop_.Cancel(timer_);
  timer_ = loop_.After(wait, [this] {
    timer_ = EventLoop::kNoTimer;
    OnTimer();
  });
}

void Relay::OnTimer() {
  if (stage_ != Stage::kRelaying) return Reset();
  const bool up_went_on = up_.bytes > 0 && (raw_ || inspector_->requests() > 0);
  if (!up_went_on && down_.bytes == 0) Reset();
}

void Relay::Reset() {
  for (Side* side : {&client_, &server_}) {
    if (side->fd.valid()) SetResetOnClose(side->fd.get());
  }
  End();
}

void Relay::End() {
  if (stage_ == Stage::kOver) return;
  stage_ = Stage::kOver;
  loop_.Cancel(timer_);
  loop_.Cancel(release_timer_);
  for (Side* side : {&client_, &server_}) {
    if (!side->fd.valid()) continue;
    loop_.Forget(side);
    side->fd.Reset();
  }
  outcome_.bytes_up = up_.bytes;
  outcome_.bytes_down = down_.bytes;
  if (inspector_ != nullptr) {
    outcome_.protocol = server_first_ ? "server first" : inspector_->protocol();
  }
  ended_(outcome_);
}

bool Relay::names_no_host() const {
  if (inspector_ == nullptr) return false;
  const std::string_view protocol = inspector_->protocol();
  return protocol == "other" || (protocol.empty() && server_first_);
}

}  // namespace cordon::internal::egress
