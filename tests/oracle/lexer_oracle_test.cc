// Whatever the lexer calls plain, real shells understand in the same way: the same simple commands
// with the same words, joined in the same way, making the same files.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cordon/sdk/command.h"
#include "shell_oracle.h"
#include "shell_words.h"
#include "support/catch.h"
#include "text_generator.h"

namespace cordon::test {
namespace {

using internal::Joiner;
using internal::ReadShellText;
using internal::Redirection;
using internal::ShellText;
using internal::SimpleCommand;

// Shells that the gate understands, where they are installed.
std::vector<OracleShell> Shells() {
  std::vector<OracleShell> shells;
  const auto add = [&shells](OracleShell shell) {
    if (std::ifstream(shell.program).good()) shells.push_back(std::move(shell));
  };
  add({"/bin/bash", {"--norc", "--noprofile"}, true});
  add({"/bin/bash", {"--norc", "--noprofile", "--posix"}, false});
  add({"/bin/dash", {}, false});
  return shells;
}

bool IsKnownCommand(const std::string& name) { return name == "a" || name == "b" || name == "c"; }

// `command` without a `time` in front, which is a reserved word of bash and a program elsewhere.
SimpleCommand WithoutTime(SimpleCommand command) {
  auto& words = command.words;
  if (words.empty() || words[0].text != "time") return command;
  if (words[0].quoted || !words[0].exact) return command;
  const bool has_option = words.size() > 1 && words[1].text == "-p";
  words.erase(words.begin(), words.begin() + (has_option ? 2 : 1));
  return command;
}

// Whether the oracle can answer about `command`: every word is exact, its program is recorded, and
// its redirections succeed.
bool CanBeAsked(const SimpleCommand& written, bool any_program) {
  const SimpleCommand command = WithoutTime(written);
  // `time -p` is a program in a shell that keeps to POSIX, and there is none here.
  if (!any_program && command.words.size() + 2 == written.words.size()) return false;
  for (const internal::ShellWord& word : command.words) {
    if (!word.exact) return false;
  }
  for (const Redirection& redirection : command.redirections) {
    const std::string& target = redirection.target.text;
    if (!redirection.target.exact || target.empty()) return false;
    switch (redirection.kind) {
      case Redirection::Kind::kInput:
        if (!IsKnownCommand(target)) return false;
        break;
      case Redirection::Kind::kDuplicate:
        if (target != "1" && target != "2") return false;
        break;
      case Redirection::Kind::kOutput:
      case Redirection::Kind::kAppend:
        if (target.find('/') != std::string::npos || target == "." || target == "..") return false;
    }
  }
  // A command after `2>&-` finds its descriptor closed.
  if (command.words.empty()) return true;
  const std::string& program = command.words[0].text;
  // One-letter builtins, reserved words that were quoted, names of jobs, and what is no command's
  // name at all.
  if (IsKnownCommand(program)) return true;
  return any_program && program.size() > 1 && program.find('/') == std::string::npos &&
         program.find_first_of("ab") != std::string::npos && program != "bg" && program[0] != '%' &&
         program.find_first_of(" \n") == std::string::npos && program != "alias";
}

struct Expectation {
  std::vector<ShellWords> commands;  // Those that run, in order.
  std::set<std::string> made;
  bool in_order = true;     // No pipe and nothing in the background.
  bool decides_all = true;  // No group stands beside `&&` or `||`, so that what runs is known.
};

void AddEffects(const SimpleCommand& command, Expectation& expected) {
  if (!command.words.empty()) {
    ShellWords words;
    for (const internal::ShellWord& word : WithoutTime(command).words) words.push_back(word.text);
    expected.commands.push_back(std::move(words));
  }
  for (const Redirection& redirection : command.redirections) {
    const bool makes = redirection.kind == Redirection::Kind::kOutput ||
                       redirection.kind == Redirection::Kind::kAppend;
    if (makes && !IsKnownCommand(redirection.target.text)) {
      expected.made.insert(redirection.target.text);
    }
  }
}

// What runs when every command returns `status`.
Expectation Expect(const ShellText& text, int status, bool has_group) {
  Expectation expected;
  bool runs = true;
  bool has_choice = false;
  int last = 0;
  for (std::size_t i = 0; i < text.commands.size(); ++i) {
    if (runs) {
      AddEffects(text.commands[i], expected);
      last = text.commands[i].words.empty() ? 0 : status;
    }
    switch (text.joiners[i]) {
      case Joiner::kAnd:
        has_choice = true;
        runs = last == 0;
        break;
      case Joiner::kOr:
        has_choice = true;
        runs = last != 0;
        break;
      case Joiner::kPipe:
      case Joiner::kPipeBoth:
        // The whole pipe runs, or none of it.
        expected.in_order = false;
        break;
      case Joiner::kBackground:
        expected.in_order = false;
        runs = true;
        last = 0;
        break;
      case Joiner::kSequence:
      case Joiner::kEnd:
        runs = true;
        break;
    }
  }
  const bool in_background = std::find(text.joiners.begin(), text.joiners.end(),
                                       Joiner::kBackground) != text.joiners.end();
  expected.decides_all = !(has_choice && (has_group || in_background));
  return expected;
}

// What is different; empty when nothing is.
std::string Difference(const Expectation& expected, const ShellAnswer& answer) {
  std::vector<ShellWords> wanted = expected.commands;
  std::vector<ShellWords> got = answer.commands;
  if (!expected.in_order) {
    std::sort(wanted.begin(), wanted.end());
    std::sort(got.begin(), got.end());
  }
  if (wanted != got) {
    const auto show = [](const std::vector<ShellWords>& commands) {
      std::string line;
      for (const ShellWords& words : commands) {
        for (const std::string& word : words) line += "<" + EscapeForDisplay(word) + ">";
        line += " ";
      }
      return line;
    };
    return "read as " + show(expected.commands) + "but runs " + show(answer.commands);
  }
  if (expected.made != answer.made) return "makes other files";
  return {};
}

struct Question {
  std::string text;
  ShellText read;
};

std::optional<Question> PlainQuestion(std::string text, bool any_program) {
  if (text.empty() || text[0] == '-' || text.find('\0') != std::string::npos) return std::nullopt;
  Question question{std::move(text), {}};
  question.read = ReadShellText(question.text);
  if (question.read.opaque) return std::nullopt;
  for (const SimpleCommand& command : question.read.commands) {
    if (!CanBeAsked(command, any_program)) return std::nullopt;
    const auto& joiners = question.read.joiners;
    const bool joins_both =
        std::find(joiners.begin(), joiners.end(), Joiner::kPipeBoth) != joiners.end();
    // Few shells have `|&`.
    if (joins_both && !any_program) return std::nullopt;
    // What runs at the same time records at the same time, and a newline ends a write of a shell.
    const bool is_parallel = std::any_of(joiners.begin(), joiners.end(), [](Joiner joiner) {
      return joiner == Joiner::kPipe || joiner == Joiner::kPipeBoth ||
             joiner == Joiner::kBackground;
    });
    const bool has_newline = std::any_of(
        command.words.begin(), command.words.end(),
        [](const internal::ShellWord& word) { return word.text.find('\n') != std::string::npos; });
    if (is_parallel && has_newline) return std::nullopt;
  }
  return question;
}

// Asks `shell` about `questions`; returns how many answers could be compared.
std::size_t Compare(const OracleShell& shell, const std::vector<Question>& questions) {
  std::vector<std::string> texts;
  for (const Question& question : questions) texts.push_back(question.text);
  std::size_t compared = 0;
  for (const int status : {0, 1}) {
    const std::vector<ShellAnswer> answers = AskShell(shell, texts, status);
    REQUIRE(answers.size() == questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const bool has_group = questions[i].text.find_first_of("({") != std::string::npos;
      const Expectation expected = Expect(questions[i].read, status, has_group);
      if (!expected.decides_all) continue;
      ++compared;
      const std::string difference = Difference(expected, answers[i]);
      if (difference.empty()) continue;
      FAIL_CHECK(shell.program << " disagrees about \"" << EscapeForDisplay(questions[i].text)
                               << "\": " << difference);
    }
  }
  return compared;
}

std::string WithoutMarks(std::string line) {
  const auto replace = [&line](const std::string& mark, const std::string& with) {
    for (std::size_t at = line.find(mark); at != std::string::npos; at = line.find(mark)) {
      line.replace(at, mark.size(), with);
    }
  };
  replace("\xc2\xb6", "\n");
  replace("\xe2\x87\xa5", "\t");
  return line;
}

TEST_CASE("the lexer and the shells agree about every text that was ever worth keeping") {
  std::ifstream file(CORDON_ORACLE_TEXTS);
  REQUIRE(file.good());
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with("##")) texts.push_back(WithoutMarks(line));
  }
  REQUIRE(texts.size() > 50);
  for (const OracleShell& shell : Shells()) {
    std::vector<Question> questions;
    for (const std::string& text : texts) {
      if (auto question = PlainQuestion(text, shell.names_unknown_commands)) {
        questions.push_back(*std::move(question));
      }
    }
    CAPTURE(shell.program);
    CHECK(Compare(shell, questions) > 20);
  }
}

// CORDON_ORACLE_SECONDS is for how long; CI gives it 60.
TEST_CASE("the lexer and the shells agree about texts that were made up") {
  const char* const given = std::getenv("CORDON_ORACLE_SECONDS");
  const std::chrono::seconds time(given == nullptr ? 3 : std::max(1, std::atoi(given)));
  const char* const seed_given = std::getenv("CORDON_ORACLE_SEED");
  const auto seed =
      seed_given == nullptr
          ? static_cast<std::uint32_t>(std::chrono::system_clock::now().time_since_epoch().count())
          : static_cast<std::uint32_t>(std::atoll(seed_given));
  INFO("CORDON_ORACLE_SEED=" << seed);
  const std::vector<OracleShell> shells = Shells();
  REQUIRE_FALSE(shells.empty());
  TextGenerator generator(seed);
  std::size_t compared = 0;
  const auto end = std::chrono::steady_clock::now() + time;
  for (std::size_t round = 0; std::chrono::steady_clock::now() < end; ++round) {
    const OracleShell& shell = shells[round % shells.size()];
    std::vector<Question> questions;
    for (int i = 0; i < 5000 && questions.size() < 100; ++i) {
      if (auto question = PlainQuestion(generator.Next(), shell.names_unknown_commands)) {
        questions.push_back(*std::move(question));
      }
    }
    compared += Compare(shell, questions);
  }
  std::printf("lexer and shells agreed about %zu texts, seed %u\n", compared, seed);
  CHECK(compared > 0);
}

}  // namespace
}  // namespace cordon::test
