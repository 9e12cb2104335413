#include "printable_text.h"

#include <string>
#include <string_view>

#include "support/catch.h"

namespace cordon::internal {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kBad = "\xEF\xBF\xBD";

std::string Repeat(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("Valid UTF-8 of every length passes unchanged") {
  for (const std::string_view text :
       {""sv, "plain"sv, "a\0b"sv, "\x7f"sv, "é"sv, "\xC2\x80"sv, "\xDF\xBF"sv, "\xE0\xA0\x80"sv,
        "\xED\x9F\xBF"sv, "\xEE\x80\x80"sv, "\xEF\xBF\xBD"sv, "\xF0\x90\x80\x80"sv,
        "\xF4\x8F\xBF\xBF"sv, "plain-é-😀"sv}) {
    const ValidText valid = ReplaceInvalidUtf8(text);
    CHECK(valid.text == text);
    CHECK(valid.replaced == 0);
  }
}

TEST_CASE("Each maximal faulty part becomes one replacement character") {
  struct Case {
    std::string_view bytes;
    int faults;
  };
  // The examples of the Unicode Standard, tables 3-8 to 3-11, among others.
  for (const Case& c :
       {Case{"\x80", 1}, Case{"\xFF\xFE", 2}, Case{"\xC0\xAF", 2}, Case{"\xE0\x80\xAF", 3},
        Case{"\xED\xA0\x80", 3}, Case{"\xF4\x91\x92\x93", 4}, Case{"\xF0\x80\x80\xAF", 4},
        Case{"\xE1\x80", 1}, Case{"\xF1\x80\x80", 1}, Case{"\xC2", 1},
        Case{"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF", 4}}) {
    const ValidText valid = ReplaceInvalidUtf8(c.bytes);
    CHECK(valid.text == Repeat(kBad, c.faults));
    CHECK(valid.replaced == static_cast<std::size_t>(c.faults));
  }
}

TEST_CASE("The text around a faulty byte survives") {
  CHECK(ReplaceInvalidUtf8("start\xFF"
                           "end")
            .text == "start" + std::string(kBad) + "end");
  CHECK(ReplaceInvalidUtf8("\xE1\x80"
                           "A")
            .text == std::string(kBad) + "A");
  CHECK(ReplaceInvalidUtf8("\xC3\xC3\xA9").text == std::string(kBad) + "é");
}

TEST_CASE("Terminal control sequences are removed and counted") {
  struct Case {
    std::string_view text;
    std::string_view shown;
  };
  for (const Case& c : {Case{"\x1b[31mred\x1b[0m", "red"}, Case{"\x1b[2J\x1b[1;1Htop", "top"},
                        Case{"\x1b[?25lhidden", "hidden"}, Case{"\x1b[38:2::1:2:3mrgb", "rgb"},
                        Case{"\x1b]0;title\x07text", "text"},
                        Case{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"}}) {
    const PrintableText printable = RemoveTerminalControls(c.text);
    CHECK(printable.text == c.shown);
    CHECK(printable.removed_sequences > 0);
    CHECK(printable.escaped_controls == 0);
  }
}

TEST_CASE("Other control characters are made visible") {
  struct Case {
    std::string_view text;
    std::string_view shown;
  };
  for (const Case& c : {Case{"a\0b"sv, R"(a\x00b)"}, Case{"bell\x07", R"(bell\x07)"},
                        Case{"back\b", R"(back\x08)"}, Case{"\x7f", R"(\x7f)"},
                        Case{"\xC2\x9B"
                             "31m",
                             R"(\x9b31m)"},
                        Case{"\x1b", R"(\x1b)"},
                        Case{"\x1b"
                             "c",
                             R"(\x1bc)"}}) {
    const PrintableText printable = RemoveTerminalControls(c.text);
    CHECK(printable.text == c.shown);
    CHECK(printable.escaped_controls == 1);
  }
}

TEST_CASE("An unfinished sequence hides nothing of what follows") {
  CHECK(RemoveTerminalControls("\x1b[31\nkept").text == "\\x1b[31\nkept");
  CHECK(RemoveTerminalControls("\x1b]0;title\nkept").text == "\\x1b]0;title\nkept");
  CHECK(RemoveTerminalControls("\x1b[").text == "\\x1b[");
}

TEST_CASE("Carriage returns become line ends, so that nothing is overwritten") {
  CHECK(RemoveTerminalControls("one\r\ntwo").text == "one\ntwo");
  CHECK(RemoveTerminalControls("10%\r20%\r").text == "10%\n20%\n");
}

TEST_CASE("Tabs, newlines and letters of any script pass") {
  const PrintableText printable = RemoveTerminalControls("\tindent\nπ שלום 日本 😀 \xC2\xA0");
  CHECK(printable.text == "\tindent\nπ שלום 日本 😀 \xC2\xA0");
  CHECK(printable.removed_sequences + printable.escaped_controls == 0);
}

TEST_CASE("No control character is left whatever the bytes were") {
  std::string bytes;
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x1b, 0x5b, 0x5d, 0x80, 0x9b, 0xc2, 0xff}) {
      bytes.push_back(static_cast<char>(first));
      bytes.push_back(static_cast<char>(second));
    }
  }
  const std::string shown = RemoveTerminalControls(ReplaceInvalidUtf8(bytes).text).text;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<unsigned char>(shown[i]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const bool c1 = byte == 0xC2 && static_cast<unsigned char>(shown[i + 1]) < 0xA0;
    REQUIRE_FALSE((control || c1));
  }
}

TEST_CASE("A character that a cut went through is found at both edges") {
  CHECK(IncompleteSuffix("") == 0);
  CHECK(IncompleteSuffix("ascii") == 0);
  CHECK(IncompleteSuffix("é") == 0);
  CHECK(IncompleteSuffix("x\xC3") == 1);
  CHECK(IncompleteSuffix("x\xE2\x82") == 2);
  CHECK(IncompleteSuffix("x\xF0\x9F\x98") == 3);
  CHECK(IncompleteSuffix("x\x80\x80\x80\x80") == 0);
  CHECK(ContinuationPrefix("") == 0);
  CHECK(ContinuationPrefix("ascii") == 0);
  CHECK(ContinuationPrefix("\xA9x") == 1);
  CHECK(ContinuationPrefix("\x9F\x98\x80x") == 3);
}

}  // namespace
}  // namespace cordon::internal
