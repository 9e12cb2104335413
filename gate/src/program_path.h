// Which file a program's name stands for. Looks at the file system, runs nothing.

#ifndef CORDON_GATE_SRC_PROGRAM_PATH_H_
#define CORDON_GATE_SRC_PROGRAM_PATH_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/gate/rules.h"
#include "shell_words.h"

namespace cordon::internal {

// Where programs are looked for besides PATH; as the sandbox does.
inline constexpr std::string_view kStandardProgramPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

class ProgramPath {
 public:
  // Folders separated by `:`; those that are not absolute are left out.
  explicit ProgramPath(std::string_view search_path);

  // Every file that `name` may stand for, with symbolic links resolved, none twice: all matches in
  // the search path, not only the first, since a sandbox may hide a folder of it. A name with a
  // slash is relative to `directory`.
  [[nodiscard]] std::vector<std::string> Candidates(std::string_view name,
                                                    const std::string& directory) const;

  // Whether the program of each of `commands`, which start in `directory`, and the wrappers around
  // it can only be among `allowed`. What is no file at all (a shell's builtin, a program that is
  // not there) passes; a program that is only known when it runs, or whose search path the text
  // changes, does not.
  [[nodiscard]] bool AreAmong(absl::Span<const SimpleCommand> commands,
                              absl::Span<const RuleProgram> allowed,
                              const std::string& directory) const;

  // The files behind the programs of `text`; none when they cannot be told.
  [[nodiscard]] std::vector<RuleProgram> ProgramsOf(const ShellText& text,
                                                    const std::string& directory) const;

 private:
  std::vector<std::string> folders_;
};

// SHA-256 of a regular file's content, in hexadecimal. Returns kNotFound or kInternal.
[[nodiscard]] absl::StatusOr<std::string> FileSha256(const std::string& path);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_PROGRAM_PATH_H_
