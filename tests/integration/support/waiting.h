// Waiting for something outside this process, always with an end.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_WAITING_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_WAITING_H_

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::test {

// Milliseconds that are left until `end`, never negative; for poll(2).
[[nodiscard]] int MillisecondsUntil(std::chrono::steady_clock::time_point end);

// Whether `condition` became true before `limit` was over. Looks again every few milliseconds.
[[nodiscard]] bool Within(std::chrono::milliseconds limit, const std::function<bool()>& condition);

// Whether the file came to exist and to hold something.
[[nodiscard]] bool FileAppears(const std::string& path, std::chrono::milliseconds limit);

// Ids of all processes that have `word` in their arguments. Other programs of a test have it too
// when it was passed through them.
[[nodiscard]] std::vector<int> ProcessesWith(std::string_view word);

// A number for `sleep` that no other test uses, so that it names the process: half a minute and a
// fraction. What outlives its test ends by itself.
[[nodiscard]] std::string SleepMark();

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_WAITING_H_
