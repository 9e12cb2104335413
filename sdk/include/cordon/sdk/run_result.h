// What a command that ran has done, and how it ended. Pure values.

#ifndef CORDON_SDK_RUN_RESULT_H_
#define CORDON_SDK_RUN_RESULT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/denial.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/grant.h"

namespace cordon {

// How a started command ended. A failing command is a result, never an error.
struct Outcome {
  enum class Kind : std::uint8_t {
    kExited,       // `code` is set.
    kSignaled,     // `signal` is set.
    kTimedOut,     // The time limit ended the tree.
    kOutputLimit,  // The output limit ended the tree.
    kCancelled,    // The caller's stop token, `Signal` or `Close` ended the tree.
  };

  Kind kind = Kind::kExited;
  // The command's own status where there is one, also when it was made to end.
  std::optional<int> code;
  std::optional<int> signal;
  std::chrono::milliseconds wall{0};
  std::chrono::milliseconds cpu{0};  // User and system time of the whole tree.
  std::uint64_t max_rss_bytes = 0;   // The largest process of the tree.
};

[[nodiscard]] std::string_view OutcomeKindName(Outcome::Kind kind);  // "exited", "timed_out", ...

// One stream as it was kept: all of it up to the head's size, then the last bytes.
struct CapturedOutput {
  std::string head;
  std::string tail;                 // What follows the gap; empty when nothing was left out.
  std::uint64_t total_bytes = 0;    // Exact, also of what was not kept.
  std::uint64_t total_lines = 0;    // Newline characters.
  std::uint64_t omitted_bytes = 0;  // 0 when `head` + `tail` is everything.
  bool valid_utf8 = true;           // Of everything, also of what was not kept.
  std::uint64_t spooled_bytes = 0;  // The first ones of all; the spool has them (`SpoolFiles`).
};

struct ConsumedGrant {
  GrantClass grant_class = GrantClass::kCommandStart;
  std::string target;
};

struct RunResult {
  std::string execution_id;
  Outcome outcome;
  // The command had ended, and processes that it had started still ran, perhaps with its output
  // open. Nobody waited for them; they were ended.
  bool left_running = false;
  // False when processes of the command may still run: what was done to end them has not been seen
  // to succeed. They are kept in the executor, which tries again with each later start and `Close`.
  bool end_proved = true;
  CapturedOutput standard_output;  // Of both streams when they were merged.
  CapturedOutput standard_error;
  std::vector<Denial> denials;
  // Protected paths that appeared or changed during the run; what could be undone was undone.
  std::vector<std::string> changed_protected;
  std::vector<ConsumedGrant> grants;
  CompileReport report;  // Of this very spawn.
};

}  // namespace cordon

#endif  // CORDON_SDK_RUN_RESULT_H_
