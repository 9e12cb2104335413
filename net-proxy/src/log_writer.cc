#include "log_writer.h"

#include <pthread.h>
#include <signal.h>

#include <string>
#include <utility>

namespace cordon::internal::egress {

LogWriter::LogWriter(std::shared_ptr<LogSink> sink) : sink_(std::move(sink)) {
  if (sink_ == nullptr) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogWriter::~LogWriter() {
  if (sink_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void LogWriter::Append(LogRecord record) {
  if (sink_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) {
    ++dropped_;
    return;
  }
  if (dropped_ > 0)
    record.fields.emplace_back("dropped", std::to_string(std::exchange(dropped_, 0)));
  waiting_.push_back(std::move(record));
  wake_.notify_one();
}

void LogWriter::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const LogRecord record = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    // A record that cannot be kept is the log's own fault to report; the connection is over.
    (void)sink_->Append(record);
    lock.lock();
  }
}

}  // namespace cordon::internal::egress
