// Reads the labelled command lines and the rules that they are labelled under; the format stands at
// the head of `commands.txt`.

#ifndef CORDON_TESTS_CORPUS_CORPUS_FILE_H_
#define CORDON_TESTS_CORPUS_CORPUS_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "cordon/gate/rules.h"

namespace cordon::test {

struct LabelledCommand {
  char label = ' ';
  std::string intent;
  int line = 0;
  std::string text;  // With its marks replaced.
};

// Both fail the running test when a line cannot be read.
[[nodiscard]] std::vector<LabelledCommand> ReadCommands(const std::string& path);
[[nodiscard]] std::vector<Rule> ReadRules(const std::string& path);

}  // namespace cordon::test

#endif  // CORDON_TESTS_CORPUS_CORPUS_FILE_H_
