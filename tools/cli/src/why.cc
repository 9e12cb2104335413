// cordon why: the access, the rule that decides it, and what would change it. Runs nothing.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "command_line.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/path_remedy.h"
#include "cordon/sdk/request.h"
#include "cordon/sdk/status.h"
#include "session.h"

namespace cordon::cli {
namespace {

int ExitStatus(Access access) {
  switch (access) {
    case Access::kAllow:
      return 0;
    case Access::kGated:
      return 1;
    case Access::kDeny:
      return 2;
  }
  return 2;
}

int Print(const std::string& what, const PathDecision& decision, const std::string& change) {
  std::printf("%s: %s\n", std::string(AccessName(decision.access)).c_str(), what.c_str());
  if (decision.rule.empty()) {
    std::printf("  because: %s\n", EscapeForDisplay(decision.origin).c_str());
  } else {
    std::printf("  because: %s (%s)\n", EscapeForDisplay(decision.rule).c_str(),
                EscapeForDisplay(decision.origin).c_str());
  }
  if (!change.empty()) std::printf("  to change it: %s\n", EscapeForDisplay(change).c_str());
  return ExitStatus(decision.access);
}

int WhyPath(Axis axis, const std::string& typed, const SessionOptions& options) {
  const auto profile = BuildSessionProfile(options);
  if (!profile.ok()) return Fail(profile.status());
  std::error_code error;
  const auto path =
      ResolveSymlinks(NormalizePath(std::filesystem::absolute(typed, error).string()));
  if (!path.ok()) return Fail(path.status());
  const PathDecision decision = profile->Explain(axis, *path);
  const std::string deny = axis == Axis::kWrite ? "--deny-write " : "--deny-read ";
  const std::string change =
      decision.access == Access::kAllow
          ? deny + ShellQuoted(*path)
          : PathRemedy(axis, decision, *path, std::filesystem::exists(*path, error));
  return Print(absl::StrFormat("%s %s", AxisName(axis), EscapeForDisplay(*path)), decision, change);
}

// What the stored rules say about a command in the workspace that connects there.
absl::StatusOr<RuleDecision> StoredNetworkRule(const Profile& profile, const NetworkTarget& target,
                                               const SessionOptions& options) {
  const auto rules = OpenSessionRules(options, profile);
  if (!rules.ok()) return rules.status();
  Request request;
  request.command = Command::Argv({"true"}, profile.Settings().workspace_root);
  return (*rules)->Decide(RequireNetwork(target), request);
}

int WhyNetwork(const std::string& target, const SessionOptions& options) {
  const auto profile = BuildSessionProfile(options);
  if (!profile.ok()) return Fail(profile.status());
  const auto parsed = ParseNetworkTarget(target);
  if (!parsed.ok()) return Fail(parsed.status());
  const std::string text = NetworkTargetText(*parsed);
  auto decision = profile->ExplainNetwork(text);
  if (!decision.ok()) return Fail(decision.status());
  const auto ruled = StoredNetworkRule(*profile, *parsed, options);
  if (!ruled.ok()) return Fail(ruled.status());
  if (decision->access != Access::kDeny && ruled->verdict == RuleDecision::Verdict::kDeny) {
    return Print("connect to tcp:" + text, {Access::kDeny, ruled->rule, "stored rule"},
                 "cordon rules remove " + ruled->ids.front());
  }
  if (decision->access == Access::kGated && ruled->verdict == RuleDecision::Verdict::kAllow) {
    return Print("connect to tcp:" + text, {Access::kAllow, ruled->rule, "stored rule"}, "");
  }
  return Print("connect to tcp:" + text, *decision,
               decision->access == Access::kAllow ? "" : "--net " + text);
}

// The gate's own answer, from a request that is bound to no executor: nothing is started.
absl::StatusOr<Forecast> Ask(const Profile& profile, const Command& command,
                             const SessionOptions& options) {
  GateOptions gate_options;
  gate_options.profile = profile;
  auto rules = OpenSessionRules(options, profile);
  if (!rules.ok()) return rules.status();
  gate_options.rules = *std::move(rules);
  const auto gate = Gate::Create(std::move(gate_options));
  if (!gate.ok()) return gate.status();
  Request request;
  request.tool = "cordon";
  request.call_id = "why";
  request.execution_id = RandomId();
  request.command = command;
  request.authority = std::vector<Requirement>{RequireCommand(command)};
  return (*gate)->Explain(request);
}

int WhyExec(const Invocation& invocation, const std::string& text, const std::string& chdir,
            const SessionOptions& options) {
  if (text.empty() == invocation.after_separator.empty()) {
    return Fail(MakeError(ErrorCode::kInvalidOption, "give a command: -c TEXT or -- ARGV"));
  }
  const auto profile = BuildSessionProfile(options);
  if (!profile.ok()) return Fail(profile.status());
  const auto directory = StartDirectory(chdir, profile->Settings().workspace_root);
  if (!directory.ok()) return Fail(directory.status());
  const Command command = text.empty() ? Command::Argv(invocation.after_separator, *directory)
                                       : Command::Shell(text, *directory);
  if (const auto status = ValidateCommand(command); !status.ok()) return Fail(status);
  const auto forecast = Ask(*profile, command, options);
  if (!forecast.ok()) return Fail(forecast.status());
  std::printf("%s: execute %s\n", std::string(AccessName(forecast->access)).c_str(),
              CommandDisplay(command).c_str());
  for (const std::string& reason : forecast->reasons) {
    std::printf("  %s\n", EscapeForDisplay(reason).c_str());
  }
  std::error_code error;
  if (!options.rules.empty() && !std::filesystem::exists(options.rules, error)) {
    std::printf("  note: %s\n", MissingRulesText(options.rules).c_str());
  }
  return ExitStatus(forecast->access);
}

struct WhyArguments {
  SessionOptions session;
  std::string subject;
  std::string text;
  std::string chdir;
};

// `why read`, `why write` and `why net`: one subject and the policy options.
CLI::App* AddSubject(CLI::App& why, const std::string& name, const std::string& description,
                     const std::string& subject, const std::shared_ptr<WhyArguments>& arguments) {
  CLI::App* command = why.add_subcommand(name, description);
  AddSessionOptions(*command, arguments->session);
  command->add_option(subject, arguments->subject, "What to ask about")->required();
  return command;
}

void AddPath(CLI::App& why, Invocation& invocation, Axis axis) {
  auto arguments = std::make_shared<WhyArguments>();
  const std::string name(AxisName(axis));
  AddSubject(why, name, "May a command " + name + " this path?", "PATH", arguments)
      ->callback([&invocation, arguments, axis] {
        invocation.action = [arguments, axis] {
          return WhyPath(axis, arguments->subject, arguments->session);
        };
      });
}

void AddNetwork(CLI::App& why, Invocation& invocation) {
  auto arguments = std::make_shared<WhyArguments>();
  AddSubject(why, "net", "May a command connect there?", "HOST:PORT", arguments)
      ->callback([&invocation, arguments] {
        invocation.action = [arguments] {
          return WhyNetwork(arguments->subject, arguments->session);
        };
      });
}

void AddExec(CLI::App& why, Invocation& invocation) {
  auto arguments = std::make_shared<WhyArguments>();
  CLI::App* command = why.add_subcommand("exec", "May this command run?");
  AddSessionOptions(*command, arguments->session);
  command->add_option("-c", arguments->text, "Shell text; or a command after --")
      ->type_name("TEXT");
  command->add_option("-C,--chdir", arguments->chdir, "Where it would start")->type_name("DIR");
  command->callback([&invocation, arguments] {
    invocation.action = [&invocation, arguments] {
      return WhyExec(invocation, arguments->text, arguments->chdir, arguments->session);
    };
  });
}

}  // namespace

void AddWhyCommand(CLI::App& why, Invocation& invocation) {
  why.require_subcommand(1);
  why.footer(
      "Examples:\n"
      "  cordon why write .git/hooks/pre-commit\n"
      "  cordon why net example.com:443 --net '*.example.com:443'\n"
      "  cordon why exec --rules rules.json -c 'git status && make'\n"
      "\n"
      "Exit status: 0 allowed, 1 gated, 2 denied.");
  AddPath(why, invocation, Axis::kRead);
  AddPath(why, invocation, Axis::kWrite);
  AddNetwork(why, invocation);
  AddExec(why, invocation);
}

}  // namespace cordon::cli
