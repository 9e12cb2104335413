// The shell lexer: never out of bounds, and what it returns keeps its own rules.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "command_match.h"
#include "shell_words.h"

namespace {

// A text that consists of the exact words of a command, each in single quotes.
std::string Quote(const cordon::internal::SimpleCommand& command) {
  std::string text;
  for (const auto& word : command.words) {
    text += " '";
    for (const char c : word.text) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += "'";
  }
  return text;
}

bool IsExact(const cordon::internal::SimpleCommand& command) {
  for (const auto& word : command.words) {
    if (!word.exact) return false;
  }
  return !command.words.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::internal;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ShellText read = ReadShellText(text);
  if (read.opaque != read.commands.empty()) std::abort();
  if (read.commands.size() != read.joiners.size()) std::abort();
  for (const SimpleCommand& command : read.commands) {
    if (!IsExact(command)) continue;
    const ShellText again = ReadShellText(Quote(command));
    // Quoting moves characters together, which may make the new text encoding-dependent.
    if (again.opaque) continue;
    if (again.commands.size() != 1 || again.commands[0].words.size() != command.words.size()) {
      std::abort();
    }
    for (std::size_t i = 0; i < command.words.size(); ++i) {
      if (again.commands[0].words[i].text != command.words[i].text) std::abort();
    }
  }
  // What a denied family might hide in is never allowed by another family.
  const std::vector<std::string> families = {"git status", "ls", "make"};
  if (CoverWithFamilies(read, families).has_value() &&
      FindFamilyUse(read, "rm").hit == FamilyHit::kYes) {
    std::abort();
  }
  return 0;
}
