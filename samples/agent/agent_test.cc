#include "agent.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cordon/sdk/admission.h"
#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon::agent {
namespace {

class YesAdmitted final : public Admitted {
 public:
  absl::StatusOr<std::vector<Grant>> Mint() override { return std::vector<Grant>(); }
};

class YesAdmission final : public Admission {
 public:
  absl::StatusOr<std::unique_ptr<Admitted>> Admit(const Request&, std::stop_token) override {
    return std::make_unique<YesAdmitted>();
  }
};

// Answers each call with its own arguments.
class Echo final : public Tool {
 public:
  std::string_view name() const override { return "echo"; }
  std::string description() const override { return "repeats"; }
  std::string input_schema_json() const override { return R"({"type":"object"})"; }
  absl::StatusOr<PreparedCall> Prepare(std::string_view arguments,
                                       const PrepareContext& context) override {
    Request request;
    request.tool = "echo";
    request.call_id = context.call_id;
    request.execution_id = context.execution_id;
    request.authority = NoAuthority("only repeats text");
    return PreparedCall(std::move(request), SealedArtifact::Seal(std::string(arguments)));
  }
  absl::StatusOr<ToolResult> Run(const PreparedCall& call, std::vector<Grant>,
                                 std::stop_token) override {
    return ToolResult{*call.artifact().Open<std::string>(), "", false};
  }
};

// Gives prepared turns and keeps what it was shown.
class FakeModel final : public Model {
 public:
  explicit FakeModel(std::vector<Turn> turns) : turns_(std::move(turns)) {}
  absl::StatusOr<Turn> Next(absl::Span<const Message> transcript, absl::Span<const ToolSpec> tools,
                            std::stop_token) override {
    seen_.assign(transcript.begin(), transcript.end());
    tools_.assign(tools.begin(), tools.end());
    if (next_ == turns_.size()) return MakeError(ErrorCode::kUnavailable, "no more turns");
    return turns_[next_++];
  }
  const std::vector<Message>& seen() const { return seen_; }
  const std::vector<ToolSpec>& tools() const { return tools_; }

 private:
  std::vector<Turn> turns_;
  std::size_t next_ = 0;
  std::vector<Message> seen_;
  std::vector<ToolSpec> tools_;
};

struct Setup {
  explicit Setup(std::vector<Turn> turns) : model(std::move(turns)) {
    ToolCallOptions step_options;
    step_options.tools = {&echo};
    step_options.admission = &admission;
    absl::StatusOr<ToolCallStep> made = ToolCallStep::Create(std::move(step_options));
    REQUIRE(made.ok());
    step = *std::move(made);
    options.model = &model;
    options.step = &*step;
    options.tools = {&echo};
  }
  YesAdmission admission;
  Echo echo;
  FakeModel model;
  std::optional<ToolCallStep> step;
  AgentOptions options;
};

TEST_CASE("The agent ends when the model calls nothing more") {
  Setup setup({Turn{"hello", {}}});
  const auto result = RunAgent(setup.options, "do it");
  REQUIRE(result.ok());
  CHECK(result->finished);
  CHECK(result->steps.empty());
  REQUIRE(result->transcript.size() == 2);
  CHECK(result->transcript[0].text == "do it");
  CHECK(result->transcript[1].text == "hello");
}

TEST_CASE("Every call of a turn is answered in order and the model sees the answers") {
  Setup setup({Turn{"two at once", {{"a", "echo", "first"}, {"b", "echo", "second"}}}, Turn{}});
  const auto result = RunAgent(setup.options, "do it");
  REQUIRE(result.ok());
  REQUIRE(setup.model.seen().size() == 4);
  CHECK(setup.model.seen()[1].calls.size() == 2);
  CHECK(setup.model.seen()[2].call_id == "a");
  CHECK(setup.model.seen()[2].text == "first");
  CHECK(setup.model.seen()[3].call_id == "b");
  CHECK(setup.model.seen()[3].text == "second");
  CHECK(result->steps.size() == 2);
}

TEST_CASE("A call of an unknown tool is answered with an error and the agent goes on") {
  Setup setup({Turn{"", {{"a", "ehco", "x"}}}, Turn{"I see", {}}});
  const auto result = RunAgent(setup.options, "do it");
  REQUIRE(result.ok());
  CHECK(result->finished);
  CHECK(result->transcript[2].is_error);
  CHECK(Is(result->steps[0].outcome.status, ErrorCode::kInvalidArguments));
}

TEST_CASE("The model is told about every tool") {
  Setup setup({Turn{}});
  REQUIRE(RunAgent(setup.options, "do it").ok());
  REQUIRE(setup.model.tools().size() == 1);
  CHECK(setup.model.tools()[0].name == "echo");
  CHECK(setup.model.tools()[0].description == "repeats");
}

TEST_CASE("A model that never comes to an end is stopped by the bound") {
  Setup setup(std::vector<Turn>(10, Turn{"again", {{"a", "echo", "x"}}}));
  setup.options.max_turns = 3;
  const auto result = RunAgent(setup.options, "do it");
  REQUIRE(result.ok());
  CHECK_FALSE(result->finished);
  CHECK(result->steps.size() == 3);
}

TEST_CASE("The model's error is the agent's") {
  Setup setup({});
  CHECK(Is(RunAgent(setup.options, "do it").status(), ErrorCode::kUnavailable));
}

TEST_CASE("A stopped agent asks no model") {
  Setup setup({Turn{}});
  std::stop_source stop;
  stop.request_stop();
  CHECK(Is(RunAgent(setup.options, "do it", stop.get_token()).status(), ErrorCode::kCancelled));
  CHECK(setup.model.seen().empty());
}

}  // namespace
}  // namespace cordon::agent
