// The corpus of labelled command lines against lexer, families and rules. Prints how many unsafe
// approvals and how many needless prompts there are.

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "command_match.h"
#include "cordon/sdk/command.h"
#include "corpus_file.h"
#include "families.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using Verdict = RuleDecision::Verdict;

const std::string kFolder = CORDON_CORPUS_FOLDER;

class Corpus {
 public:
  Corpus() : commands_(ReadCommands(kFolder + "/commands.txt")) {
    for (Rule& rule : ReadRules(kFolder + "/rules.txt")) {
      if (rule.effect == RuleEffect::kDeny) denials_.push_back(rule);
      rules_.push_back(std::move(rule));
    }
  }

  [[nodiscard]] std::vector<LabelledCommand> Labelled(std::string_view labels) const {
    std::vector<LabelledCommand> chosen;
    for (const LabelledCommand& command : commands_) {
      if (labels.find(command.label) != std::string_view::npos) chosen.push_back(command);
    }
    return chosen;
  }
  [[nodiscard]] Verdict ByAllRules(const LabelledCommand& command) const {
    return Decide(rules_, command);
  }
  [[nodiscard]] Verdict ByDenials(const LabelledCommand& command) const {
    return Decide(denials_, command);
  }
  [[nodiscard]] const std::vector<LabelledCommand>& commands() const { return commands_; }

 private:
  static Verdict Decide(const std::vector<Rule>& rules, const LabelledCommand& command) {
    const auto set = RuleSet::InMemory();
    REQUIRE(set->Add(rules, false).ok());
    Request request;
    request.command = Command::Shell(command.text, "/code");
    return set->Decide(RequireCommand(*request.command), request).value().verdict;
  }

  std::vector<LabelledCommand> commands_;
  std::vector<Rule> rules_;
  std::vector<Rule> denials_;
};

std::string Place(const LabelledCommand& command) {
  return "line " + std::to_string(command.line) + " (" + command.intent +
         "): " + EscapeForDisplay(command.text);
}

TEST_CASE("the corpus is as large and as varied as it is said to be") {
  const Corpus corpus;
  CHECK(corpus.commands().size() >= 1500);
  CHECK(corpus.Labelled("!x").size() >= 300);
  std::set<std::string> texts;
  for (const LabelledCommand& command : corpus.commands()) {
    INFO(Place(command));
    const std::string side = command.label == 'x' || command.label == 'o' ? "deny " : "allow ";
    CHECK(texts.insert(side + command.text).second);
  }
}

TEST_CASE("no command of the corpus that must not be allowed is allowed") {
  const Corpus corpus;
  int unsafe = 0;
  const std::vector<LabelledCommand> refused = corpus.Labelled("-!");
  for (const LabelledCommand& command : refused) {
    if (corpus.ByAllRules(command) != Verdict::kAllow) continue;
    ++unsafe;
    std::printf("unsafe approval: %s\n", Place(command).c_str());
  }
  std::printf("unsafe approvals: %d of %zu\n", unsafe, refused.size());
  CHECK(unsafe == 0);
}

TEST_CASE("no command of the corpus that may run what is denied passes unasked") {
  const Corpus corpus;
  int missed = 0;
  const std::vector<LabelledCommand> denied = corpus.Labelled("x");
  for (const LabelledCommand& command : denied) {
    const Verdict by_denials = corpus.ByDenials(command);
    const Verdict by_all = corpus.ByAllRules(command);
    const bool stopped = by_denials == Verdict::kDeny || by_denials == Verdict::kAsk;
    if (stopped && by_all != Verdict::kAllow) continue;
    ++missed;
    std::printf("missed denial: %s\n", Place(command).c_str());
  }
  std::printf("missed denials: %d of %zu\n", missed, denied.size());
  CHECK(missed == 0);
}

TEST_CASE("at most a tenth of the corpus's safe commands needs a prompt") {
  const Corpus corpus;
  std::size_t needless = 0;
  const std::vector<LabelledCommand> safe = corpus.Labelled("+");
  for (const LabelledCommand& command : safe) {
    if (corpus.ByAllRules(command) == Verdict::kAllow) continue;
    ++needless;
    std::printf("needless prompt: %s\n", Place(command).c_str());
  }
  std::printf("needless prompts: %zu of %zu (%.1f %%)\n", needless, safe.size(),
              100.0 * static_cast<double>(needless) / static_cast<double>(safe.size()));
  CHECK(needless * 10 <= safe.size());
}

TEST_CASE("what only looks like a denied command is not asked about") {
  const Corpus corpus;
  std::size_t needless = 0;
  const std::vector<LabelledCommand> harmless = corpus.Labelled("o");
  for (const LabelledCommand& command : harmless) {
    if (corpus.ByDenials(command) == Verdict::kNone) continue;
    ++needless;
    std::printf("needless question about a denial: %s\n", Place(command).c_str());
  }
  std::printf("needless questions about denials: %zu of %zu\n", needless, harmless.size());
  CHECK(needless * 10 <= harmless.size());
}

TEST_CASE("every family of the catalogue is used by the corpus") {
  const Corpus corpus;
  std::string missing;
  for (const internal::Family& family : internal::FamilyCatalogue()) {
    const std::vector<std::string> names = {std::string(family.name)};
    bool used = false;
    for (const LabelledCommand& command : corpus.Labelled("+")) {
      const internal::ShellText text = internal::ReadShellText(command.text);
      for (const internal::SimpleCommand& simple : text.commands) {
        internal::ShellText alone;
        alone.commands = {simple};
        alone.joiners = {internal::Joiner::kEnd};
        used = used || internal::CoverWithFamilies(alone, names).has_value();
      }
    }
    if (!used) missing += " " + std::string(family.name) + ";";
  }
  CHECK(missing.empty());
}

}  // namespace
}  // namespace cordon::test
