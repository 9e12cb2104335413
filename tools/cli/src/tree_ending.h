// How a command's tree is made to end: by its time limit, its output limit, a signal to this
// program; and what is said of one that does not end. Used by one thread.

#ifndef CORDON_TOOLS_CLI_SRC_TREE_ENDING_H_
#define CORDON_TOOLS_CLI_SRC_TREE_ENDING_H_

#include <chrono>
#include <optional>

#include "absl/status/statusor.h"
#include "cordon/sdk/process.h"

namespace cordon::cli {

class TreeEnding {
 public:
  // The time limit begins now.
  TreeEnding(Process& process, std::optional<std::chrono::milliseconds> timeout);

  // For poll(2): until `Advance` has something to do; -1 when never.
  [[nodiscard]] int MillisecondsLeft() const;
  // Ends the tree when its time is over, and gives up waiting for one that does not end.
  void Advance();

  // The first reason is the one that is reported. No effect once the tree is over.
  void End(Outcome::Kind reason, ProcessSignal signal);
  // Passes on what this program was sent.
  void EndBySignal(int signal);

  // Its exit descriptor has said so.
  void TreeHasEnded() { over_ = true; }
  // Ended, or given up.
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] bool gave_up() const { return gave_up_; }

  // Once it is over. Of a tree that was given up it has only how it was made to end; `end_proved`
  // is false.
  [[nodiscard]] absl::StatusOr<RunResult> Result();

 private:
  using Clock = std::chrono::steady_clock;

  Process& process_;
  const Clock::time_point started_ = Clock::now();
  std::optional<Clock::time_point> deadline_;
  std::optional<Clock::time_point> give_up_at_;
  std::optional<Outcome::Kind> ended_by_;
  bool over_ = false;
  bool gave_up_ = false;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_TREE_ENDING_H_
