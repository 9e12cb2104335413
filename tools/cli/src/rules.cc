// cordon rules: the stored approvals of a file.

#include "cordon/gate/rules.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "command_line.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

struct RulesArguments {
  std::string file;
  std::string effect;
  std::string match;
  std::string text;
  std::string why;
  std::string id;
};

int List(const RulesArguments& arguments) {
  const auto rules = LoadRuleFile(arguments.file);
  if (!rules.ok()) return Fail(rules.status());
  for (const Rule& rule : *rules) {
    std::printf("%s  %s\n", rule.id.c_str(), RuleText(rule).c_str());
  }
  return 0;
}

int Add(const RulesArguments& arguments) {
  const auto effect = ParseRuleEffect(arguments.effect);
  if (!effect) {
    return Fail(MakeError(ErrorCode::kInvalidOption,
                          absl::StrFormat("'%s': a rule is allow or deny", arguments.effect)));
  }
  const auto match = ParseRuleMatch(arguments.match);
  if (!match) {
    return Fail(
        MakeError(ErrorCode::kInvalidOption,
                  absl::StrFormat("'%s': a rule matches exact, family, network, path or tree",
                                  arguments.match)));
  }
  auto rule = MakeRule(*effect, *match, arguments.text);
  if (!rule.ok()) return Fail(rule.status());
  rule->who = "command line";
  rule->why = arguments.why;
  std::printf("%s\n", RuleText(*rule).c_str());
  if (*match == RuleMatch::kCommandFamily && *effect == RuleEffect::kAllow) {
    std::printf("  covers: %s\n", DescribeFamily(rule->text).c_str());
  }
  const auto status = AddToRuleFile(arguments.file, {*std::move(rule)});
  return status.ok() ? 0 : Fail(status);
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

void AddRulesCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* rules = root.add_subcommand("rules", "List, add or remove stored approvals");
  rules->require_subcommand(1);
  rules->footer(
      "Examples:\n"
      "  cordon rules add --rules rules.json allow family 'git status'\n"
      "  cordon rules add --rules rules.json deny tree write:/srv/data\n"
      "  cordon rules list --rules rules.json");
  auto arguments = std::make_shared<RulesArguments>();
  AddAction(*rules, invocation, "list", "Print the rules with their ids", arguments, List);
  CLI::App* add = AddAction(*rules, invocation, "add", "Store a rule", arguments, Add);
  add->add_option("EFFECT", arguments->effect, "allow or deny")->required();
  add->add_option("MATCH", arguments->match, "exact, family, network, path or tree")->required();
  add->add_option("TEXT", arguments->text, "The command, target or path")->required();
  add->add_option("--why", arguments->why, "A note for those who read the file")
      ->type_name("WORDS");
  CLI::App* remove = AddAction(*rules, invocation, "remove", "Remove a rule", arguments, Remove);
  remove->add_option("ID", arguments->id, "The rule's id, from list")->required();
}

}  // namespace cordon::internal
