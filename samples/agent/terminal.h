// How the agent looks on a terminal: what the model says, each command, how it ended, the first
// lines of its output. Colour only where a terminal shows it.

#ifndef CORDON_SAMPLES_AGENT_TERMINAL_H_
#define CORDON_SAMPLES_AGENT_TERMINAL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "agent.h"

namespace cordon::agent {

// Whether `fd` is a terminal that wants colour (https://no-color.org, TERM=dumb).
[[nodiscard]] bool WantsColor(int fd);

enum class Tone : std::uint8_t { kPlain, kBold, kDim, kGood, kBad, kAsk };

class Terminal final : public Observer {
 public:
  static constexpr std::size_t kShownLines = 14;
  static constexpr std::size_t kWidth = 100;

  // `out` is borrowed.
  Terminal(std::ostream& out, bool color) : out_(out), color_(color) {}

  void Heading(std::string_view text);
  // Indented by two, broken at spaces where it is longer than `kWidth`.
  void Line(std::string_view text, Tone tone = Tone::kPlain);
  // Rows under each other, columns as wide as their widest cell; the last one is broken like
  // `Line` and keeps its column.
  void Table(const std::vector<std::vector<std::string>>& rows);

  // One line of what the model says, as it comes.
  void ModelLine(std::string_view line);

  // No word about the time while this is held: a person is being asked.
  [[nodiscard]] std::unique_lock<std::mutex> HoldProgress() {
    return std::unique_lock(progress_mutex_);
  }

  void OnText(std::string_view text) override;
  void OnCalls(const std::vector<ToolCall>& calls) override;
  void OnOutcome(const ToolCall& call, const ToolCallOutcome& outcome) override;
  void OnWaiting(std::chrono::seconds since_start) override;

 private:
  // As it is, indented by two.
  void Print(std::string_view line, Tone tone);
  [[nodiscard]] std::string Paint(std::string_view text, Tone tone) const;

  std::ostream& out_;
  const bool color_;
  std::mutex progress_mutex_;
};

// `text` broken at spaces into lines of at most `width` bytes where that is possible; all but the
// first start with `hanging` spaces.
[[nodiscard]] std::vector<std::string> Wrap(std::string_view text, std::size_t width,
                                            std::size_t hanging);

// The command of a call of the Bash tool, escaped for display; line breaks are kept.
[[nodiscard]] std::string CommandOf(const ToolCall& call);

// At most `width` characters of the first line of `text`, with an ellipsis where something is cut.
[[nodiscard]] std::string Shorten(std::string_view text, std::size_t width);

// "exit code: 2", "refused: policy_denied", ...: how a call ended, on one line.
[[nodiscard]] std::string EndOf(const ToolCallOutcome& outcome);

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_TERMINAL_H_
