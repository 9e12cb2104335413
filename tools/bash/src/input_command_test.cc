#include "input_command.h"

#include <set>
#include <string>

#include "cordon/sdk/request.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

JobInfo MakeJob(char digit) {
  JobInfo job;
  job.handle = "job-" + std::string(kJobHandleDigits, digit);
  job.working_directory = "/w";
  return job;
}

TEST_CASE("Different inputs, jobs and ends are different commands") {
  std::set<std::string> shown;
  std::set<std::string> matched;
  int count = 0;
  for (const char digit : {'a', 'b'}) {
    for (const char* text : {"x", "x\n", "x\n\n", "x\nINPUT", "x\nINPUT\n", "x\\n"}) {
      for (const bool eof : {false, true}) {
        const Command command = InputCommand(MakeJob(digit), text, eof);
        CHECK(ValidateCommand(command).ok());
        shown.insert(CommandDisplay(command));
        matched.insert(RequireCommand(command).match);
        ++count;
      }
    }
  }
  CHECK(shown.size() == static_cast<std::size_t>(count));
  CHECK(matched.size() == static_cast<std::size_t>(count));
}

TEST_CASE("Input is no command that could be allowed as itself") {
  const Command input = InputCommand(MakeJob('a'), "git status\n", false);
  CHECK(RequireCommand(input).match != RequireCommand(Command::Shell("git status\n", "/w")).match);
  CHECK(input.shell_text.starts_with("cordon:input job-aaa"));
  CHECK(input.working_directory == "/w");
}

}  // namespace
}  // namespace cordon::internal
