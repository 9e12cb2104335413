#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "mcp_server.h"
#include "nlohmann/json.hpp"

namespace cordon::cli {
namespace {

using Json = nlohmann::json;

// Everything that a person needs to see, in plain lines; a client shows it as it is.
std::string CardText(const ApprovalCard& card) {
  std::string text = "A command needs your approval.\n";
  if (card.request.command) {
    text += absl::StrFormat("Command: %s\nFolder: %s\n", CommandDisplay(*card.request.command),
                            EscapeForDisplay(card.request.command->working_directory));
  }
  for (const auto& [name, value] : card.request.details) {
    text += absl::StrFormat("%s: %s\n", EscapeForDisplay(name), EscapeForDisplay(value));
  }
  for (const Requirement& requirement : card.pending) {
    text += absl::StrFormat("Needs: %s\n", requirement.display);
  }
  if (!card.request.model_description.empty()) {
    text += absl::StrFormat("The model says, unchecked: %s\n",
                            EscapeForDisplay(card.request.model_description));
  }
  for (const std::string& rule : card.would_store) {
    text += absl::StrFormat("'session' would remember: %s\n", rule);
  }
  return text;
}

Json Question(const std::string& id, const ApprovalCard& card) {
  Json decisions = {"deny", "once"};
  if (!card.would_store.empty()) decisions.push_back("session");
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"method", "elicitation/create"},
          {"params",
           {{"message", CardText(card)},
            {"requestedSchema",
             {{"type", "object"},
              {"properties",
               {{"decision",
                 {{"type", "string"}, {"title", "Decision"}, {"enum", std::move(decisions)}}},
                {"words", {{"type", "string"}, {"title", "Words for the model when you deny"}}}}},
              {"required", {"decision"}}}}}}};
}

absl::Status NobodyAnswered(const std::string& why) {
  return MakeError(ErrorCode::kNoApprover, why);
}

ApprovalAnswer AnswerOfForm(const Json& content, const ApprovalCard& card) {
  ApprovalAnswer answer;
  answer.digest = card.digest;
  if (!content.is_object()) return answer;
  const Json decision = content.value("decision", Json());
  answer.approved = decision == "once" || (decision == "session" && !card.would_store.empty());
  if (decision == "session") answer.remember = Remember::kSession;
  const Json words = content.value("words", Json());
  if (words.is_string()) answer.words = words.get<std::string>();
  return answer;
}

absl::StatusOr<ApprovalAnswer> AnswerOf(const Json& response, const ApprovalCard& card) {
  if (response.contains("error")) return NobodyAnswered("the client could not show the question");
  const Json result = response.value("result", Json::object());
  const Json action = result.is_object() ? result.value("action", Json()) : Json();
  if (action == "accept") return AnswerOfForm(result.value("content", Json::object()), card);
  if (action == "decline") return AnswerOfForm(Json::object(), card);
  if (action == "cancel") return NobodyAnswered("the question was closed without an answer");
  return NobodyAnswered("the client's answer to the question was not understood");
}

}  // namespace

void ElicitingApprover::SetSupported(bool supported) {
  const std::lock_guard lock(mutex_);
  supported_ = supported;
}

bool ElicitingApprover::Respond(const Json& message) {
  const std::lock_guard lock(mutex_);
  const auto found =
      message["id"].is_string() ? waiting_.find(message["id"].get<std::string>()) : waiting_.end();
  if (found == waiting_.end()) return false;
  found->second = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  answered_.notify_all();
  return true;
}

absl::StatusOr<ApprovalAnswer> ElicitingApprover::Ask(const ApprovalCard& card,
                                                      std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!supported_) {
    return MakeError(ErrorCode::kNoApprover,
                     "the client cannot ask a person (it has no elicitation)");
  }
  const std::string id = absl::StrFormat("approval-%d", ++last_id_);
  const auto slot = waiting_.emplace(id, "").first;
  send_(Question(id, card).dump(-1, ' ', false, Json::error_handler_t::replace));
  const bool answered =
      answered_.wait_until(lock, stop, card.expires, [&] { return !slot->second.empty(); });
  const std::string response = std::move(slot->second);
  waiting_.erase(slot);
  if (answered) return AnswerOf(Json::parse(response), card);
  // The form need not stay open; a client that does not know this message ignores it.
  const Json withdrawn = {{"jsonrpc", "2.0"},
                          {"method", "notifications/cancelled"},
                          {"params", {{"requestId", id}, {"reason", "not needed any more"}}}};
  send_(withdrawn.dump());
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "the question was withdrawn");
  return MakeError(ErrorCode::kApprovalTimedOut, "nobody answered the question in time");
}

}  // namespace cordon::cli
