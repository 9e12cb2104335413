// cordon audit: read a log of what happened, and check that nobody changed it.

#include "cordon/gate/audit.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "command_line.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"
#include "values.h"

namespace cordon::cli {
namespace {

struct AuditArguments {
  std::string file;
  std::string execution;
  std::string event;
  std::string since;
  std::string text;
  bool refused = false;
  bool follow = false;
  bool json = false;
};

// A field of a record, empty when it is not there.
std::string Field(const AuditRecord& record, std::string_view name) {
  for (const auto& [key, value] : record.fields) {
    if (key == name) return value;
  }
  return "";
}

bool IsRefusal(const AuditRecord& record) {
  return record.event == "refused" || record.event == "grant.refused" ||
         Field(record, "outcome") == "denied";
}

bool Mentions(const AuditRecord& record, const std::string& text) {
  for (const auto& [key, value] : record.fields) {
    if (value.find(text) != std::string::npos) return true;
  }
  return record.event.find(text) != std::string::npos;
}

bool IsWanted(const AuditRecord& record, const AuditArguments& arguments) {
  if (!arguments.execution.empty() && !record.execution_id.starts_with(arguments.execution)) {
    return false;
  }
  if (!arguments.event.empty() && record.event != arguments.event) return false;
  // Times are in one spelling, so that their order is that of their text.
  if (!arguments.since.empty() && record.time < arguments.since) return false;
  if (arguments.refused && !IsRefusal(record)) return false;
  return arguments.text.empty() || Mentions(record, arguments.text);
}

// One record a line: number, time, the start of the execution's id, event, fields.
void PrintRow(const AuditRecord& record) {
  std::printf("%6llu  %s  %-8.8s  %-14s", static_cast<unsigned long long>(record.seq),
              EscapeForDisplay(record.time).c_str(), EscapeForDisplay(record.execution_id).c_str(),
              EscapeForDisplay(record.event).c_str());
  for (const auto& [name, value] : record.fields) {
    // What is in every record of a kind and says little stays out of the table.
    if (name == "digest") continue;
    std::printf("  %s=%s", EscapeForDisplay(name).c_str(), EscapeForDisplay(value).c_str());
  }
  std::printf("\n");
}

void PrintJson(const AuditRecord& record) {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  for (const auto& [name, value] : record.fields) fields[name] = value;
  const nlohmann::ordered_json json = {
      {"seq", record.seq},     {"time", record.time},         {"execution_id", record.execution_id},
      {"event", record.event}, {"fields", std::move(fields)}, {"hash", record.hash}};
  std::printf("%s\n", json.dump().c_str());
}

// Since when: a duration back from now, or a time.
absl::StatusOr<std::string> SinceOf(const std::string& text) {
  if (text.empty()) return std::string();
  absl::Time time;
  std::string error;
  if (const auto duration = ParseDuration(text); duration.ok()) {
    time = absl::Now() - absl::FromChrono(*duration);
  } else if (!absl::ParseTime(absl::RFC3339_sec, text, &time, &error)) {
    return MakeError(
        ErrorCode::kInvalidOption,
        absl::StrFormat("--since '%s': write a duration like 30m or 8h, or a time like "
                        "2026-12-31T18:00:00Z",
                        text));
  }
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

int Show(const AuditArguments& given) {
  AuditArguments arguments = given;
  auto since = SinceOf(arguments.since);
  if (!since.ok()) return Fail(since.status());
  arguments.since = *std::move(since);
  if (!arguments.json) {
    std::printf("%6s  %-24s  %-8s  %-14s  %s\n", "number", "time", "run", "event", "fields");
  }
  const auto print = [&](const AuditRecord& record) {
    if (!IsWanted(record, arguments)) return true;
    arguments.json ? PrintJson(record) : PrintRow(record);
    // Whoever follows wants to see it now; a reader that went away ends it.
    return !arguments.follow || std::fflush(stdout) == 0;
  };
  const auto status = arguments.follow ? FollowAuditLog(arguments.file, print, {})
                                       : ReadAuditLog(arguments.file, print);
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
  std::printf("intact, %llu records", static_cast<unsigned long long>(verification->records));
  if (verification->first_record > 1) {
    std::printf("; those before %llu are in rotated files that are gone",
                static_cast<unsigned long long>(verification->first_record));
  }
  std::printf("%s\n", verification->end_is_known
                          ? ""
                          : "; records cut off at the end would not be noticed");
  return 0;
}

void AddAction(CLI::App& audit, Invocation& invocation, const std::string& name,
               const std::string& description, const std::shared_ptr<AuditArguments>& arguments,
               int (*action)(const AuditArguments&)) {
  CLI::App* command = audit.add_subcommand(name, description);
  command->add_option("FILE", arguments->file, "The log")->required();
  if (action == Show) {
    command->add_option("--execution", arguments->execution, "Only this execution, or its start")
        ->type_name("ID");
    command->add_option("--event", arguments->event, "Only this event, such as spawn or decision")
        ->type_name("NAME");
    command->add_option("--since", arguments->since, "Only since then: a duration back, or a time")
        ->type_name("WHEN");
    command->add_option("--text", arguments->text, "Only records that have this in a field")
        ->type_name("TEXT");
    command->add_flag("--refused", arguments->refused, "Only what was refused");
    command->add_flag("--follow,-f", arguments->follow, "Go on with what is appended");
    command->add_flag("--json", arguments->json, "As JSON, one record a line");
  }
  command->callback([&invocation, arguments, action] {
    invocation.action = [arguments, action] { return action(*arguments); };
  });
}

}  // namespace

void AddAuditCommand(CLI::App& audit, Invocation& invocation) {
  audit.require_subcommand(1);
  audit.footer(
      "Examples:\n"
      "  cordon audit show audit.jsonl\n"
      "  cordon audit show --refused --since 8h --follow audit.jsonl\n"
      "  cordon audit verify audit.jsonl\n"
      "\n"
      "Exit status of verify: 0 intact, 1 broken.");
  auto arguments = std::make_shared<AuditArguments>();
  AddAction(audit, invocation, "show", "Print the records", arguments, Show);
  AddAction(audit, invocation, "verify", "Check the chain of hashes", arguments, Verify);
}

}  // namespace cordon::cli
