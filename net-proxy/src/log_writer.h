// Hands records to a log by a thread of its own: a log may wait for a disk, the loop may not. Safe
// from any thread.

#ifndef CORDON_NET_PROXY_SRC_LOG_WRITER_H_
#define CORDON_NET_PROXY_SRC_LOG_WRITER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "cordon/sdk/log_sink.h"

namespace cordon::internal::egress {

class LogWriter {
 public:
  // `sink` may be null: then nothing is kept.
  explicit LogWriter(std::shared_ptr<LogSink> sink);
  // Writes what waits.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // When the log cannot keep up, records are dropped and the next one that is kept says how many.
  void Append(LogRecord record);

 private:
  void Run();

  static constexpr std::size_t kMaxWaiting = 8192;
  std::shared_ptr<LogSink> sink_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<LogRecord> waiting_;
  std::uint64_t dropped_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_LOG_WRITER_H_
