#include "plan_wire.h"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "cordon/sdk/status.h"
#include "plan_format.h"

namespace cordon::internal {
namespace {

// Collects one block: the header first, then whatever it leads to.
template <typename Header>
class BlockWriter {
 public:
  BlockWriter() : block_(sizeof(Header), '\0') {}

  wire::Text Add(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) has_nul_ = true;
    return AddBytes(text).offset;
  }

  // A NUL follows, which is not counted.
  wire::Bytes AddBytes(std::string_view bytes) {
    Align();
    const wire::Bytes result = {Size(), static_cast<std::uint32_t>(bytes.size())};
    block_.append(bytes);
    block_.push_back('\0');
    return result;
  }

  template <typename Record>
  wire::List Add(const std::vector<Record>& records) {
    Align();
    const wire::List result = {Size(), static_cast<std::uint32_t>(records.size())};
    if (!records.empty()) {
      block_.append(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record));
    }
    return result;
  }

  absl::StatusOr<std::string> Finish(Header header) {
    block_.push_back('\0');
    if (has_nul_) return MakeError(ErrorCode::kInvalidCommand, "a text holds a NUL byte");
    if (block_.size() > wire::kMaxBlockBytes) {
      return MakeError(ErrorCode::kInvalidCommand, "the plan or the command is too large");
    }
    header.size = Size();
    std::memcpy(block_.data(), &header, sizeof(header));
    return std::move(block_);
  }

 private:
  void Align() { block_.resize((block_.size() + 7) / 8 * 8, '\0'); }
  // Wraps only beyond what `Finish` refuses.
  [[nodiscard]] std::uint32_t Size() const { return static_cast<std::uint32_t>(block_.size()); }

  std::string block_;
  bool has_nul_ = false;
};

template <typename Writer>
wire::List AddView(Writer& writer, const std::vector<ViewOp>& ops) {
  std::vector<wire::ViewOpRecord> records;
  records.reserve(ops.size());
  for (const ViewOp& op : ops) {
    wire::ViewOpRecord record;
    record.kind = static_cast<std::uint8_t>(op.kind);
    record.read_only = op.read_only;
    record.executable = op.executable;
    record.optional = op.optional;
    record.mode = op.mode;
    record.target = writer.Add(op.target);
    record.source = writer.Add(op.source);
    if (op.kind == ViewOp::Kind::kSymlink) (void)writer.Add(op.data);  // Refuses a NUL.
    record.data = writer.AddBytes(op.data);
    record.size_bytes = op.size_bytes;
    record.device = op.device;
    record.inode = op.inode;
    records.push_back(record);
  }
  return writer.Add(records);
}

template <typename Writer>
wire::List AddRules(Writer& writer, const std::vector<LandlockRule>& rules) {
  std::vector<wire::LandlockRuleRecord> records;
  records.reserve(rules.size());
  for (const LandlockRule& rule : rules) {
    records.push_back({rule.access, writer.Add(rule.path), rule.optional, rule.device, rule.inode});
  }
  return writer.Add(records);
}

// With the null that ends a vector of execve(2), not counted.
template <typename Writer>
wire::List AddVector(Writer& writer, const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> offsets;
  offsets.reserve(texts.size() + 1);
  for (const std::string& text : texts) offsets.push_back(writer.Add(text));
  offsets.push_back(0);
  wire::List result = writer.Add(offsets);
  --result.count;
  return result;
}

}  // namespace

absl::StatusOr<std::string> EncodePlan(const SandboxPlan& plan) {
  BlockWriter<wire::PlanHeader> writer;
  wire::PlanHeader header;
  header.confined = plan.confined;
  header.namespaces = plan.confined && plan.namespaces;
  header.host_network = plan.host_network;
  header.must_observe = plan.must_observe;
  header.observes_early = plan.observes_early;
  header.observes_last = plan.observes_last;
  header.host_name = writer.Add(plan.host_name);
  header.view = AddView(writer, plan.view);
  header.landlock_rules = AddRules(writer, plan.landlock_rules);
  std::vector<wire::LimitRecord> limits;
  for (const ResourceLimit& limit : plan.limits) limits.push_back({limit.value, limit.resource, 0});
  header.limits = writer.Add(limits);
  header.seccomp = writer.AddBytes(plan.seccomp_program);
  header.observer = writer.AddBytes(plan.observer_program);
  std::vector<wire::Text> absent;
  for (const std::string& path : plan.absent) absent.push_back(writer.Add(path));
  header.absent = writer.Add(absent);
  header.process_limit = plan.process_limit;
  header.watched = plan.watched;
  header.landlock_handled_fs = plan.landlock_handled_fs;
  header.landlock_handled_net = plan.landlock_handled_net;
  header.landlock_scoped = plan.landlock_scoped;
  return writer.Finish(header);
}

absl::StatusOr<std::string> EncodeCommand(const CommandPlan& command) {
  if (command.argv.empty()) return MakeError(ErrorCode::kInvalidCommand, "no argv");
  BlockWriter<wire::CommandHeader> writer;
  wire::CommandHeader header;
  header.argv = AddVector(writer, command.argv);
  header.environment = AddVector(writer, command.environment);
  header.working_directory = writer.Add(command.working_directory);
  header.extra_view = AddView(writer, command.extra_view);
  header.extra_landlock_rules = AddRules(writer, command.extra_landlock_rules);
  header.terminal_rows = command.terminal_rows;
  header.terminal_columns = command.terminal_columns;
  return writer.Finish(header);
}

}  // namespace cordon::internal
