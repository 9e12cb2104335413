#include "effects.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "absl/types/span.h"
#include "command_match.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "shell_words.h"
#include "wrappers.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kGainsPrivilege[] = {"doas", "pkexec", "run0", "su", "sudo", "runuser"};
constexpr std::string_view kDeletes[] = {"rm", "rmdir", "shred", "truncate", "unlink", "wipefs"};
constexpr std::string_view kOverwrites[] = {"cp", "dd", "install", "mv", "tee"};

bool IsOneOf(absl::Span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void AddOnce(std::vector<std::string>& lines, std::string line) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
}

std::string ProgramOf(const SimpleCommand& command) {
  if (command.words.empty() || !command.words[0].exact) return "";
  const std::string& text = command.words[0].text;
  return text.substr(text.rfind('/') + 1);
}

bool HasWord(const SimpleCommand& command, std::string_view wanted) {
  return std::any_of(command.words.begin(), command.words.end(),
                     [wanted](const ShellWord& word) { return word.text == wanted; });
}

bool Deletes(const SimpleCommand& command, std::string_view program) {
  if (IsOneOf(kDeletes, program)) return true;
  if (program == "find") return HasWord(command, "-delete");
  return program == "git" && (HasWord(command, "clean") || HasWord(command, "--hard"));
}

void AddProgramEffects(const SimpleCommand& command, std::vector<std::string>& lines) {
  const std::string program = ProgramOf(command);
  const std::string name = "`" + EscapeForDisplay(program) + "`";
  if (!command.words.empty() && program.empty()) {
    AddOnce(lines, "runs a program whose name is only known when it runs");
  }
  if (IsOneOf(kGainsPrivilege, program)) AddOnce(lines, "asks for more privilege (" + name + ")");
  if (Deletes(command, program)) AddOnce(lines, "deletes (" + name + ")");
  if (IsOneOf(kOverwrites, program)) AddOnce(lines, "may overwrite files (" + name + ")");
  if (!program.empty() && RunsOthers(program)) {
    AddOnce(lines, "runs what the words after " + name + " say");
  }
  const bool reads_words = std::any_of(command.words.begin(), command.words.end(),
                                       [](const ShellWord& word) { return word.from_input; });
  if (reads_words) AddOnce(lines, "gives " + name + " words that it reads");
}

void AddRedirectionEffect(const Redirection& redirection, std::vector<std::string>& lines) {
  std::string_view effect;
  switch (redirection.kind) {
    case Redirection::Kind::kDuplicate:
    case Redirection::Kind::kInput:
      return;
    case Redirection::Kind::kOutput:
      effect = "overwrites ";
      break;
    case Redirection::Kind::kAppend:
      effect = "appends to ";
      break;
  }
  const ShellWord& target = redirection.target;
  if (target.text == "/dev/null") return;
  AddOnce(lines, std::string(effect) + (target.exact ? EscapeForDisplay(target.text)
                                                     : "a file whose name is only known then"));
}

void AddTextEffects(const ShellText& text, std::vector<std::string>& lines) {
  if (text.opaque) {
    AddOnce(lines, "cannot be read through: " + text.opaque_reason);
    return;
  }
  for (const SimpleCommand& command : text.commands) {
    AddProgramEffects(command, lines);
    for (const std::string& name : command.assigned_names) {
      AddOnce(lines, name.empty() ? "takes all variables away"
                                  : "sets the variable " + EscapeForDisplay(name));
    }
    for (const Redirection& redirection : command.redirections) {
      AddRedirectionEffect(redirection, lines);
    }
  }
  if (std::find(text.joiners.begin(), text.joiners.end(), Joiner::kBackground) !=
      text.joiners.end()) {
    AddOnce(lines, "leaves a job in the background");
  }
}

std::string FileEffect(const Requirement& requirement, const std::string& workspace_root) {
  const bool writes = requirement.kind == CapabilityKind::kFilesystemWrite;
  const absl::StatusOr<Scope> scope = ParseScope(requirement.scope);
  const bool whole_host = scope.ok() && scope->form == Scope::Form::kHost;
  std::string line = writes ? "writes " : "reads ";
  if (whole_host) return line + "anywhere on this machine";
  line += EscapeForDisplay(requirement.match);
  if (scope.ok() && scope->form == Scope::Form::kTree) line += " and everything below";
  if (!IsWithin(requirement.match, workspace_root)) line += ", outside the workspace";
  return line;
}

}  // namespace

bool IsRedirectedAsSpelled(const Requirement& requirement, const Request& request) {
  const bool is_file = requirement.kind == CapabilityKind::kFilesystemRead ||
                       requirement.kind == CapabilityKind::kFilesystemWrite;
  if (!is_file || !request.command.has_value()) return false;
  const std::string folder = request.command->working_directory + "/";
  const auto is_it = [&](const Redirection& redirection) {
    const std::string& name = redirection.target.text;
    return redirection.target.exact && redirection.kind != Redirection::Kind::kDuplicate &&
           NormalizePath(name.starts_with('/') ? name : folder + name) == requirement.match;
  };
  const ShellText text = UnwrapAll(ReadCommand(*request.command));
  return std::any_of(text.commands.begin(), text.commands.end(), [&](const SimpleCommand& command) {
    return std::any_of(command.redirections.begin(), command.redirections.end(), is_it);
  });
}

std::vector<std::string> DescribeEffects(const Request& request,
                                         const std::string& workspace_root) {
  std::vector<std::string> lines;
  if (const auto* needs = std::get_if<std::vector<Requirement>>(&request.authority)) {
    for (const Requirement& requirement : *needs) {
      switch (requirement.kind) {
        case CapabilityKind::kCommandExecute:
          break;
        case CapabilityKind::kNetwork:
          AddOnce(lines, "connects to " + requirement.display);
          break;
        case CapabilityKind::kFilesystemRead:
        case CapabilityKind::kFilesystemWrite:
          if (IsRedirectedAsSpelled(requirement, request) &&
              IsWithin(requirement.match, workspace_root)) {
            break;
          }
          AddOnce(lines, FileEffect(requirement, workspace_root));
          break;
      }
    }
  }
  if (request.command.has_value()) {
    AddTextEffects(UnwrapAll(ReadCommand(*request.command)), lines);
    if (!IsWithin(request.command->working_directory, workspace_root)) {
      AddOnce(lines, "starts outside the workspace");
    }
  }
  return lines;
}

}  // namespace cordon::internal
