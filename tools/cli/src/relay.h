// Copies one stream without ever blocking its caller and without keeping what passes: a slow reader
// slows the command down, as it would without a sandbox, but delays no time limit. Used by one
// thread.

#ifndef CORDON_TOOLS_CLI_SRC_RELAY_H_
#define CORDON_TOOLS_CLI_SRC_RELAY_H_

#include <poll.h>

#include <cstdint>

#include "cordon/sdk/unique_fd.h"

namespace cordon::cli {

class Relay {
 public:
  // Reads from `source`, a pipe or a terminal, and writes to `destination`; the relay closes both
  // of them when it ends, which is at once when either is invalid. SIGPIPE must be ignored.
  Relay(UniqueFd source, UniqueFd destination);

  [[nodiscard]] bool ended() const { return !source_.valid(); }

  // What to wait for: two entries for poll(2), which ignores those that are off.
  void Watch(pollfd* entries) const;

  // Moves what can be moved after poll(2) has filled the entries, at most `limit` bytes. Ends at
  // end of file, when nobody reads the destination any more, and when more came than `limit`
  // allows. Returns the bytes moved.
  std::uint64_t Advance(const pollfd* entries, std::uint64_t limit);

  // Whether it ended because there was more than the limit allowed.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  enum class Waiting : std::uint8_t { kForData, kForRoom };

  std::int64_t Move(std::uint64_t limit);
  void LookBeyondTheLimit();
  // POLLIN, POLLHUP or 0 of the source, right now.
  [[nodiscard]] short SourceState() const;
  void End();

  UniqueFd source_;
  UniqueFd destination_;
  Waiting waiting_ = Waiting::kForData;
  bool splice_works_ = true;
  bool overflowed_ = false;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_RELAY_H_
