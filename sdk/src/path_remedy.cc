#include "cordon/sdk/path_remedy.h"

namespace cordon {
namespace {

std::string_view FolderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

}  // namespace

std::string PathRemedy(Axis axis, const PathDecision& decision, std::string_view path,
                       bool exists) {
  const bool is_read = decision.origin == "deny_read";
  if ((is_read || decision.origin == "deny_write") && IsGlob(decision.rule)) {
    return (is_read ? "without --deny-read " : "without --deny-write ") +
           ShellQuoted(decision.rule);
  }
  return (axis == Axis::kWrite ? "--write " : "--read ") +
         ShellQuoted(exists ? path : FolderOf(path));
}

std::string ShellQuoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace cordon
