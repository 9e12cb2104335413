// How rules for commands meet a command: what it surely runs, and what it might hide. Pure.

#ifndef CORDON_GATE_SRC_COMMAND_MATCH_H_
#define CORDON_GATE_SRC_COMMAND_MATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "cordon/sdk/command.h"
#include "shell_words.h"

namespace cordon::internal {

// The simple commands of `command`: for the argv form one, of exact words.
[[nodiscard]] ShellText ReadCommand(const Command& command);

// Whether rules understand what runs the text: another shell may read the same text differently.
[[nodiscard]] bool HasKnownShell(const Command& command);

enum class FamilyHit : std::uint8_t {
  kNo,
  kMight,  // It is opaque, or runs a program that runs others and cannot be looked through
           // (wrappers.h), or hides its words.
  kYes,    // One of its simple commands is of the family, by name or by path.
};

struct FamilyFinding {
  FamilyHit hit = FamilyHit::kNo;
  std::string reason;  // For kMight: what cannot be seen through.
};

// Whether `text` runs the family, for a rule that denies it.
[[nodiscard]] FamilyFinding FindFamilyUse(const ShellText& text, std::string_view family);

// Whether allowing `families` covers everything that `written` does: each simple command is a
// permitted use of one of them, or a `cd` to a folder below; they are joined by `&&`, `||`, `;` and
// newlines, or piped when both ends are read-only families of the catalogue; only harmless
// variables are assigned; wrappers are looked through (wrappers.h), and what `xargs` reads is given
// only to families that it can do no harm to; nothing is redirected but to /dev/null or another
// descriptor, and for read-only families from a file. Returns the families that it took. `holds`
// may say that a family does not hold for a command after all.
using FamilyHolds = std::function<bool(std::size_t family, const SimpleCommand& command)>;
[[nodiscard]] std::optional<std::vector<std::size_t>> CoverWithFamilies(
    const ShellText& written, absl::Span<const std::string> families,
    const FamilyHolds& holds = {});

// The folders, relative to the first, in which commands of `written` may run after `cd` to a folder
// below; nothing when there are too many to tell.
[[nodiscard]] std::optional<std::vector<std::string>> FoldersEntered(const ShellText& written);

// Whether `program` runs other programs that its arguments or input name.
[[nodiscard]] bool RunsOthers(std::string_view program);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_COMMAND_MATCH_H_
