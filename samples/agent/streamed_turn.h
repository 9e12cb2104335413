// One turn of a model out of one streamed answer, asked for again when it breaks off.

#ifndef CORDON_SAMPLES_AGENT_STREAMED_TURN_H_
#define CORDON_SAMPLES_AGENT_STREAMED_TURN_H_

#include <stop_token>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "model.h"
#include "model_http.h"

namespace cordon::agent {

// `Reader` is made anew for each attempt from `endpoint.on_text`; it has `bool OnEvent(data)`,
// `bool finished()` and `absl::StatusOr<Turn> Finish() &&`, whose kUnavailable may pass.
template <typename Reader>
[[nodiscard]] absl::StatusOr<Turn> StreamTurn(const ModelEndpoint& endpoint,
                                              ModelTransport& transport,
                                              const ModelRequest& request, std::stop_token stop) {
  Turn turn;
  const auto attempt = [&]() -> absl::Status {
    Reader reader(endpoint.on_text);
    const absl::Status streamed = transport.Stream(
        request, endpoint.idle_limit,
        [&reader](std::string_view data) { return reader.OnEvent(data); }, stop);
    // After the end of the turn it does not matter how the connection ends.
    if (!streamed.ok() && !reader.finished()) return streamed;
    absl::StatusOr<Turn> read = std::move(reader).Finish();
    if (read.ok()) turn = *std::move(read);
    return read.status();
  };
  const absl::Status status = Retry(endpoint, transport, attempt, stop);
  if (!status.ok()) return status;
  turn.shown = endpoint.on_text != nullptr;
  return turn;
}

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_STREAMED_TURN_H_
