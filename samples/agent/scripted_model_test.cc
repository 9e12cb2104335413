#include "scripted_model.h"

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::agent {
namespace {

std::vector<Scene> Script() {
  return {
      {"one", {{"make", "builds", Expect::kSuccess, "built"}, {"false", "", Expect::kFailure, ""}}},
      {"two", {{"ls", "", Expect::kSuccess, ""}}},
      {"end", {}}};
}

Message Result(std::string text) { return {Role::kTool, std::move(text), {}, "id", false}; }

Turn Next(ScriptedModel& model, const std::vector<Message>& transcript) {
  absl::StatusOr<Turn> turn = model.Next(transcript, {}, {});
  REQUIRE(turn.ok());
  return *std::move(turn);
}

TEST_CASE("The script is played while results are as expected") {
  ScriptedModel model(Script());
  std::vector<Message> transcript = {{Role::kUser, "task", {}, "", false}};
  const Turn one = Next(model, transcript);
  CHECK(one.text == "one");
  REQUIRE(one.calls.size() == 2);
  CHECK(one.calls[0].tool == "bash");
  CHECK(one.calls[0].id != one.calls[1].id);
  CHECK(nlohmann::json::parse(one.calls[0].arguments_json) ==
        nlohmann::json{{"command", "make"}, {"description", "builds"}});

  transcript.push_back(Result("exit code: 0\nstdout:\nbuilt\n"));
  transcript.push_back(Result("exit code: 1\n"));
  CHECK(Next(model, transcript).calls.size() == 1);
  CHECK_FALSE(model.at_end());
  transcript.push_back(Result("exit code: 0\n(no output)\n"));
  const Turn end = Next(model, transcript);
  CHECK(end.text == "end");
  CHECK(end.calls.empty());
  CHECK(model.at_end());
  CHECK(model.surprise().empty());
}

TEST_CASE("Where reality differs the model says so and stops") {
  struct Case {
    const char* first;
    const char* second;
    const char* surprised_by;
  };
  for (const Case& c : {Case{"exit code: 1\nbuilt\n", "exit code: 1\n", "`make`"},
                        Case{"exit code: 0\nnothing\n", "exit code: 1\n", "`make`"},
                        Case{"ended by signal 9 (SIGKILL)\nbuilt\n", "exit code: 1\n", "`make`"},
                        Case{"exit code: 0\nbuilt\n", "exit code: 0\n", "`false`"},
                        Case{"exit code: 0\nbuilt\n", "timed out after 2 min\n", "`false`"},
                        Case{"exit code: 0\nbuilt\n", "refused: no_approver\n", "`false`"}}) {
    ScriptedModel model(Script());
    std::vector<Message> transcript = {{Role::kUser, "task", {}, "", false}};
    (void)Next(model, transcript);
    transcript.push_back(Result(c.first));
    transcript.push_back(Result(c.second));
    const Turn turn = Next(model, transcript);
    CHECK(turn.calls.empty());
    CHECK(turn.text.find(std::string("I expected ") + c.surprised_by) == 0);
    CHECK(turn.text.find("I stop here.") != std::string::npos);
    CHECK_FALSE(model.surprise().empty());
    CHECK_FALSE(model.at_end());
  }
}

}  // namespace
}  // namespace cordon::agent
