// A run's result as the text that a model reads and as the JSON object that programs read. Pure;
// safe from any thread.

#ifndef CORDON_TOOLS_BASH_RENDERING_H_
#define CORDON_TOOLS_BASH_RENDERING_H_

#include <chrono>
#include <cstdint>

#include "cordon/sdk/executor.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/tool.h"

namespace cordon::internal {

// The limits that were given to the run; the text names the one that ended it.
struct RunLimits {
  std::chrono::milliseconds timeout{0};
  std::uint64_t max_output_bytes = 0;
};

// `profile` is what the command ran under; it explains refusals.
[[nodiscard]] ToolResult RenderRunResult(const RunResult& result, const RunLimits& limits,
                                         const Profile& profile);

// "500 ms", "1.5 s", "2 min".
[[nodiscard]] std::string DurationText(std::chrono::milliseconds duration);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_RENDERING_H_
