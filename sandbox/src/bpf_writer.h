// Writes a classic BPF program from its end to its start: jumps only go forward, so every target
// is known when the jump to it is written.

#ifndef CORDON_SANDBOX_SRC_BPF_WRITER_H_
#define CORDON_SANDBOX_SRC_BPF_WRITER_H_

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cordon::internal {

class BpfWriter {
 public:
  // A place in the program: how many instructions follow the one there.
  using Label = std::size_t;

  // `return value`; one instruction for all uses near enough.
  Label Return(std::uint32_t value);
  // Load the word at `offset` of the data, then go on at `next`.
  Label Load(std::uint32_t offset, Label next);
  // Keep only the bits of `mask` of what is loaded, then go on at `next`.
  Label And(std::uint32_t mask, Label next);
  // Compare what is loaded with `operand` by BPF_JEQ, BPF_JGE or BPF_JSET.
  Label Branch(std::uint16_t comparison, std::uint32_t operand, Label yes, Label no);

  [[nodiscard]] std::size_t size() const { return reversed_.size(); }
  // The program that starts at what was written last.
  [[nodiscard]] std::string Finish() const;

 private:
  Label Push(const sock_filter& instruction);
  // An instruction that goes on with the one after it, made to go on at `next`.
  Label PushBefore(Label next, const sock_filter& instruction);
  // `target`, or a jump to it that an instruction after the next `more` ones can still reach.
  Label Near(Label target, std::size_t more);
  [[nodiscard]] std::size_t Distance(Label target) const { return reversed_.size() - target - 1; }

  std::vector<sock_filter> reversed_;
  std::map<std::uint32_t, Label> returns_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_BPF_WRITER_H_
