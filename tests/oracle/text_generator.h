// Makes up shell text that is often plain, and often nearly so.

#ifndef CORDON_TESTS_ORACLE_TEXT_GENERATOR_H_
#define CORDON_TESTS_ORACLE_TEXT_GENERATOR_H_

#include <cstdint>
#include <random>
#include <string>

namespace cordon::test {

class TextGenerator {
 public:
  explicit TextGenerator(std::uint32_t seed) : random_(seed) {}

  // Commands `a`, `b` and `c` with operators, groups, redirections, quotes and comments; now and
  // then something is left out, doubled or put in somewhere.
  [[nodiscard]] std::string Next();

 private:
  std::size_t Below(std::size_t limit) { return random_() % limit; }
  bool OneIn(std::size_t count) { return Below(count) == 0; }
  void AddList(std::string& text, int depth);
  void AddCommand(std::string& text, int depth);
  void AddWord(std::string& text);
  void Disturb(std::string& text);

  std::mt19937 random_;
};

}  // namespace cordon::test

#endif  // CORDON_TESTS_ORACLE_TEXT_GENERATOR_H_
