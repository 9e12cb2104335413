// A run's result as the text that a model reads and as the JSON object that programs read. Pure;
// safe from any thread.

#ifndef CORDON_TOOLS_BASH_RENDERING_H_
#define CORDON_TOOLS_BASH_RENDERING_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/executor.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/tool.h"

namespace cordon::internal {

// The limits that were given to the run; the text names the one that ended it.
struct RunLimits {
  std::chrono::milliseconds timeout{0};
  std::uint64_t max_output_bytes = 0;
};

// What belongs to the call, not to the run.
struct CallContext {
  std::string workdir;
  std::vector<std::string> notes;  // Before those about the run.
  bool output_is_merged = false;
  bool has_jobs = false;
};

// `profile` is what the command ran under; it explains refusals.
[[nodiscard]] ToolResult RenderRunResult(const RunResult& result, const RunLimits& limits,
                                         const Profile& profile, const CallContext& context = {});

// "exit code: 2", "ended by signal 9 (SIGKILL)", "timed out after 2 s: ...", ...
[[nodiscard]] std::string OutcomeText(const Outcome& outcome, const RunLimits& limits);

// Ended by a limit or by request, so that its status is not the command's own choice.
[[nodiscard]] bool EndedByUs(Outcome::Kind kind);

// One line each, with how to allow it.
[[nodiscard]] std::vector<std::string> DenialLines(const std::vector<Denial>& denials,
                                                   const Profile& profile);
[[nodiscard]] std::vector<std::string> EscapedLines(const std::vector<std::string>& lines);

// Adds a titled list to a text; nothing for no lines.
void AppendList(std::string_view title, const std::vector<std::string>& lines, std::string& out);

// "12,345": long counts are read by people, and by models that copy them.
[[nodiscard]] std::string WithThousands(std::uint64_t number);

// "500 ms", "1.5 s", "2 min".
[[nodiscard]] std::string DurationText(std::chrono::milliseconds duration);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_RENDERING_H_
