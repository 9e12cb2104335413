#include "input_command.h"

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/capability.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

absl::Status CheckSubjects(const std::vector<GrantSubject>& subjects) {
  if (subjects.size() == 1 && subjects.front().grant_class == GrantClass::kCommandStart) {
    return absl::OkStatus();
  }
  return MakeError(ErrorCode::kGrantWrongTarget,
                   "input for a background job needs one grant for a command, and no other");
}

}  // namespace

Command InputCommand(const JobInfo& job, std::string_view text, bool then_eof) {
  const bool whole_line = text.ends_with('\n');
  std::string shell_text =
      absl::StrFormat("cordon:input %s%s%s <<'INPUT'\n", job.handle,
                      whole_line ? "" : " --no-newline", then_eof ? " --then-eof" : "");
  shell_text += text;
  shell_text += whole_line ? "INPUT" : "\nINPUT";
  return Command::Shell(std::move(shell_text), job.working_directory);
}

absl::Status SpendInputGrants(const Executor& executor, const Command& command,
                              const std::string& execution_id, const std::vector<Grant>& grants) {
  const absl::StatusOr<Access> access =
      executor.profile().AccessFor(CapabilityKind::kCommandExecute, "");
  if (!access.ok()) return access.status();
  if (*access == Access::kDeny) {
    return MakeError(ErrorCode::kPolicyDenied, "the profile denies commands, and input to them");
  }
  if (*access == Access::kAllow && grants.empty()) return absl::OkStatus();
  const std::shared_ptr<GrantAuthority> authority = executor.grant_authority();
  if (authority == nullptr || grants.empty()) {
    return MakeError(ErrorCode::kGrantRequired,
                     "the profile gates commands, and so input to a running one");
  }
  absl::StatusOr<std::unique_ptr<Redemption>> redemption =
      authority->Verify(grants, executor.BindingFor(command, execution_id));
  if (!redemption.ok()) return redemption.status();
  if (absl::Status fits = CheckSubjects((*redemption)->subjects()); !fits.ok()) return fits;
  return (*redemption)->Consume();
}

}  // namespace cordon::internal
