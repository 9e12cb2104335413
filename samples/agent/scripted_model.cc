#include "scripted_model.h"

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace cordon::agent {
namespace {

constexpr std::string_view kExitCode = "exit code: ";

// Reads results as a real model does: from their text.
bool MeetsExpectation(const Message& result, const ScriptedCommand& command) {
  if (!result.text.starts_with(kExitCode)) return false;
  const bool succeeded = result.text.starts_with("exit code: 0\n");
  if (succeeded != (command.expect == Expect::kSuccess)) return false;
  return result.text.find(command.expect_text) != std::string::npos;
}

std::string DescribeExpectation(const ScriptedCommand& command) {
  std::string text = command.expect == Expect::kSuccess ? "to succeed" : "to run and fail";
  if (!command.expect_text.empty()) text += " and to say \"" + command.expect_text + "\"";
  return text;
}

ToolCall MakeCall(const ScriptedCommand& command, std::size_t scene, std::size_t index) {
  nlohmann::json arguments = {{"command", command.command}};
  if (!command.description.empty()) arguments["description"] = command.description;
  return {absl::StrFormat("call-%d-%d", scene + 1, index + 1), "bash", arguments.dump()};
}

}  // namespace

std::string ScriptedModel::FindSurprise(absl::Span<const Message> transcript) const {
  if (next_scene_ == 0) return "";
  const std::vector<ScriptedCommand>& commands = script_[next_scene_ - 1].commands;
  const std::size_t first = transcript.size() - commands.size();
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (MeetsExpectation(transcript[first + i], commands[i])) continue;
    return absl::StrFormat("I expected `%s` %s, but the result was:\n%s", commands[i].command,
                           DescribeExpectation(commands[i]), transcript[first + i].text);
  }
  return "";
}

absl::StatusOr<Turn> ScriptedModel::Next(absl::Span<const Message> transcript,
                                         absl::Span<const ToolSpec> /*tools*/,
                                         std::stop_token /*stop*/) {
  surprise_ = FindSurprise(transcript);
  if (!surprise_.empty()) return Turn{surprise_ + "\nI stop here.", {}, false};
  if (at_end()) return Turn{};

  const Scene& scene = script_[next_scene_];
  Turn turn{scene.text, {}, false};
  for (std::size_t i = 0; i < scene.commands.size(); ++i) {
    turn.calls.push_back(MakeCall(scene.commands[i], next_scene_, i));
  }
  ++next_scene_;
  return turn;
}

}  // namespace cordon::agent
