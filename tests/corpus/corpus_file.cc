#include "corpus_file.h"

#include <fstream>
#include <utility>

#include "families.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

constexpr std::string_view kNewline = "\xc2\xb6";    // ¶
constexpr std::string_view kTab = "\xe2\x87\xa5";    // ⇥
constexpr std::string_view kByteBegin = "\xc2\xab";  // «
constexpr std::string_view kByteEnd = "\xc2\xbb";    // »

bool Take(std::string_view& text, std::string_view mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(mark.size());
  return true;
}

std::string WithoutMarks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (Take(text, kNewline)) {
      out += '\n';
    } else if (Take(text, kTab)) {
      out += '\t';
    } else if (Take(text, kByteBegin)) {
      out += static_cast<char>(std::stoi(std::string(text.substr(0, 2)), nullptr, 16));
      text.remove_prefix(2);
      REQUIRE(Take(text, kByteEnd));
    } else {
      out += text[0];
      text.remove_prefix(1);
    }
  }
  return out;
}

bool IsHeader(std::string_view line) {
  return line.size() > 4 && line[0] == '[' && line[2] == ' ' && line.ends_with(']') &&
         std::string_view("+-!xo").find(line[1]) != std::string_view::npos;
}

std::string TakeWord(std::string& line) {
  const std::size_t end = line.find(' ');
  REQUIRE(end != std::string::npos);
  std::string word = line.substr(0, end);
  line.erase(0, end + 1);
  return word;
}

Rule MakeCorpusRule(RuleEffect effect, RuleMatch match, std::string_view text) {
  Rule rule = MakeRule(effect, match, text).value();
  rule.directory = "/code";
  return rule;
}

}  // namespace

std::vector<LabelledCommand> ReadCommands(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  std::vector<LabelledCommand> commands;
  LabelledCommand next;
  for (std::string line; std::getline(file, line);) {
    ++next.line;
    if (IsHeader(line)) {
      next.label = line[1];
      next.intent = line.substr(3, line.size() - 4);
    } else if (!line.empty() && !(next.label == ' ' && line[0] == '#')) {
      REQUIRE(next.label != ' ');
      next.text = WithoutMarks(line);
      commands.push_back(next);
    }
  }
  return commands;
}

std::vector<Rule> ReadRules(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::vector<Rule> rules;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const RuleEffect effect = ParseRuleEffect(TakeWord(line)).value();
    const RuleMatch match = ParseRuleMatch(TakeWord(line)).value();
    if (line == "*") {
      for (const internal::Family& family : internal::FamilyCatalogue()) {
        rules.push_back(MakeCorpusRule(effect, match, family.name));
      }
    } else {
      rules.push_back(MakeCorpusRule(effect, match, line));
    }
  }
  return rules;
}

}  // namespace cordon::test
