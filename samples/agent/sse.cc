#include "sse.h"

namespace cordon::agent {

bool SseReader::Add(std::string_view bytes) {
  for (const char c : bytes) {
    const bool second_half = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      if (!EndLine()) return false;
    } else {
      line_ += c;
      if (line_.size() + data_.size() > kMaxEventBytes) return false;
    }
  }
  return true;
}

bool SseReader::EndLine() {
  const std::string line = std::exchange(line_, "");
  if (line.empty()) {
    if (!std::exchange(has_data_, false)) return true;
    return on_data_(std::exchange(data_, ""));
  }
  constexpr std::string_view kData = "data:";
  if (!line.starts_with(kData)) return true;  // Comments, event names, ids: not needed here.
  std::string_view value = std::string_view(line).substr(kData.size());
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += value;
  has_data_ = true;
  return true;
}

}  // namespace cordon::agent
