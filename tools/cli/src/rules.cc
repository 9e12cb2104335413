// cordon rules: the stored approvals of a file.

#include "cordon/gate/rules.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "command_line.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"
#include "values.h"

namespace cordon::cli {
namespace {

struct RulesArguments {
  std::string file;
  std::string effect;
  std::string match;
  std::string text;
  std::string directory;
  std::string until;
  std::string uses;
  bool once = false;
  std::vector<std::string> programs;
  bool with_content = false;
  std::string why;
  std::string id;
  bool json = false;
};

std::string TimeText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

// Who added it, when and why, and how often it decided.
std::string HistoryText(const Rule& rule, const RuleUsage& usage) {
  std::string text = rule.who.empty() ? "added" : "by " + EscapeForDisplay(rule.who);
  text += " at " + TimeText(rule.when);
  if (usage.count > 0) {
    text += absl::StrFormat(", used %d times, last at %s", usage.count, TimeText(usage.last));
  }
  if (!rule.why.empty()) text += ": " + EscapeForDisplay(rule.why);
  return text;
}

nlohmann::ordered_json RuleJson(const Rule& rule, const RuleUsage& usage) {
  nlohmann::ordered_json json = {{"id", rule.id},
                                 {"effect", std::string(RuleEffectName(rule.effect))},
                                 {"match", std::string(RuleMatchName(rule.match))},
                                 {"text", rule.text},
                                 {"rule", RuleText(rule)},
                                 {"who", rule.who},
                                 {"when", TimeText(rule.when)},
                                 {"why", rule.why},
                                 {"used", usage.count}};
  if (rule.access) json["access"] = std::string(CapabilityKindName(*rule.access));
  if (!rule.directory.empty()) json["directory"] = rule.directory;
  if (rule.until) json["until"] = TimeText(*rule.until);
  if (rule.uses) json["uses_left"] = *rule.uses;
  for (const RuleProgram& program : rule.programs) {
    json["programs"].push_back({{"path", program.path}, {"sha256", program.sha256}});
  }
  return json;
}

int List(const RulesArguments& arguments) {
  const auto rules = LoadRuleFile(arguments.file);
  if (!rules.ok()) return Fail(rules.status());
  std::map<std::string, RuleUsage> usage = LoadRuleUsage(arguments.file);
  auto json = nlohmann::ordered_json::array();
  for (const Rule& rule : *rules) {
    json.push_back(RuleJson(rule, usage[rule.id]));
    if (arguments.json) continue;
    std::printf("%s  %s  (%s)\n", rule.id.c_str(), RuleText(rule).c_str(),
                HistoryText(rule, usage[rule.id]).c_str());
  }
  if (arguments.json) std::printf("%s\n", json.dump(2).c_str());
  return 0;
}

absl::Status Invalid(const std::string& message) {
  return MakeError(ErrorCode::kInvalidOption, message);
}

absl::StatusOr<std::chrono::system_clock::time_point> UntilOf(const std::string& text) {
  if (const auto duration = ParseDuration(text); duration.ok()) {
    return std::chrono::system_clock::now() + *duration;
  }
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_sec, text, &time, &error)) return absl::ToChronoTime(time);
  return Invalid(absl::StrFormat(
      "--until '%s': write a duration like 30m or 8h, or a time like 2026-12-31T18:00:00Z", text));
}

absl::Status Narrow(Rule& rule, const RulesArguments& arguments) {
  if (!arguments.directory.empty()) {
    std::error_code error;
    const auto directory = std::filesystem::canonical(arguments.directory, error);
    if (error || !std::filesystem::is_directory(directory, error)) {
      return Invalid(absl::StrFormat("--in '%s': no such folder", arguments.directory));
    }
    rule.directory = directory.string();
  }
  if (!arguments.until.empty()) {
    const auto until = UntilOf(arguments.until);
    if (!until.ok()) return until.status();
    rule.until = *until;
  }
  if (arguments.once) rule.uses = 1;
  if (!arguments.uses.empty()) {
    const auto uses = ParseCount(arguments.uses, std::numeric_limits<std::uint32_t>::max());
    if (!uses.ok()) return Annotate(uses.status(), "--uses");
    rule.uses = static_cast<std::uint32_t>(*uses);
  }
  for (const std::string& path : arguments.programs) {
    auto program = MakeRuleProgram(path, arguments.with_content);
    if (!program.ok()) return Annotate(program.status(), "--program");
    rule.programs.push_back(*std::move(program));
  }
  if (arguments.with_content && rule.programs.empty()) {
    return Invalid("--content goes with --program");
  }
  return absl::OkStatus();
}

absl::StatusOr<Rule> RuleOf(const RulesArguments& arguments) {
  const auto effect = ParseRuleEffect(arguments.effect);
  if (!effect) {
    return Invalid(absl::StrFormat("'%s': a rule is allow or deny", arguments.effect));
  }
  const auto match = ParseRuleMatch(arguments.match);
  if (!match) {
    return Invalid(absl::StrFormat("'%s': a rule matches exact, family, network, path or tree",
                                   arguments.match));
  }
  auto rule = MakeRule(*effect, *match, arguments.text);
  if (!rule.ok()) return rule;
  if (const auto status = Narrow(*rule, arguments); !status.ok()) return status;
  rule->who = "command line";
  rule->why = arguments.why;
  return rule;
}

int Add(const RulesArguments& arguments) {
  auto rule = RuleOf(arguments);
  if (!rule.ok()) return Fail(rule.status());
  const std::string text = RuleText(*rule);
  const bool covers =
      rule->match == RuleMatch::kCommandFamily && rule->effect == RuleEffect::kAllow;
  const std::string family = rule->text;
  const auto status = AddToRuleFile(arguments.file, {*std::move(rule)});
  if (!status.ok()) return Fail(status);
  std::printf("%s\n", text.c_str());
  if (covers) std::printf("  covers: %s\n", DescribeFamily(family).c_str());
  return 0;
}

int Remove(const RulesArguments& arguments) {
  const auto status = RemoveFromRuleFile(arguments.file, arguments.id);
  return status.ok() ? 0 : Fail(status);
}

CLI::App* AddAction(CLI::App& rules, Invocation& invocation, const std::string& name,
                    const std::string& description,
                    const std::shared_ptr<RulesArguments>& arguments,
                    int (*action)(const RulesArguments&)) {
  CLI::App* command = rules.add_subcommand(name, description);
  command->add_option("--rules", arguments->file, "The rule file")->required()->type_name("FILE");
  command->callback([&invocation, arguments, action] {
    invocation.action = [arguments, action] { return action(*arguments); };
  });
  return command;
}

}  // namespace

void AddRulesCommand(CLI::App& rules, Invocation& invocation) {
  rules.require_subcommand(1);
  rules.footer(
      "Examples:\n"
      "  cordon rules add --rules rules.json allow family 'git status'\n"
      "  cordon rules add --rules rules.json deny tree write:/srv/data\n"
      "  cordon rules add --rules rules.json allow exact 'make deploy' --in . --uses 3 --until 8h\n"
      "  cordon rules list --rules rules.json");
  auto arguments = std::make_shared<RulesArguments>();
  AddAction(rules, invocation, "list", "Print the rules with their ids", arguments, List)
      ->add_flag("--json", arguments->json, "As JSON");
  CLI::App* add = AddAction(rules, invocation, "add", "Store a rule", arguments, Add);
  add->add_option("EFFECT", arguments->effect, "allow or deny")->required();
  add->add_option("MATCH", arguments->match, "exact, family, network, path or tree")->required();
  add->add_option("TEXT", arguments->text, "The command, target or path")->required();
  add->add_option("--in", arguments->directory,
                  "Only for commands that start there (exact), or there and below (others)")
      ->type_name("DIR");
  add->add_option("--until", arguments->until, "Only until then: a duration or a UTC time")
      ->type_name("WHEN");
  CLI::Option* once = add->add_flag("--once", arguments->once, "For one use");
  add->add_option("--uses", arguments->uses, "For so many uses")->type_name("N")->excludes(once);
  add->add_option("--program", arguments->programs,
                  "Only while the programs of the command are these files; repeatable")
      ->type_name("PATH");
  add->add_flag("--content", arguments->with_content, "And have the content they have now");
  add->add_option("--why", arguments->why, "A note for those who read the file")
      ->type_name("WORDS");
  CLI::App* remove = AddAction(rules, invocation, "remove", "Remove a rule", arguments, Remove);
  remove->add_option("ID", arguments->id, "The rule's id, from list")->required();
}

}  // namespace cordon::cli
