#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cordon/gate/approver.h"
#include "cordon/sdk/capability.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "strict_json.h"

namespace cordon {
namespace {

using internal::Json;
using internal::MemberReader;

std::string_view RememberName(Remember remember) {
  switch (remember) {
    case Remember::kOnce:
      return "once";
    case Remember::kSession:
      return "session";
    case Remember::kAlways:
      return "always";
  }
  return "once";
}

Json Forms(const ApprovalCard& card) {
  Json forms = Json::array();
  if (card.would_store.empty()) return forms;
  forms.push_back({{"name", "exactly this"}, {"rules", card.would_store}});
  for (const RememberForm& form : card.wider) {
    forms.push_back({{"name", form.name}, {"rules", form.rules}});
  }
  return forms;
}

absl::StatusOr<Digest> DigestOf(const std::string& text) {
  Digest digest{};
  const auto value = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() != 2 * digest.size()) return absl::InvalidArgumentError("digest");
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = value(text[2 * i]);
    const int low = value(text[2 * i + 1]);
    if (high < 0 || low < 0) return absl::InvalidArgumentError("digest");
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

absl::Status Invalid(std::string_view what) {
  return MakeError(ErrorCode::kInvalidArguments,
                   "an answer to a question is not understood: " + std::string(what));
}

std::string Message(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace

std::string ApprovalCardJson(const ApprovalCard& card) {
  Json json;
  json["digest"] = DigestHex(card.digest);
  json["tool"] = EscapeForDisplay(card.request.tool);
  json["execution_id"] = EscapeForDisplay(card.request.execution_id);
  if (card.request.command.has_value()) {
    json["command"] = CommandDisplay(*card.request.command);
    json["directory"] = EscapeForDisplay(card.request.command->working_directory);
  }
  json["details"] = Json::array();
  for (const auto& [name, value] : card.request.details) {
    json["details"].push_back(
        {{"name", EscapeForDisplay(name)}, {"value", EscapeForDisplay(value)}});
  }
  if (!card.request.model_description.empty()) {
    json["model_description_unchecked"] = EscapeForDisplay(card.request.model_description);
  }
  json["asks_for"] = Json::array();
  for (const Requirement& requirement : card.pending) {
    json["asks_for"].push_back({{"kind", std::string(CapabilityKindName(requirement.kind))},
                                {"what", requirement.display}});
  }
  json["effects"] = card.effects;
  json["programs"] = card.programs;
  json["forms"] = Forms(card);
  json["can_persist"] = card.can_persist;
  const auto left =
      std::chrono::ceil<std::chrono::seconds>(card.expires - std::chrono::steady_clock::now());
  json["seconds_left"] = std::max<std::int64_t>(0, left.count());
  return internal::DumpJson(json);
}

absl::StatusOr<ApprovalAnswer> ApprovalAnswerFromJson(std::string_view json) {
  const absl::StatusOr<Json> parsed = internal::ParseStrictJson(json);
  if (!parsed.ok()) return Invalid(Message(parsed.status()));
  MemberReader members(*parsed, "the answer");
  const absl::StatusOr<Digest> digest = DigestOf(members.String("digest"));
  const std::optional<bool> approved = members.OptionalBool("approved");
  const std::string remember = members.OptionalString("remember").value_or("once");
  const std::uint64_t form = members.OptionalNumber("form").value_or(0);
  std::string words = members.OptionalString("words").value_or("");
  if (absl::Status status = members.Finish(); !status.ok()) return Invalid(Message(status));
  if (!digest.ok()) return Invalid("\"digest\" is not 64 lower-case hexadecimal digits");
  if (!approved.has_value()) return Invalid("\"approved\" is missing");
  ApprovalAnswer answer{*approved, Remember::kOnce, std::move(words), *digest, form};
  for (const Remember how : {Remember::kOnce, Remember::kSession, Remember::kAlways}) {
    if (remember != RememberName(how)) continue;
    answer.remember = how;
    return answer;
  }
  return Invalid("\"remember\" is once, session or always");
}

}  // namespace cordon
