// Arguments, shell text, input and output pass through unchanged.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;

// Bytes without any order, the same each time.
std::string Noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 88172645463325252U;
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state);
  }
  return bytes;
}

TEST_CASE("every argument arrives as it was given") {
  const Ground ground;
  const Words arguments = {"",
                           " ",
                           "a  b",
                           "'",
                           "\"",
                           "$PATH",
                           "`id`",
                           "*",
                           "\\",
                           "\\n",
                           "two\nlines",
                           "-x",
                           "--",
                           "--net",
                           "\x1b[0m",
                           "\xc3\xa9",
                           "\xf0\x9f\x98\x80",
                           "\xff\xfe",
                           "%d",
                           "!",
                           "~"};
  Words words = {"--", "python3", "-c",
                 "import os, sys; os.write(1, b'\\0'.join(map(os.fsencode, sys.argv[1:])))"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::string wanted;
  for (const std::string& word : arguments) wanted += word + '\0';
  wanted.pop_back();
  Expect(RunInside(ground, words)).Status(0).OutIs(wanted);
}

TEST_CASE("shell text is what the shell would have run") {
  const Ground ground;
  const char* texts[] = {
      "printf '%s|' \"a  b\" '$HOME' \"\\$x\" \\* \"$(echo nested)\"",
      "cat <<'X'\nit's $literal\nX\necho after",
      "for i in 1 2 3; do printf %s $i; done; echo \" $((6 * 7))\"",
      "set -- a b; echo $# \"$@\" \"$0\"",
      "echo to-errors >&2; echo to-output",
      "  \n\techo indented # and a comment",
  };
  for (const char* text : texts) {
    INFO(text);
    const Ended wanted = ground.RunUnconfined(text);
    const CordonRun run = RunText(ground, {}, text);
    CHECK(run.err == wanted.err);
    // The name of the shell, $0, is all that may differ.
    if (!Has(text, "$0")) Expect(run).Status(wanted.status).OutIs(wanted.out);
  }
  Expect(RunText(ground, {}, "-x; echo after")).Out("after");
}

TEST_CASE("megabytes of any bytes pass in both directions") {
  const Ground ground;
  const std::string bytes = Noise(3'000'000);
  RunOptions options;
  options.input = bytes;
  const CordonRun run = RunInside(ground, {"--", "cat"}, options);
  CHECK(run.status == 0);
  CHECK((run.out == bytes));
  CHECK(run.err.empty());
}

TEST_CASE("an input that is a file is read by the command") {
  const Ground ground;
  const std::string bytes = Noise(500'000);
  ground.MakeFile(ground.outside() + "/input", bytes);
  const CordonRun run = RunCordon(ground, {"--version"});
  Expect(run).Status(0);
  const Ended piped = ground.RunUnconfined("'" + CordonProgram() + "' run -w . -- wc -c <" +
                                           ground.outside() + "/input");
  CHECK(piped.out == "500000\n");
}

TEST_CASE("the two output streams stay apart and hold nothing of cordon's own") {
  const Ground ground;
  const CordonRun run = RunText(ground, {}, "printf out; printf err >&2");
  Expect(run).Status(0).OutIs("out");
  CHECK(run.err == "err");
}

TEST_CASE("input that nobody gives is at its end") {
  const Ground ground;
  Expect(RunText(ground, {}, "read x || echo at-its-end")).OutIs("at-its-end\n");
}

TEST_CASE("a reader that stops early ends an endless writer") {
  const Ground ground;
  const Ended ended =
      ground.RunUnconfined("'" + CordonProgram() + "' run -w . -c yes 2>/dev/null | head -n 2");
  CHECK(ended.in_time);
  CHECK(ended.out == "y\ny\n");
  CHECK(ended.elapsed < seconds(5));
}

TEST_CASE("output arrives while the command runs") {
  const Ground ground;
  Child child(InsideCommand(ground, {"-c", "echo first; read line; echo \"got $line\""}),
              InsideOptions(ground));
  std::string line;
  REQUIRE(child.ReadLine(line, seconds(10)));
  CHECK(line == "first");
  REQUIRE(child.Write("answer\n"));
  REQUIRE(child.ReadLine(line, seconds(10)));
  CHECK(line == "got answer");
  CHECK(child.Finish().status == 0);
}

}  // namespace
}  // namespace cordon::test
