#include "terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"

namespace cordon::agent {
namespace {

std::string_view ColorCode(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kBold:
      return "\x1b[1m";
    case Tone::kDim:
      return "\x1b[2m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kAsk:
      return "\x1b[33m";
  }
  return "";
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool Succeeded(const ToolCallOutcome& outcome) {
  return outcome.status.ok() && outcome.result.text.starts_with("exit code: 0\n");
}

// Characters, not bytes: continuation bytes of UTF-8 take no place.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

bool WantsColor(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
         std::string_view(term) != "dumb";
}

std::string CommandOf(const ToolCall& call) {
  const auto arguments = nlohmann::json::parse(call.arguments_json, nullptr, false);
  if (!arguments.is_object() || !arguments.contains("command") ||
      !arguments["command"].is_string()) {
    return EscapeForDisplay(call.arguments_json);
  }
  return EscapeForDisplay(arguments["command"].get<std::string>(), true);
}

std::string Shorten(std::string_view text, std::size_t width) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (Width(line) <= width && line.size() == text.size()) return std::string(line);
  std::string shortened;
  for (const char c : line) {
    const bool starts_character = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (starts_character && Width(shortened) + 3 >= width) break;
    shortened += c;
  }
  return shortened + "...";
}

std::string EndOf(const ToolCallOutcome& outcome) {
  if (outcome.status.ok()) {
    return outcome.result.text.substr(0, outcome.result.text.find('\n'));
  }
  const std::optional<Error> error = ErrorOf(outcome.status);
  return "refused: " + std::string(ErrorCodeName(error.value_or(Error{}).code));
}

std::string Terminal::Paint(std::string_view text, Tone tone) const {
  if (!color_ || tone == Tone::kPlain) return std::string(text);
  return absl::StrFormat("%s%s\x1b[0m", ColorCode(tone), text);
}

void Terminal::Heading(std::string_view text) {
  out_ << '\n' << Paint(absl::StrFormat("== %s", text), Tone::kBold) << '\n';
  out_.flush();
}

void Terminal::Line(std::string_view text, Tone tone) {
  out_ << "  " << Paint(text, tone) << '\n';
  out_.flush();
}

void Terminal::Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - Width(row[i]) + 2, ' ');
    }
    Line(line);
  }
}

void Terminal::OnText(std::string_view text) {
  out_ << '\n';
  for (const std::string& line : Lines(EscapeForDisplay(text, true))) {
    out_ << Paint("model> ", Tone::kBold) << line << '\n';
  }
  out_.flush();
}

void Terminal::OnCalls(const std::vector<ToolCall>& calls) {
  if (calls.size() > 1) Line(absl::StrFormat("(%d commands at once)", calls.size()), Tone::kDim);
}

void Terminal::OnOutcome(const ToolCall& call, const ToolCallOutcome& outcome) {
  std::string prompt = "$ ";
  for (const std::string& line : Lines(CommandOf(call))) {
    Line(prompt + line, Tone::kBold);
    prompt = "> ";
  }
  Line("  " + EndOf(outcome), Succeeded(outcome) ? Tone::kGood : Tone::kBad);
  const std::vector<std::string> lines = Lines(outcome.result.text);
  const std::size_t first = outcome.status.ok() ? 1 : 0;
  for (std::size_t i = first; i < lines.size() && i < first + kShownLines; ++i) {
    Line("  | " + lines[i], Tone::kDim);
  }
  if (lines.size() > first + kShownLines) {
    Line(absl::StrFormat("  | (%d more lines)", lines.size() - first - kShownLines), Tone::kDim);
  }
}

}  // namespace cordon::agent
