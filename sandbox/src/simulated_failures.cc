#include "simulated_failures.h"

#include <cerrno>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "plan.h"

namespace cordon::internal {
namespace {

Step StepNamed(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Step::kExec); ++i) {
    const Step step = static_cast<Step>(i);
    if (StepName(step) == name) return step;
  }
  return Step::kNone;
}

}  // namespace

SimulatedFailures ParseSimulatedFailures(std::string_view text) {
  SimulatedFailures failures;
  if (text.empty()) return failures;
  const std::string list(text);
  for (const absl::string_view entry : absl::StrSplit(list, ',')) {
    const std::size_t colon = entry.find(':');
    int error_number = 0;
    const Step step = StepNamed({entry.data(), std::min(colon, entry.size())});
    const bool valid = step != Step::kNone && colon != absl::string_view::npos &&
                       absl::SimpleAtoi(entry.substr(colon + 1), &error_number) && error_number > 0;
    if (!valid) return {{Step::kPlan, EINVAL}};
    failures[step] = error_number;
  }
  return failures;
}

}  // namespace cordon::internal
