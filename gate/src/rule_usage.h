// Counting the uses of stored rules: those that a rule file limits, and for people all of them.

#ifndef CORDON_GATE_SRC_RULE_USAGE_H_
#define CORDON_GATE_SRC_RULE_USAGE_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace cordon::internal {

// Takes one use of each rule of `ids` that has a number of them, under the file's lock; of none
// when one is used up or gone: kApprovalStale. Errors of `AddToRuleFile`.
[[nodiscard]] absl::Status TakeUsesInRuleFile(const std::string& path,
                                              const std::vector<std::string>& ids);

// Adds to the counts in `PATH.used`, as well as it can: what cannot be counted is not.
void CountRuleUsage(const std::string& path, const std::vector<std::string>& ids,
                    std::chrono::system_clock::time_point now);

// 64 lower-case hexadecimal digits.
[[nodiscard]] bool IsSha256Text(std::string_view text);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_RULE_USAGE_H_
