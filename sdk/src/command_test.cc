#include "cordon/sdk/command.h"

#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "support/catch.h"
#include "unprintable.h"
#include "utf8.h"

namespace cordon {
namespace {

using namespace std::string_literals;

Command ShellAt(std::string text) { return Command::Shell(std::move(text), "/w"); }
Command ArgvAt(std::vector<std::string> argv) { return Command::Argv(std::move(argv), "/w"); }

void AppendUtf8(std::string& text, char32_t value) {
  const auto put = [&text](char32_t bits) { text.push_back(static_cast<char>(bits & 0xff)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xc0 | value >> 6);
    put(0x80 | (value & 0x3f));
  } else if (value < 0x10000) {
    put(0xe0 | value >> 12);
    put(0x80 | (value >> 6 & 0x3f));
    put(0x80 | (value & 0x3f));
  } else {
    put(0xf0 | value >> 18);
    put(0x80 | (value >> 12 & 0x3f));
    put(0x80 | (value >> 6 & 0x3f));
    put(0x80 | (value & 0x3f));
  }
}

std::string Utf8(char32_t value) {
  std::string text;
  AppendUtf8(text, value);
  return text;
}

// Undoes the escaping; where it always gives the text back, no two texts can share a display.
std::string Unescape(std::string_view shown) {
  const std::map<char, char> letters = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}};
  const std::map<char, std::size_t> digits = {{'x', 2}, {'u', 4}, {'U', 8}};
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] != '\\') {
      text.push_back(shown[i]);
      continue;
    }
    const char kind = shown.at(++i);
    if (const auto letter = letters.find(kind); letter != letters.end()) {
      text.push_back(letter->second);
      continue;
    }
    const std::size_t count = digits.at(kind);
    const auto value = std::stoul(std::string(shown.substr(i + 1, count)), nullptr, 16);
    if (kind == 'x') {
      text.push_back(static_cast<char>(value));
    } else {
      AppendUtf8(text, static_cast<char32_t>(value));
    }
    i += count;
  }
  return text;
}

// Undoes POSIX quoting of the kind that a display uses.
std::vector<std::string> Unquote(std::string_view line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote == 0 && c == ' ') {
      words.emplace_back();
    } else {
      words.back().push_back(c);
    }
  }
  return words;
}

// Bytes that meet each other's meaning often: escapes, quotes, controls, sequences cut short,
// prefixes.
std::string RandomText(std::mt19937& random, std::size_t max_pieces) {
  constexpr std::string_view kPieces[] = {
      "\\",
      "x",
      "1b",
      "u202e",
      "U000e0001",
      "n",
      "'",
      "\"",
      " ",
      "\n",
      "\r",
      "\t",
      "\x1b",
      "\x7f",
      "\xc2\x85",
      "\xe2\x80\xae",
      "\xe2\x80",
      "\xe2",
      "\x80",
      "\xae",
      "\xc3\xa9",
      "e\xcc\x81",
      "\xf0\x9f\x98\x80",
      "\xf3\xa0\x80\x81",
      "\xed\xa0\x80",
      "\xc0\x80",
      "\xf4\x90\x80\x80",
      "\xff",
      "a",
      "=",
      "argv: ",
      "shell ",
      ": ",
      "/",
      "shell: ",
  };
  std::string text;
  const std::size_t count = random() % (max_pieces + 1);
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 4 == 0) {
      text.push_back(static_cast<char>(random() % 256));
    } else {
      text += kPieces[random() % std::size(kPieces)];
    }
  }
  return text;
}

bool IsClean(std::string_view shown, bool keep_newlines) {
  while (!shown.empty()) {
    const internal::CodePoint point = internal::FirstCodePoint(shown);
    const bool is_kept = keep_newlines && point.value == '\n';
    if (!point.valid || (internal::IsUnprintable(point.value) && !is_kept)) return false;
    shown.remove_prefix(point.size);
  }
  return true;
}

TEST_CASE("escaping can be undone, so different texts are shown differently") {
  std::mt19937 random(20220623);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = RandomText(random, 12);
    for (const bool keep_newlines : {false, true}) {
      const std::string shown = EscapeForDisplay(text, keep_newlines);
      if (Unescape(shown) != text || !IsClean(shown, keep_newlines)) {
        CAPTURE(text, shown, keep_newlines);
        FAIL_CHECK("not injective or not clean");
      }
    }
  }
}

TEST_CASE("every code point is shown as itself or as an escape, and can be told from every other") {
  for (char32_t value = 0; value <= 0x10ffff; ++value) {
    if (value >= 0xd800 && value <= 0xdfff) continue;
    const std::string text = Utf8(value);
    const std::string shown = EscapeForDisplay(text);
    if (Unescape(shown) != text || !IsClean(shown, false)) {
      FAIL_CHECK("code point " << static_cast<std::uint32_t>(value));
    }
  }
}

TEST_CASE("every byte that is not UTF-8 by itself is escaped") {
  for (int byte = 0x80; byte <= 0xff; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    const std::string shown = EscapeForDisplay("a" + text + "b");
    CHECK(shown.starts_with("a\\x"));
    CHECK(Unescape(shown) == "a" + text + "b");
  }
}

TEST_CASE("dangerous characters are escaped and letters are not") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"plain text 123", "plain text 123"},
      {"\x1b[2J", "\\x1b[2J"},
      {"\x7f", "\\x7f"},
      {"a\0b"s, "a\\x00b"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {"a\\nb", "a\\\\nb"},
      {"\xc2\x9b", "\\u009b"},              // C1: a control sequence introducer.
      {"\xc2\xa0", "\\u00a0"},              // No-break space.
      {"\xe2\x80\xae", "\\u202e"},          // Right-to-left override.
      {"\xe2\x81\xa6", "\\u2066"},          // Isolate.
      {"\xe2\x80\x8b", "\\u200b"},          // Zero-width space.
      {"\xe2\x80\x8d", "\\u200d"},          // Zero-width joiner.
      {"\xef\xbb\xbf", "\\ufeff"},          // Byte order mark.
      {"\xef\xb8\x8f", "\\ufe0f"},          // Variation selector.
      {"\xe3\x85\xa4", "\\u3164"},          // Hangul filler.
      {"\xe2\xa0\x80", "\\u2800"},          // Blank Braille.
      {"\xe2\x80\xa8", "\\u2028"},          // Line separator.
      {"\xf3\xa0\x81\x81", "\\U000e0041"},  // Tag letter.
      {"e\xcc\x81", "e\\u0301"},            // The same letter, spelled with a combining mark.
      {"\xcd\xbe", "\\u037e"},              // Drawn as a semicolon.
      {"\xe1\x84\x80\xe1\x85\xa1", "\xe1\x84\x80\\u1161"},  // Joining Hangul.
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                  // A surrogate.
      {"\xc0\xaf", "\\xc0\\xaf"},                           // An overlong slash.
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},         // Beyond U+10FFFF.
      {"\xe2\x80", "\\xe2\\x80"},                           // Cut short.
      {"na\xc3\xafve", "na\xc3\xafve"},
      {"\xd0\xbf\xd1\x80\xd0\xb8", "\xd0\xbf\xd1\x80\xd0\xb8"},
      {"\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac"},
      {"\xed\x95\x9c\xea\xb5\xad", "\xed\x95\x9c\xea\xb5\xad"},
      {"\xe0\xa4\xb9\xe0\xa4\xbf", "\xe0\xa4\xb9\xe0\xa4\xbf"},  // With a vowel sign.
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
  };
  for (const auto& [text, shown] : cases) CHECK(EscapeForDisplay(text) == shown);
}

TEST_CASE("newlines stay where they are wanted, and only they") {
  CHECK(EscapeForDisplay("a\nb\rc", true) == "a\nb\\rc");
  CHECK(EscapeForDisplay("a\\nb\n", true) == "a\\\\nb\n");
}

TEST_CASE("nothing is cut off") {
  const std::string long_text(1 << 20, 'x');
  CHECK(EscapeForDisplay(long_text) == long_text);
  CHECK(CommandDisplay(ShellAt(long_text)) == long_text);
}

TEST_CASE("argv is shown with POSIX quoting") {
  CHECK(CommandDisplay(ArgvAt({"ls", "-l", "a.txt"})) == "ls -l a.txt");
  CHECK(CommandDisplay(ArgvAt({"ls", "a b", ""})) == "ls 'a b' ''");
  CHECK(CommandDisplay(ArgvAt({"echo", "it's"})) == R"(echo 'it'"'"'s')");
  CHECK(CommandDisplay(ArgvAt({"echo", "$HOME;id"})) == "echo '$HOME;id'");
  CHECK(CommandDisplay(ArgvAt({"A=1", "B=2"})) == "'A=1' B=2");
  CHECK(CommandDisplay(ArgvAt({"echo", "a\nb", "a\\nb"})) == "echo 'a\\nb' 'a\\\\nb'");
  CHECK(CommandDisplay(ShellAt("make test && id")) == "make test && id");
}

TEST_CASE("different argv are shown differently") {
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::vector<std::string> argv(1 + random() % 4);
    for (std::string& word : argv) word = RandomText(random, 4);
    const std::string shown = CommandDisplay(ArgvAt(argv));
    if (Unquote(Unescape(shown)) != argv) {
      CAPTURE(argv, shown);
      FAIL_CHECK("not injective");
    }
  }
}

TEST_CASE("what rules compare never mixes the two forms") {
  CHECK(CommandMatch(ShellAt("make test")) == "make test");
  CHECK(CommandMatch(ArgvAt({"make", "test"})) == "argv: make test");
  CHECK(CommandMatch(ShellAt("argv: make test")) == "shell: argv: make test");
  CHECK(CommandMatch(ShellAt("shell: argv: make test")) == "shell: shell: argv: make test");
  CHECK(CommandMatch(ShellAt("shell /x: ls")) == "shell: shell /x: ls");
  CHECK(CommandMatch(ShellAt("a\x1b\\n")) == "a\x1b\\n");
}

TEST_CASE("another shell is named, the two usual ones are not") {
  const auto under = [](std::string shell, std::string text) {
    return Command::Shell(std::move(text), "/w", std::move(shell));
  };
  CHECK(CommandMatch(under("/bin/bash", "ls")) == CommandMatch(under("/bin/sh", "ls")));
  CHECK(CommandMatch(under("/tmp/bash", "ls")) == "shell /tmp/bash: ls");
  CHECK(CommandDisplay(under("/tmp/bash", "l\ns")) == "shell /tmp/bash: l\\ns");
  CHECK(CommandMatch(under("/tmp/a: b", "c")) == "shell '/tmp/a: b': c");
  CHECK(CommandMatch(under("/tmp/a", "b: c")) == "shell /tmp/a: b: c");
  CHECK(CommandDisplay(ShellAt("shell /tmp/bash: ls")) == "shell: shell /tmp/bash: ls");
}

TEST_CASE("different commands never share match or digest") {
  std::mt19937 random(11);
  std::map<std::string, Command> by_match;
  std::map<Digest, Command> by_digest;
  for (int i = 0; i < 5000; ++i) {
    Command command = ShellAt(RandomText(random, 3));
    if (i % 3 == 1) command.shell = "/" + RandomText(random, 2);
    if (i % 3 == 0) {
      command = ArgvAt({RandomText(random, 2), RandomText(random, 1)});
      command.argv.resize(1 + random() % 2);
    }
    CHECK(by_match.emplace(CommandMatch(command), command).first->second == command);
    CHECK(by_digest.emplace(CommandDigest(command), command).first->second == command);
  }
}

TEST_CASE("the digest tells form and word boundaries apart, not the directory") {
  CHECK(CommandDigest(ArgvAt({"ls"})) != CommandDigest(ShellAt("ls")));
  CHECK(CommandDigest(ArgvAt({"/bin/sh", "-c", "--", "ls"})) != CommandDigest(ShellAt("ls")));
  CHECK(CommandDigest(ArgvAt({"a", "b"})) != CommandDigest(ArgvAt({"a b"})));
  CHECK(CommandDigest(ArgvAt({"ab", ""})) != CommandDigest(ArgvAt({"a", "b"})));
  CHECK(CommandDigest(Command::Shell("ls", "/a")) == CommandDigest(Command::Shell("ls", "/b")));
  CHECK(CommandDigest(Command::Shell("ls", "/a")) !=
        CommandDigest(Command::Shell("ls", "/a", "/bin/bash")));
}

TEST_CASE("what execve gets") {
  CHECK(EffectiveArgv(ArgvAt({"ls", "-l"})) == std::vector<std::string>{"ls", "-l"});
  CHECK(EffectiveArgv(ShellAt("-x; id")) ==
        std::vector<std::string>{"/bin/sh", "-c", "--", "-x; id"});
}

TEST_CASE("sound commands are accepted") {
  CHECK(ValidateCommand(ArgvAt({"ls", ""})).ok());
  CHECK(ValidateCommand(ShellAt(" ")).ok());
  CHECK(ValidateCommand(ShellAt("\xff")).ok());
  CHECK(ValidateCommand(Command::Shell("ls", "/")).ok());
}

TEST_CASE("malformed commands are refused") {
  Command both = ShellAt("ls");
  both.argv = {"ls"};
  Command other_both = ArgvAt({"ls"});
  other_both.shell_text = "ls";
  const std::vector<Command> malformed = {ArgvAt({}),
                                          ArgvAt({""}),
                                          ArgvAt({"ls", "a\0b"s}),
                                          ShellAt(""),
                                          ShellAt("a\0b"s),
                                          both,
                                          other_both,
                                          Command::Shell("ls", ""),
                                          Command::Shell("ls", "w"),
                                          Command::Shell("ls", "/w/"),
                                          Command::Shell("ls", "/w/../x"),
                                          Command::Shell("ls", "//w"),
                                          Command::Shell("ls", "/w/."),
                                          Command::Shell("ls", "/w\0"s)};
  for (const Command& command : malformed) {
    CAPTURE(CommandDisplay(command), command.working_directory);
    CHECK(Is(ValidateCommand(command), ErrorCode::kInvalidCommand));
  }
}

TEST_CASE("a long text is cut between characters only") {
  const std::string text = "a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80z";
  for (std::size_t max = 0; max <= text.size() + 1; ++max) {
    const std::string_view head = internal::Utf8Prefix(text, max);
    const std::string_view tail = internal::Utf8Suffix(text, max);
    CAPTURE(max);
    CHECK(head.size() <= max);
    CHECK(tail.size() <= max);
    CHECK(max - std::min(max, head.size()) < 4U);
    CHECK(IsClean(head, false));
    CHECK(IsClean(tail, false));
    CHECK(text.starts_with(head));
    CHECK(text.ends_with(tail));
  }
}

}  // namespace
}  // namespace cordon
