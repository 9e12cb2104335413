#include "plan_wire.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "launcher/plan_reader.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using launcher::IsCommand;
using launcher::IsPlan;

// Aligned as a mapping is.
struct Aligned {
  explicit Aligned(const std::string& bytes) : words(bytes.size() / 8 + 1), size(bytes.size()) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] char* start() { return reinterpret_cast<char*>(words.data()); }
  std::vector<std::uint64_t> words;
  std::size_t size;
};

SandboxPlan FullPlan() {
  SandboxPlan plan;
  plan.host_network = true;
  plan.must_observe = true;
  plan.host_name = "name";
  ViewOp op;
  op.kind = ViewOp::Kind::kFile;
  op.target = "/target";
  op.data = std::string("a\0b", 3);
  op.mode = 0640;
  op.size_bytes = 1ull << 40;
  op.device = 7;
  op.inode = 9;
  op.read_only = true;
  op.executable = false;
  op.optional = true;
  plan.view = {op, op};
  plan.view[1].kind = ViewOp::Kind::kBind;
  plan.view[1].source = "/source";
  plan.landlock_handled_fs = 0xffff;
  plan.landlock_scoped = 3;
  plan.landlock_rules = {{"/rule", 12, true}};
  plan.seccomp_program = std::string(16, 'x');
  plan.limits = {{7, 1ull << 50}};
  return plan;
}

CommandPlan FullCommand() {
  CommandPlan command;
  command.argv = {"program", "", "third"};
  command.environment = {"A=1"};
  command.working_directory = "/code";
  command.extra_view = FullPlan().view;
  command.extra_landlock_rules = {{"/more", 1, false}};
  command.terminal_rows = 25;
  command.terminal_columns = 132;
  return command;
}

TEST_CASE("a plan arrives as it was") {
  const auto block = EncodePlan(FullPlan());
  REQUIRE(block.ok());
  Aligned memory(*block);
  REQUIRE(IsPlan(memory.start(), memory.size));
  const launcher::Plan plan(memory.start());
  CHECK(plan.header->confined == 1);
  CHECK(plan.header->namespaces == 1);
  CHECK(plan.header->host_network == 1);
  CHECK(plan.header->must_observe == 1);
  CHECK(std::string(plan.Text(plan.header->host_name)) == "name");
  REQUIRE(plan.header->view.count == 2);
  const auto* ops = plan.Records<wire::ViewOpRecord>(plan.header->view);
  CHECK(std::string(plan.Text(ops[0].target)) == "/target");
  CHECK(std::string(plan.Data(ops[0].data), ops[0].data.size) == std::string("a\0b", 3));
  CHECK(ops[0].mode == 0640);
  CHECK(ops[0].size_bytes == 1ull << 40);
  CHECK(ops[0].device == 7);
  CHECK(ops[0].inode == 9);
  CHECK(ops[0].read_only == 1);
  CHECK(ops[0].executable == 0);
  CHECK(ops[0].optional == 1);
  CHECK(std::string(plan.Text(ops[1].source)) == "/source");
  const auto* rules = plan.Records<wire::LandlockRuleRecord>(plan.header->landlock_rules);
  CHECK(rules[0].access == 12);
  CHECK(std::string(plan.Text(rules[0].path)) == "/rule");
  const auto* limits = plan.Records<wire::LimitRecord>(plan.header->limits);
  CHECK(limits[0].resource == 7);
  CHECK(limits[0].value == 1ull << 50);
  CHECK(plan.header->seccomp.size == 16);
}

TEST_CASE("a command arrives with the vectors that execve wants") {
  const auto block = EncodeCommand(FullCommand());
  REQUIRE(block.ok());
  Aligned memory(*block);
  REQUIRE(IsCommand(memory.start(), memory.size));
  launcher::MakeVectors(memory.start());
  const launcher::Command command(memory.start());
  char** argv = Vector(command, command.header->argv);
  CHECK(std::string(argv[0]) == "program");
  CHECK(std::string(argv[1]).empty());
  CHECK(std::string(argv[2]) == "third");
  CHECK(argv[3] == nullptr);
  char** environment = Vector(command, command.header->environment);
  CHECK(std::string(environment[0]) == "A=1");
  CHECK(environment[1] == nullptr);
  CHECK(std::string(command.Text(command.header->working_directory)) == "/code");
  CHECK(command.header->terminal_rows == 25);
  CHECK(command.header->terminal_columns == 132);
}

TEST_CASE("what cannot be said without loss is refused") {
  CommandPlan command = FullCommand();
  command.argv.clear();
  CHECK_FALSE(EncodeCommand(command).ok());
  command = FullCommand();
  command.environment = {std::string("A=\0", 3)};
  CHECK_FALSE(EncodeCommand(command).ok());
  SandboxPlan plan = FullPlan();
  plan.view[0].kind = ViewOp::Kind::kSymlink;  // Its data is text.
  CHECK_FALSE(EncodePlan(plan).ok());
}

TEST_CASE("a block of another kind, a shortened one and a damaged one are told from a good one") {
  const auto plan = EncodePlan(FullPlan());
  const auto command = EncodeCommand(FullCommand());
  REQUIRE(plan.ok());
  REQUIRE(command.ok());
  CHECK_FALSE(IsCommand(Aligned(*plan).start(), plan->size()));
  CHECK_FALSE(IsPlan(Aligned(*command).start(), command->size()));
  for (std::size_t size = 0; size < plan->size(); ++size) {
    CHECK_FALSE(IsPlan(Aligned(plan->substr(0, size)).start(), size));
  }
  // Whatever is let through must be readable without leaving the block (run under ASan).
  std::mt19937 random(42);
  std::size_t touched = 0;
  for (int round = 0; round < 20000; ++round) {
    Aligned damaged(*plan);
    for (int i = 0; i < 3; ++i) {
      damaged.start()[random() % plan->size()] = static_cast<char>(random());
    }
    if (!IsPlan(damaged.start(), damaged.size)) continue;
    const launcher::Plan reader(damaged.start());
    const auto* ops = reader.Records<wire::ViewOpRecord>(reader.header->view);
    for (std::uint32_t i = 0; i < reader.header->view.count; ++i) {
      touched += std::strlen(reader.Text(ops[i].target)) + std::strlen(reader.Text(ops[i].source));
      for (std::uint32_t k = 0; k < ops[i].data.size; ++k)
        touched += reader.Data(ops[i].data)[k] != 0;
    }
  }
  CHECK(touched > 0);
}

}  // namespace
}  // namespace cordon::internal
