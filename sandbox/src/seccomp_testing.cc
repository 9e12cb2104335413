#include "seccomp_testing.h"

#include <linux/filter.h>

#include <cstring>

#include "observed_calls.h"
#include "support/catch.h"
#include "syscall_policy.h"

namespace cordon::internal::testing {

std::uint32_t Interpret(const std::string& bytes, const seccomp_data& data) {
  std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
  std::memcpy(program.data(), bytes.data(), bytes.size());
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& now = program[at];
    switch (now.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        REQUIRE(now.k + sizeof(accumulator) <= sizeof(data));
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + now.k,
                    sizeof(accumulator));
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= now.k;
        break;
      case BPF_JMP | BPF_JA:
        at += now.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += accumulator == now.k ? now.jt : now.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += accumulator >= now.k ? now.jt : now.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (accumulator & now.k) != 0 ? now.jt : now.jf;
        break;
      case BPF_RET | BPF_K:
        return now.k;
      default:
        FAIL("instruction " << now.code << " at " << at);
    }
  }
  FAIL("ran off the end");
  return 0;
}

Filter::Filter(std::uint32_t architecture, const FilterUse& use) : architecture_(architecture) {
  absl::StatusOr<std::string> program = BuildSeccompProgram(architecture, use);
  REQUIRE(program.ok());
  program_ = *std::move(program);
}

std::uint32_t Filter::Decide(int number, const std::vector<std::uint64_t>& arguments) const {
  return DecideAs(architecture_, number, arguments);
}

std::uint32_t Filter::Decide(const char* name, const std::vector<std::uint64_t>& arguments) const {
  const int number = CallNumber(name, architecture_);
  REQUIRE(number >= 0);
  return Decide(number, arguments);
}

std::uint32_t Filter::DecideAs(std::uint32_t architecture, int number,
                               const std::vector<std::uint64_t>& arguments) const {
  seccomp_data data = {};
  data.arch = architecture;
  data.nr = number;
  REQUIRE(arguments.size() <= std::size(data.args));
  for (std::size_t i = 0; i < arguments.size(); ++i) data.args[i] = arguments[i];
  return Interpret(program_, data);
}

std::size_t Filter::length() const { return program_.size() / sizeof(sock_filter); }

}  // namespace cordon::internal::testing
