// Server-sent events (WHATWG HTML, section 9.2) out of bytes that arrive in pieces. Used by one
// thread.

#ifndef CORDON_SAMPLES_AGENT_SSE_H_
#define CORDON_SAMPLES_AGENT_SSE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace cordon::agent {

class SseReader {
 public:
  static constexpr std::size_t kMaxEventBytes = std::size_t{4} << 20;

  // `on_data` gets the data of each event: its `data` lines joined by newlines. Returns whether to
  // go on.
  explicit SseReader(std::function<bool(std::string_view)> on_data)
      : on_data_(std::move(on_data)) {}

  // False once `on_data` said so, or an event was longer than `kMaxEventBytes`.
  [[nodiscard]] bool Add(std::string_view bytes);

 private:
  [[nodiscard]] bool EndLine();

  const std::function<bool(std::string_view)> on_data_;
  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  // CR LF is one end of a line, also when it arrives in two pieces.
};

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_SSE_H_
