#include "bpf_writer.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxConditionalJump = 255;

sock_filter Instruction(std::uint16_t code, std::uint32_t operand, std::size_t yes = 0,
                        std::size_t no = 0) {
  return {code, static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no), operand};
}

}  // namespace

BpfWriter::Label BpfWriter::Push(const sock_filter& instruction) {
  reversed_.push_back(instruction);
  return reversed_.size() - 1;
}

BpfWriter::Label BpfWriter::Return(std::uint32_t value) {
  const auto known = returns_.find(value);
  if (known != returns_.end()) return known->second;
  return returns_[value] = Push(Instruction(BPF_RET | BPF_K, value));
}

BpfWriter::Label BpfWriter::PushBefore(Label next, const sock_filter& instruction) {
  if (Distance(next) != 0) {
    Push(Instruction(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(Distance(next))));
  }
  return Push(instruction);
}

BpfWriter::Label BpfWriter::Load(std::uint32_t offset, Label next) {
  return PushBefore(next, Instruction(BPF_LD | BPF_W | BPF_ABS, offset));
}

BpfWriter::Label BpfWriter::And(std::uint32_t mask, Label next) {
  return PushBefore(next, Instruction(BPF_ALU | BPF_AND | BPF_K, mask));
}

BpfWriter::Label BpfWriter::Near(Label target, std::size_t more) {
  if (Distance(target) + more <= kMaxConditionalJump) return target;
  return Push(Instruction(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(Distance(target))));
}

BpfWriter::Label BpfWriter::Branch(std::uint16_t comparison, std::uint32_t operand, Label yes,
                                   Label no) {
  yes = Near(yes, 1);
  no = Near(no, 0);
  return Push(Instruction(BPF_JMP | comparison | BPF_K, operand, Distance(yes), Distance(no)));
}

std::string BpfWriter::Finish() const {
  std::string bytes;
  bytes.reserve(reversed_.size() * sizeof(sock_filter));
  for (auto it = reversed_.rbegin(); it != reversed_.rend(); ++it) {
    bytes.append(reinterpret_cast<const char*>(&*it), sizeof(sock_filter));
  }
  return bytes;
}

}  // namespace cordon::internal
