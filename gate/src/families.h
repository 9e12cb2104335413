// The catalogue of command families: for common developer programs, which options are known not to
// start other programs, write files of the caller's choice, or act elsewhere. Data and one check.
//
// Running a family still means running its program, with the project's own configuration: `make`
// and `npm test` run whatever the project says. The sandbox bounds that, not this list.

#ifndef CORDON_GATE_SRC_FAMILIES_H_
#define CORDON_GATE_SRC_FAMILIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace cordon::internal {

// What may follow `--`.
enum class AfterDashes : std::uint8_t {
  kOperands,  // Words that are no options, whatever they look like.
  kChecked,   // Passed to another program: options are checked like those before it.
  kAnything,  // Passed to a program of the project.
};

inline constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

struct Family {
  std::string_view name;   // One or two words.
  bool read_only = false;  // Writes nothing but its output, so that it may stand in a pipe.
  std::string_view short_flags = {};     // Letters that may be clustered, as in `-la`.
  std::string_view short_values = {};    // Letters with a value, attached or the next word.
  std::string_view short_attached = {};  // Letters with an optional value, attached: `-j4`, `-j`.
  std::string_view short_folders = {};   // Letters with a folder below the current one: `-C sub`.
  std::vector<std::string_view> long_flags = {};    // Whole words, e.g. `--stat` or `-race`.
  std::vector<std::string_view> long_values = {};   // `--author`: `--author=X` or `--author X`.
  std::vector<std::string_view> long_folders = {};  // The same with a folder below: `--build out`.
  bool signed_values = false;                       // A value may be a negative number.
  bool numbers = false;                             // `-20`, as `git log` and `head` take it.
  std::size_t min_operands = 0;
  std::size_t max_operands = kAnyNumber;
  std::string_view refused_text = {};  // No word may contain it.
  AfterDashes after_dashes = AfterDashes::kOperands;
  // Whether the first operand, which is a program of its own (a `sed` script), is harmless.
  bool (*first_operand)(std::string_view) = nullptr;
};

[[nodiscard]] const std::vector<Family>& FamilyCatalogue();

// Null when the catalogue does not know it.
[[nodiscard]] const Family* FindFamily(std::string_view name);

// One word of a simple command as a family sees it.
struct FamilyWord {
  std::string text;
  // It stands for any number of words, none of which can be an option.
  bool is_operands = false;
};

// Whether `words`, a whole simple command, is a use of `name` that the catalogue permits. A family
// that it does not know covers exactly its own words.
[[nodiscard]] bool FamilyCovers(std::string_view name, absl::Span<const FamilyWord> words);

// A path that leads nowhere but below the folder that it starts in, links aside.
[[nodiscard]] bool IsBelow(std::string_view path);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_FAMILIES_H_
