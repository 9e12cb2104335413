// One turn of a model out of one streamed answer, asked for again when it breaks off. What the
// protocols have in common; each adds how its request is written and how its events are read.

#ifndef CORDON_SAMPLES_AGENT_STREAMED_TURN_H_
#define CORDON_SAMPLES_AGENT_STREAMED_TURN_H_

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model.h"
#include "model_http.h"

namespace cordon::agent {

// A turn while its pieces arrive. Readers derive from it and add `bool OnEvent(std::string_view)`,
// which is false when nothing more is wanted.
class TurnInPieces {
 public:
  explicit TurnInPieces(const OnModelText& on_text) : lines_(on_text) {}

  [[nodiscard]] bool finished() const { return finished_; }
  // Returns kUnavailable, which may pass, for a turn that is not whole.
  [[nodiscard]] absl::StatusOr<Turn> Finish() &&;

 protected:
  void AddText(const std::string& text);
  void SetFinished() { finished_ = true; }
  // With the server's words.
  void Fail(std::string error);
  [[nodiscard]] bool failed() const { return !error_.empty(); }

  std::map<int, ToolCall> calls_;  // By their place in the turn.

 private:
  TextLines lines_;
  Turn turn_;
  std::string error_;
  bool finished_ = false;
};

template <typename Reader>
class StreamedModel final : public Model {
 public:
  using WriteRequest = ModelRequest (*)(const ModelEndpoint& endpoint,
                                        absl::Span<const Message> transcript,
                                        absl::Span<const ToolSpec> tools);

  StreamedModel(ModelEndpoint endpoint, std::unique_ptr<ModelTransport> transport,
                WriteRequest write_request)
      : endpoint_(std::move(endpoint)),
        transport_(std::move(transport)),
        write_request_(write_request) {}

  absl::StatusOr<Turn> Next(absl::Span<const Message> transcript, absl::Span<const ToolSpec> tools,
                            std::stop_token stop) override {
    const ModelRequest request = write_request_(endpoint_, transcript, tools);
    Turn turn;
    const auto attempt = [&]() -> absl::Status {
      Reader reader(endpoint_.on_text);
      const absl::Status streamed = transport_->Stream(
          request, endpoint_.idle_limit,
          [&reader](std::string_view data) { return reader.OnEvent(data); }, stop);
      // After the end of the turn it does not matter how the connection ends.
      if (!streamed.ok() && !reader.finished()) return streamed;
      absl::StatusOr<Turn> read = std::move(reader).Finish();
      if (read.ok()) turn = *std::move(read);
      return read.status();
    };
    const absl::Status status = Retry(endpoint_, *transport_, attempt, stop);
    if (!status.ok()) return status;
    turn.shown = endpoint_.on_text != nullptr;
    return turn;
  }

 private:
  const ModelEndpoint endpoint_;
  const std::unique_ptr<ModelTransport> transport_;
  const WriteRequest write_request_;
};

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_STREAMED_TURN_H_
