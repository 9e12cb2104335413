// What a filter decides, by an interpreter: the same on every machine, for every architecture.

#ifndef CORDON_SANDBOX_SRC_SECCOMP_TESTING_H_
#define CORDON_SANDBOX_SRC_SECCOMP_TESTING_H_

#include <linux/seccomp.h>
#include <seccomp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "seccomp_filter.h"

namespace cordon::internal::testing {

inline constexpr std::uint32_t kArchitectures[] = {SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64};
inline constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
inline constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t Errno(int number) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number);
}

// Runs the instructions that the writer uses, as the kernel would. Fails the test at any other.
[[nodiscard]] std::uint32_t Interpret(const std::string& bytes, const seccomp_data& data);

// The filter of commands.
class Filter {
 public:
  explicit Filter(std::uint32_t architecture, const FilterUse& use = {});

  [[nodiscard]] std::uint32_t Decide(int number,
                                     const std::vector<std::uint64_t>& arguments = {}) const;
  [[nodiscard]] std::uint32_t Decide(const char* name,
                                     const std::vector<std::uint64_t>& arguments = {}) const;
  [[nodiscard]] std::uint32_t DecideAs(std::uint32_t architecture, int number,
                                       const std::vector<std::uint64_t>& arguments = {}) const;
  // In instructions.
  [[nodiscard]] std::size_t length() const;

 private:
  std::uint32_t architecture_;
  std::string program_;
};

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_SECCOMP_TESTING_H_
