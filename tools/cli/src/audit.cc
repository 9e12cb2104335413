// cordon audit: read a log of what happened, and check that nobody changed it.

#include "cordon/gate/audit.h"

#include <cstdio>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "command_line.h"
#include "cordon/sdk/command.h"

namespace cordon::cli {
namespace {

struct AuditArguments {
  std::string file;
  std::string execution;
};

int Show(const AuditArguments& arguments) {
  const auto print = [&](const AuditRecord& record) {
    if (!arguments.execution.empty() && record.execution_id != arguments.execution) return true;
    std::printf("%llu  %s  %s  %s", static_cast<unsigned long long>(record.seq),
                record.time.c_str(), EscapeForDisplay(record.execution_id).c_str(),
                EscapeForDisplay(record.event).c_str());
    for (const auto& [name, value] : record.fields) {
      std::printf("  %s=%s", EscapeForDisplay(name).c_str(), EscapeForDisplay(value).c_str());
    }
    std::printf("\n");
    return true;
  };
  const auto status = ReadAuditLog(arguments.file, print);
  return status.ok() ? 0 : Fail(status);
}

int Verify(const AuditArguments& arguments) {
  const auto verification = VerifyAuditLog(arguments.file);
  if (!verification.ok()) return Fail(verification.status());
  if (!verification->intact) {
    std::printf("broken at record %llu: %s\n",
                static_cast<unsigned long long>(verification->broken_record),
                EscapeForDisplay(verification->reason).c_str());
    return 1;
  }
  std::printf(
      "intact, %llu records%s\n", static_cast<unsigned long long>(verification->records),
      verification->end_is_known ? "" : "; records cut off at the end would not be noticed");
  return 0;
}

void AddAction(CLI::App& audit, Invocation& invocation, const std::string& name,
               const std::string& description, const std::shared_ptr<AuditArguments>& arguments,
               int (*action)(const AuditArguments&)) {
  CLI::App* command = audit.add_subcommand(name, description);
  command->add_option("FILE", arguments->file, "The log")->required();
  if (action == Show) {
    command->add_option("--execution", arguments->execution, "Only this execution id")
        ->type_name("ID");
  }
  command->callback([&invocation, arguments, action] {
    invocation.action = [arguments, action] { return action(*arguments); };
  });
}

}  // namespace

void AddAuditCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* audit = root.add_subcommand("audit", "Read an audit log, or check its chain");
  audit->require_subcommand(1);
  audit->footer(
      "Examples:\n"
      "  cordon audit show audit.jsonl\n"
      "  cordon audit verify audit.jsonl\n"
      "\n"
      "Exit status of verify: 0 intact, 1 broken.");
  auto arguments = std::make_shared<AuditArguments>();
  AddAction(*audit, invocation, "show", "Print the records", arguments, Show);
  AddAction(*audit, invocation, "verify", "Check the chain of hashes", arguments, Verify);
}

}  // namespace cordon::cli
