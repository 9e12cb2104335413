#include "shell_words.h"

#include <stdio.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "support/catch.h"
#include "temporary_folder.h"

namespace cordon::internal {
namespace {

std::vector<std::string> Words(std::string_view text) {
  const ShellText read = ReadShellText(text);
  REQUIRE_FALSE(read.opaque);
  REQUIRE(read.commands.size() == 1);
  std::vector<std::string> words;
  for (const ShellWord& word : read.commands[0].words) {
    words.push_back(word.exact ? word.text : "<?>");
  }
  return words;
}

using Strings = std::vector<std::string>;

TEST_CASE("plain words are split at blanks") {
  CHECK(Words("git status") == Strings{"git", "status"});
  CHECK(Words("  git \t status  ") == Strings{"git", "status"});
  CHECK(Words("git status;") == Strings{"git", "status"});
  CHECK(Words("\n\ngit status\n") == Strings{"git", "status"});
}

TEST_CASE("quotes and backslashes are removed as a shell does") {
  CHECK(Words("git 'a b' \"c d\"") == Strings{"git", "a b", "c d"});
  CHECK(Words("r\"\"m 'x'y\\ z") == Strings{"rm", "xy z"});
  CHECK(Words(R"(\rm "a\"b" "c\d" "e\\f" "\$g")") == Strings{"rm", "a\"b", "c\\d", "e\\f", "$g"});
  CHECK(Words("echo '' \"\"") == Strings{"echo", "", ""});
  CHECK(Words("echo 'a;b|c&d' \"e\nf\"") == Strings{"echo", "a;b|c&d", "e\nf"});
}

TEST_CASE("comments begin only at the start of a word") {
  CHECK(Words("git status # rm x") == Strings{"git", "status"});
  CHECK(Words("echo a#b '#c'") == Strings{"echo", "a#b", "#c"});
}

TEST_CASE("a tilde expands only where a shell expands it") {
  CHECK(Words("git diff HEAD~1") == Strings{"git", "diff", "HEAD~1"});
  CHECK(Words("ls ~ ~/x a=~ b:~ '~'") == Strings{"ls", "<?>", "<?>", "<?>", "<?>", "~"});
}

TEST_CASE("parameters and globs leave a word that is not exact") {
  CHECK(Words("echo $HOME ${x} \"$y\" '$z' *.c a? [ab]") ==
        Strings{"echo", "<?>", "<?>", "<?>", "$z", "<?>", "<?>", "<?>"});
  CHECK(Words("find . -exec rm {} +") == Strings{"find", ".", "-exec", "rm", "{}", "+"});
}

TEST_CASE("operators join simple commands") {
  const ShellText read = ReadShellText("a && b || c; d | e |& f & g\nh");
  REQUIRE_FALSE(read.opaque);
  REQUIRE(read.commands.size() == 8);
  CHECK(read.joiners == std::vector<Joiner>{Joiner::kAnd, Joiner::kOr, Joiner::kSequence,
                                            Joiner::kPipe, Joiner::kPipeBoth, Joiner::kBackground,
                                            Joiner::kSequence, Joiner::kEnd});
  CHECK(ReadShellText("a &&\n\n b").commands.size() == 2);
}

TEST_CASE("assignments and redirections are kept apart from words") {
  const ShellText read = ReadShellText("CI=1 B='x y' make a=1 2>&1 >out <in >>log 2>/dev/null");
  REQUIRE_FALSE(read.opaque);
  REQUIRE(read.commands.size() == 1);
  const SimpleCommand& command = read.commands[0];
  CHECK(command.assigned_names == Strings{"CI", "B"});
  REQUIRE(command.words.size() == 2);
  CHECK(command.words[1].text == "a=1");
  REQUIRE(command.redirections.size() == 5);
  CHECK(command.redirections[0].kind == Redirection::Kind::kDuplicate);
  CHECK(command.redirections[1].kind == Redirection::Kind::kOutput);
  CHECK(command.redirections[2].kind == Redirection::Kind::kInput);
  CHECK(command.redirections[3].kind == Redirection::Kind::kAppend);
  CHECK(command.redirections[4].target.text == "/dev/null");
  CHECK(Words("echo a2>x") == Strings{"echo", "a2"});
}

TEST_CASE("what is not provably plain is opaque") {
  const std::string_view texts[] = {"",
                                    "   ",
                                    "# only a comment",
                                    "a $(b)",
                                    "a `b`",
                                    "a \"$(b)\"",
                                    "a \"`b`\"",
                                    "a <(b)",
                                    "a >(b)",
                                    "a <<X\nb\nX",
                                    "a <<< b",
                                    "(a; b",
                                    "(a; b) | c",
                                    "a | (b)",
                                    "a | { b; }",
                                    "(a) &",
                                    "(a &)",
                                    "{ a & }",
                                    "(a) >b",
                                    "(a) b",
                                    "b (a)",
                                    "X=1 (a)",
                                    "()",
                                    "( )",
                                    "{ }",
                                    "((1))",
                                    "((a); b)",
                                    "{a; }",
                                    "{ a }",
                                    "{ a; )",
                                    "(a }",
                                    "a; }",
                                    "a )",
                                    "(a &&)",
                                    "f () { a; }",
                                    "! a",
                                    "if a; then b; fi",
                                    "for i in 1; do a; done",
                                    "while a; do b; done",
                                    "case a in b) c;; esac",
                                    "f() { a; }",
                                    "function f { a; }",
                                    "a\\\nb",
                                    "a \\\n",
                                    "a '\\\n",
                                    "a \"b\\\nc\"",
                                    "2\\\n>b",
                                    "a >\\\n b",
                                    "A\\\n=b",
                                    "i\\\nf a",
                                    "a {b..c}",
                                    "a {b{c,d}}",
                                    "a 'b",
                                    "a \"b",
                                    "a \\",
                                    "a ;; b",
                                    "; a",
                                    "&& a",
                                    "a &&",
                                    "a |",
                                    "a | | b",
                                    "a & & b",
                                    "a;;",
                                    "a &> b",
                                    "a >| b",
                                    "a <> b",
                                    "a >",
                                    "a > # b",
                                    "a $'b'",
                                    "a $\"b\"",
                                    "a ${b:-c}",
                                    "a ${b",
                                    "a $((1))",
                                    "a $",
                                    "a {b,c}",
                                    "a }",
                                    "[[ a ]]",
                                    "a\rb",
                                    "a\x01",
                                    "a\x7f",
                                    "a\xff",
                                    "a\xc3",
                                    "coproc a",
                                    "a 12>b",
                                    "a >&b",
                                    "a >&12",
                                    "a+=b c",
                                    "x=(a b)",
                                    "a (b)",
                                    "select a in b; do c; done",
                                    "a ;& b",
                                    "until a; do b; done",
                                    "a \xe3\x82\xbd\\; b",
                                    "then a",
                                    "a {fd}>b"};
  for (const std::string_view text : texts) {
    CAPTURE(text);
    const ShellText read = ReadShellText(text);
    CHECK(read.opaque);
    CHECK_FALSE(read.opaque_reason.empty());
    CHECK(read.commands.empty());
  }
}

TEST_CASE("groups are read through, with what joins them") {
  const auto joiners = [](std::string_view text) {
    const ShellText read = ReadShellText(text);
    CAPTURE(text, read.opaque_reason);
    REQUIRE_FALSE(read.opaque);
    std::string line;
    for (std::size_t i = 0; i < read.commands.size(); ++i) {
      constexpr std::string_view kNames[] = {".", "&&", "||", ";", "|", "|&", "&"};
      line += read.commands[i].words[0].text;
      line += kNames[static_cast<std::size_t>(read.joiners[i])];
    }
    return line;
  };
  CHECK(joiners("(a; b)") == "a;b.");
  CHECK(joiners("{ a; b; }") == "a;b.");
  CHECK(joiners("(a && b) || c") == "a&&b||c.");
  CHECK(joiners("( (a); b ) && { c; }\nd") == "a;b&&c;d.");
  CHECK(joiners("(\na\n)\n\nb") == "a;b.");
  CHECK(joiners("(a | b)") == "a|b.");
  CHECK(joiners("{ a; } ; b &") == "a;b&");
}

TEST_CASE("a backslash at the end of a line continues it between words") {
  CHECK(Words("a \\\n  b \\\n\tc") == Strings{"a", "b", "c"});
}

TEST_CASE("braces without a list are letters") {
  CHECK(Words("git show stash@{0} {} a{b-c}") ==
        Strings{"git", "show", "stash@{0}", "{}", "a{b-c}"});
}

TEST_CASE("a glob behind a letter stands for words that begin with it") {
  const auto glob = [](std::string_view word) {
    const ShellText read = ReadShellText("a " + std::string(word));
    REQUIRE_FALSE(read.opaque);
    return !read.commands[0].words[1].exact && read.commands[0].words[1].glob;
  };
  for (const std::string_view word : {"src/*.c", "a?", "a[bc]", "./*", "'a'*", "a\\**"}) {
    CAPTURE(word);
    CHECK(glob(word));
  }
  for (const std::string_view word :
       {"*.c", "?a", "[ab]c", "-*", "a*$b", "~/*", "'*'*", "a", "$a"}) {
    CAPTURE(word);
    CHECK_FALSE(glob(word));
  }
}

TEST_CASE("reserved words are words when quoted or as arguments") {
  CHECK(Words("'if' x") == Strings{"if", "x"});
  CHECK(Words("echo if then done") == Strings{"echo", "if", "then", "done"});
}

TEST_CASE("letters of every script are plain") {
  CHECK(Words("cat \xc3\xbc.txt") == Strings{"cat", "\xc3\xbc.txt"});
}

// --- the same words as real shells

// What `shell` makes of each line of arguments; one string of NUL-terminated words a line. Nothing
// but builtins can run: PATH is empty.
std::vector<std::string> AskShell(const std::string& shell, const Strings& lines) {
  const TemporaryFolder folder;
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  folder.Write("lines", all);
  folder.Write("script",
               "PATH=/nonexistent\nwhile IFS= read -r line; do eval \"printf '%s\\\\0' $line\"; "
               "printf '\\n\\0'; done <lines\n");
  const std::string command =
      "cd '" + folder.Path() + "' && LC_ALL=C.UTF-8 " + shell + " script 2>/dev/null";
  std::vector<std::string> answers(1);
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) {
    answers.back().push_back(static_cast<char>(c));
    if (answers.back().ends_with(std::string_view("\n\0", 2))) {
      answers.back().resize(answers.back().size() - 2);
      answers.emplace_back();
    }
  }
  pclose(pipe);
  answers.pop_back();
  return answers;
}

TEST_CASE("real shells see the same words in everything that is plain") {
  constexpr std::string_view kPieces[] = {"a",    "b c", " ",  "'", "\"",       "\\", "~",
                                          "#",    "=",   "{}", "-", "%s",       "x=", ":",
                                          "!",    "^",   ",",  "]", "\xc3\xbc", "\t", "''",
                                          "\"\"", "1",   "@",  "+", "\\'"};
  std::mt19937 random(20260131);
  Strings lines;
  Strings expected;
  for (int attempt = 0; attempt < 60'000 && lines.size() < 3000; ++attempt) {
    std::string line = "w";
    const auto pieces = random() % 9 + 1;
    for (std::size_t i = 0; i < pieces; ++i) line += kPieces[random() % std::size(kPieces)];
    const ShellText read = ReadShellText("p " + line);
    if (read.opaque || read.commands.size() != 1 || !read.commands[0].redirections.empty()) {
      continue;
    }
    std::string words;
    bool exact = true;
    for (std::size_t i = 1; i < read.commands[0].words.size(); ++i) {
      exact = exact && read.commands[0].words[i].exact;
      words += read.commands[0].words[i].text + std::string(1, '\0');
    }
    if (!exact) continue;
    lines.push_back(line);
    expected.push_back(words);
  }
  REQUIRE(lines.size() == 3000);
  for (const std::string shell : {"bash", "bash --posix", "sh"}) {
    const Strings answers = AskShell(shell, lines);
    CAPTURE(shell);
    REQUIRE(answers.size() == lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (answers[i] != expected[i]) FAIL(shell << " reads differently: " << lines[i]);
    }
  }
}

}  // namespace
}  // namespace cordon::internal
