// What the model APIs have in common on the wire: one POST whose answer is a stream of events,
// cancellation, and trying again after failures that pass.

#ifndef CORDON_SAMPLES_AGENT_MODEL_HTTP_H_
#define CORDON_SAMPLES_AGENT_MODEL_HTTP_H_

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cordon::agent {

// Called with a whole line of what the model says, without its newline, as it arrives.
using OnModelText = std::function<void(std::string_view line)>;
// Called before a pause, with what went wrong.
using OnModelRetry = std::function<void(std::string_view why, std::chrono::milliseconds pause)>;

struct ModelEndpoint {
  std::string base_url;  // https, or http to this machine.
  std::string key;       // May be empty for a server that wants none. Never logged.
  std::string model;
  OnModelText on_text;    // May be null.
  OnModelRetry on_retry;  // May be null.
  int max_attempts = 5;
  std::chrono::milliseconds first_pause = std::chrono::seconds(1);
  std::chrono::milliseconds idle_limit = std::chrono::minutes(3);  // Without a byte.
};

// Returns kInvalidOption for a base URL that is neither https nor http to 127.0.0.1, [::1] or
// localhost: a key would cross the network readable.
[[nodiscard]] absl::Status CheckEndpoint(const ModelEndpoint& endpoint);

struct ModelRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;                  // JSON
};

// Sends the request and hands over the data of each event until the stream ends or `on_event`
// returns false, which is no error. Errors: kUnavailable for what may pass (no connection, a broken
// stream, too many requests, a fault of the server); kInvalidRequest with the server's words for
// what will not; kCancelled.
class ModelTransport {
 public:
  virtual ~ModelTransport() = default;
  [[nodiscard]] virtual absl::Status Stream(const ModelRequest& request,
                                            std::chrono::milliseconds idle_limit,
                                            const std::function<bool(std::string_view)>& on_event,
                                            std::stop_token stop) = 0;
  // What the server asked for before the next attempt; zero when it did not.
  [[nodiscard]] virtual std::chrono::milliseconds wanted_pause() const = 0;
};

// Runs `attempt` until it succeeds, fails for good, or has failed `max_attempts` times, with pauses
// that double, vary by a quarter, and are at least what `wanted_pause` says, at most a minute.
[[nodiscard]] absl::Status Retry(const ModelEndpoint& endpoint, ModelTransport& transport,
                                 const std::function<absl::Status()>& attempt,
                                 std::stop_token stop);

// Gives out text line by line.
class TextLines {
 public:
  explicit TextLines(OnModelText on_text) : on_text_(std::move(on_text)) {}
  void Add(std::string_view part);
  void Finish();  // What has no newline yet.

 private:
  const OnModelText on_text_;
  std::string pending_;
};

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_MODEL_HTTP_H_
