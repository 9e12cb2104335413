// The catalogue of command families: for common developer programs, which options are known not to
// start other programs, write files of the caller's choice, or act elsewhere. Data and one check.
//
// Running a family still means running its program, with the project's own configuration: `make`
// and `npm test` run whatever the project says. The sandbox bounds that, not this list.

#ifndef CORDON_GATE_SRC_FAMILIES_H_
#define CORDON_GATE_SRC_FAMILIES_H_

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

struct Family {
  std::string_view name;   // One or two words.
  bool read_only = false;  // Writes nothing but its output, so that it may stand in a pipe.
  std::string_view short_flags = {};     // Letters that may be clustered, as in `-la`.
  std::string_view short_values = {};    // Letters with a value, attached or the next word.
  std::string_view short_attached = {};  // Letters with an optional value, attached: `-j4`, `-j`.
  std::vector<std::string_view> long_flags = {};   // Whole words, e.g. `--stat` or `-race`.
  std::vector<std::string_view> long_values = {};  // `--author`: `--author=X` or `--author X`.
  bool numbers = false;                            // `-20`, as `git log` and `head` take it.
  bool operands = true;
  std::string_view refused_text = {};  // No word may contain it.
  AfterDashes after_dashes = AfterDashes::kOperands;
};

[[nodiscard]] const std::vector<Family>& FamilyCatalogue();

// Null when the catalogue does not know it.
[[nodiscard]] const Family* FindFamily(std::string_view name);

// Whether `words`, a whole simple command, is a use of `name` that the catalogue permits. A family
// that it does not know covers exactly its own words.
[[nodiscard]] bool FamilyCovers(std::string_view name, absl::Span<const std::string> words);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_FAMILIES_H_
