#include "program_path.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {
namespace {

std::optional<std::string> Executable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if ((info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) return std::nullopt;
  const std::unique_ptr<char, decltype(&free)> resolved(realpath(path.c_str(), nullptr), &free);
  if (resolved == nullptr) return std::nullopt;
  return std::string(resolved.get());
}

void AddOnce(std::vector<std::string>& list, std::optional<std::string> item) {
  if (!item.has_value() || std::find(list.begin(), list.end(), *item) != list.end()) return;
  list.push_back(*std::move(item));
}

bool ChangesSearchPath(const SimpleCommand& command) {
  return std::any_of(command.assigned_names.begin(), command.assigned_names.end(),
                     [](const std::string& name) { return name == "PATH" || name.empty(); });
}

// Of the program and of those that run it.
std::vector<std::string> NamesOf(const SimpleCommand& command) {
  std::vector<std::string> names = command.wrappers;
  names.push_back(command.words[0].text);
  return names;
}

bool IsFile(const RuleProgram& program, const std::string& path) {
  if (program.path != path) return false;
  if (program.sha256.empty()) return true;
  const absl::StatusOr<std::string> digest = FileSha256(path);
  return digest.ok() && *digest == program.sha256;
}

}  // namespace

ProgramPath::ProgramPath(std::string_view search_path) {
  while (!search_path.empty()) {
    const std::size_t end = std::min(search_path.find(':'), search_path.size());
    const std::string_view folder = search_path.substr(0, end);
    if (folder.starts_with('/')) AddOnce(folders_, std::string(folder));
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
  }
}

std::vector<std::string> ProgramPath::Candidates(std::string_view name,
                                                 const std::string& directory) const {
  std::vector<std::string> found;
  if (name.empty()) return found;
  if (name.starts_with('/')) {
    AddOnce(found, Executable(std::string(name)));
  } else if (name.find('/') != std::string_view::npos) {
    AddOnce(found, Executable(directory + "/" + std::string(name)));
  } else {
    for (const std::string& folder : folders_) {
      AddOnce(found, Executable(folder + "/" + std::string(name)));
    }
  }
  return found;
}

bool ProgramPath::AreAmong(absl::Span<const SimpleCommand> commands,
                           absl::Span<const RuleProgram> allowed,
                           const std::string& directory) const {
  return std::all_of(commands.begin(), commands.end(), [&](const SimpleCommand& command) {
    if (ChangesSearchPath(command)) return false;
    if (command.words.empty()) return true;
    if (!command.words[0].exact) return false;
    const std::vector<std::string> names = NamesOf(command);
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      const std::vector<std::string> files = Candidates(name, directory);
      return std::all_of(files.begin(), files.end(), [&](const std::string& file) {
        return std::any_of(allowed.begin(), allowed.end(),
                           [&](const RuleProgram& program) { return IsFile(program, file); });
      });
    });
  });
}

std::vector<RuleProgram> ProgramPath::ProgramsOf(const ShellText& text,
                                                 const std::string& directory) const {
  std::vector<std::string> files;
  for (const SimpleCommand& command : text.commands) {
    if (ChangesSearchPath(command)) return {};
    if (command.words.empty()) continue;
    if (!command.words[0].exact) return {};
    for (const std::string& name : NamesOf(command)) {
      std::vector<std::string> found = Candidates(name, directory);
      if (found.size() > 1) return {};  // Which of them it will be cannot be told.
      if (!found.empty()) AddOnce(files, std::move(found.front()));
    }
  }
  std::vector<RuleProgram> programs;
  programs.reserve(files.size());
  for (std::string& file : files) programs.push_back({std::move(file), ""});
  return programs;
}

absl::StatusOr<std::string> FileSha256(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return MakeErrnoError(errno, "cannot open " + EscapeForDisplay(path));
  Sha256Hasher hasher;
  std::array<char, 64 * 1024> buffer;
  while (true) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return MakeErrnoError(errno, "cannot read " + EscapeForDisplay(path));
    if (count == 0) return DigestHex(hasher.Finish());
    hasher.Add({buffer.data(), static_cast<std::size_t>(count)});
  }
}

}  // namespace cordon::internal
