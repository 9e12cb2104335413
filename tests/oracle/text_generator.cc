#include "text_generator.h"

#include <iterator>
#include <string_view>

namespace cordon::test {
namespace {

constexpr std::string_view kWordParts[] = {
    "a",     "b",        "c",        "x",    "-",    "1",        "2",    "''",       "\"\"",
    "'b c'", "\"b c\"",  "\\ ",      "\\'",  "\\\"", "\\\\",     "\\a",  "'\"'",     "\"'\"",
    "'\\'",  "\"\\\\\"", "\"\\\"\"", "=",    "x=",   "#",        "!",    "{}",       "{a}",
    "]",     "^",        "%s",       ",",    ":",    "@",        "+",    "\xc3\xbc", "~",
    "'#'",   "'\n'",     "\"\n\"",   "'$x'", "\\$x", "\"\\$x\"", "'`'",  "\\`",      "}",
    "'*'",   "\\*",      "\"?\"",    "if",   "in",   "do",       "'if'", "\"a\\b\"", "'a'\\''b'"};
constexpr std::string_view kSpaces[] = {" ", " ", " ", "  ", "\t", " \\\n ", " \\\n"};
constexpr std::string_view kOperators[] = {"&&",  "||",   ";",      "\n",        "|",
                                           "|&",  "&",    ";\n",    "&&\n",      "||\n",
                                           "|\n", "\n\n", "\n#c\n", " # c ; d\n"};
constexpr std::string_view kRedirections[] = {">y",  ">>y",    "<a",   "2>z",     "2>&1",
                                              ">&2", "1>&2",   "2>>z", "> 'y z'", "<b",
                                              "0<c", ">\"y\"", "2>&-", ">\\y"};
constexpr std::string_view kDisturbances[] = {
    "\\",        "'",       "\"",       "`",    "$",    "(",     ")",    "{",     "}",   ";",
    "&",         "|",       "<",        ">",    "\n",   " ",     "#",    "!",     "=",   "\\\n",
    "if ",       "then ",   "fi",       "do ",  "done", "case ", "esac", "time ", "[[ ", " ]]",
    "function ", "coproc ", "$'",       "$(",   "${",   "<<",    "<<<",  "<(",    ">(",  "&>",
    ">|",        "<>",      ";;",       "12>",  "{x}",  "*",     "?",    "[a]",   "~",   "+=",
    "\r",        "\v",      "\xc2\xa0", "\xff", "! ",   "{ ",    " }",   "()",    "(("};

template <typename List>
std::string_view Pick(const List& list, std::size_t at) {
  return list[at % std::size(list)];
}

}  // namespace

std::string TextGenerator::Next() {
  std::string text;
  AddList(text, 0);
  while (OneIn(2)) Disturb(text);
  return text;
}

void TextGenerator::AddList(std::string& text, int depth) {
  AddCommand(text, depth);
  while (OneIn(2)) {
    if (OneIn(2)) text += ' ';
    text += Pick(kOperators, random_());
    if (OneIn(2)) text += ' ';
    AddCommand(text, depth);
  }
}

void TextGenerator::AddCommand(std::string& text, int depth) {
  if (depth < 3 && OneIn(6)) {
    const bool round = OneIn(2);
    text += round ? "(" : "{ ";
    AddList(text, depth + 1);
    text += round ? ")" : (OneIn(4) ? "\n}" : "; }");
    return;
  }
  if (OneIn(16)) text += OneIn(3) ? "time -p " : "time ";
  while (OneIn(8)) {
    text += "A=";
    AddWord(text);
    text += ' ';
  }
  if (OneIn(12)) text += std::string(Pick(kRedirections, random_())) + " ";
  text += static_cast<char>('a' + Below(3));
  while (!OneIn(3)) {
    text += Pick(kSpaces, random_());
    if (OneIn(8)) {
      text += Pick(kRedirections, random_());
    } else {
      AddWord(text);
    }
  }
}

void TextGenerator::AddWord(std::string& text) {
  do {
    text += Pick(kWordParts, random_());
  } while (OneIn(2));
}

void TextGenerator::Disturb(std::string& text) {
  const std::size_t at = Below(text.size() + 1);
  if (OneIn(4) && at < text.size()) {
    text.erase(at, 1);
  } else if (OneIn(4) && at < text.size()) {
    text.insert(at, 1, text[at]);
  } else {
    text.insert(at, Pick(kDisturbances, random_()));
  }
}

}  // namespace cordon::test
