#include "model_http.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"

namespace cordon::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestPause = std::chrono::minutes(1);

// Between the scheme and the port or path.
std::string_view HostOf(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  url = url.substr(0, url.find('/'));
  if (url.find('@') != std::string_view::npos) return "";
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

// A quarter more or less, so that many clients do not come back at once.
milliseconds Vary(milliseconds pause) {
  std::random_device random;
  std::uniform_real_distribution<double> factor(0.75, 1.25);
  return milliseconds(
      static_cast<std::int64_t>(static_cast<double>(pause.count()) * factor(random)));
}

absl::Status Pause(milliseconds pause, std::stop_token stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, stop, pause, [] { return false; });
  if (!stop.stop_requested()) return absl::OkStatus();
  return MakeError(ErrorCode::kCancelled, "the request to the model was cancelled");
}

}  // namespace

absl::Status CheckEndpoint(const ModelEndpoint& endpoint) {
  const std::string_view url = endpoint.base_url;
  if (url.starts_with("https://") && !HostOf(url).empty()) return absl::OkStatus();
  if (url.starts_with("http://")) {
    const std::string_view host = HostOf(url);
    if (host == "127.0.0.1" || host == "[::1]" || host == "localhost") return absl::OkStatus();
  }
  return MakeError(ErrorCode::kInvalidOption,
                   absl::StrFormat("the model's address must be https, or http to this machine: %s",
                                   endpoint.base_url));
}

absl::Status Retry(const ModelEndpoint& endpoint, ModelTransport& transport,
                   const std::function<absl::Status()>& attempt, std::stop_token stop) {
  milliseconds pause = endpoint.first_pause;
  for (int attempts = 1;; ++attempts) {
    absl::Status status = attempt();
    if (status.ok() || !Is(status, ErrorCode::kUnavailable)) return status;
    if (attempts >= endpoint.max_attempts) {
      return Annotate(status,
                      absl::StrFormat("the model failed %d times, the last time", attempts));
    }
    const milliseconds wait =
        std::min(std::max(Vary(pause), transport.wanted_pause()), kLongestPause);
    if (endpoint.on_retry) endpoint.on_retry(std::string(status.message()), wait);
    if (absl::Status paused = Pause(wait, stop); !paused.ok()) return paused;
    pause = std::min(pause * 2, kLongestPause);
  }
}

void TextLines::Add(std::string_view part) {
  if (!on_text_) return;
  pending_ += part;
  std::size_t start = 0;
  for (std::size_t end; (end = pending_.find('\n', start)) != std::string::npos; start = end + 1) {
    on_text_(std::string_view(pending_).substr(start, end - start));
  }
  pending_.erase(0, start);
}

void TextLines::Finish() {
  if (on_text_ && !pending_.empty()) on_text_(pending_);
  pending_.clear();
}

}  // namespace cordon::agent
