// A model without a network, a key or a surprise: it follows a script, but only for as long as the
// results are what the script expects. Where reality differs it says so and stops.

#ifndef CORDON_SAMPLES_AGENT_SCRIPTED_MODEL_H_
#define CORDON_SAMPLES_AGENT_SCRIPTED_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model.h"

namespace cordon::agent {

enum class Expect : std::uint8_t {
  kSuccess,  // The command exits with 0.
  kFailure,  // It runs and exits with another status.
};

// One command of the script, for the Bash tool.
struct ScriptedCommand {
  std::string command;
  std::string description;
  Expect expect = Expect::kSuccess;
  std::string expect_text;  // What the result must contain as well; may be empty.
};

// One turn of the model: what it says, and what it then runs at once.
struct Scene {
  std::string text;
  std::vector<ScriptedCommand> commands;
};

class ScriptedModel final : public Model {
 public:
  // The last scene should have no commands: it is the model's closing word.
  explicit ScriptedModel(std::vector<Scene> script) : script_(std::move(script)) {}

  absl::StatusOr<Turn> Next(absl::Span<const Message> transcript, absl::Span<const ToolSpec> tools,
                            std::stop_token stop) override;

  // What it was surprised by; empty after a run that went by the script.
  [[nodiscard]] const std::string& surprise() const { return surprise_; }
  // True once the whole script was played.
  [[nodiscard]] bool at_end() const { return next_scene_ == script_.size(); }

 private:
  // Compares the results at the end of the transcript with what the last scene expects.
  [[nodiscard]] std::string FindSurprise(absl::Span<const Message> transcript) const;

  const std::vector<Scene> script_;
  std::size_t next_scene_ = 0;
  std::string surprise_;
};

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_SCRIPTED_MODEL_H_
