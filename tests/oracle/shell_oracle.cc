#include "shell_oracle.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "temporary_folder.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = "end of the record";

// Runs each text in its own folder. A record is the words and `kEnd`, each ended by NUL, in one
// write, so that the processes of a pipe do not mix theirs.
constexpr std::string_view kScript = R"(PATH=/nonexistent
record() { printf '%s\0' "$@" "$END" >>"$RECORDS"; return $STATUS; }
a() { record a "$@"; }
b() { record b "$@"; }
c() { record c "$@"; }
command_not_found_handle() { record "$@"; }
[ -n "${BASH_VERSION:-}" ] || eval 'time() { [ "$1" != -p ] || shift; "$@"; }'
number=0
while [ "$number" -lt "$COUNT" ]; do
  RECORDS=$ROOT/$number.records
  text=
  while IFS= read -r line || [ -n "$line" ]; do text=$text$line$NEWLINE; done <"$ROOT/$number.text"
  ( cd "$ROOT/$number.folder" && eval "${text%"$NEWLINE"}"; wait ) </dev/null >/dev/null 2>&1
  number=$((number + 1))
done
)";

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<ShellWords> ParseRecords(std::string_view bytes) {
  std::vector<ShellWords> commands(1);
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    const std::string_view word = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (word == kEnd) {
      commands.emplace_back();
    } else {
      commands.back().emplace_back(word);
    }
  }
  commands.pop_back();
  return commands;
}

bool Run(const OracleShell& shell, const std::vector<std::string>& environment,
         const std::string& script) {
  std::vector<std::string> words = {shell.program};
  words.insert(words.end(), shell.arguments.begin(), shell.arguments.end());
  words.push_back(script);
  const auto pointers = [](const std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (const std::string& string : strings) list.push_back(const_cast<char*>(string.c_str()));
    list.push_back(nullptr);
    return list;
  };
  pid_t child = 0;
  if (posix_spawn(&child, shell.program.c_str(), nullptr, nullptr, pointers(words).data(),
                  pointers(environment).data()) != 0) {
    return false;
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::vector<ShellAnswer> AskShell(const OracleShell& shell, const std::vector<std::string>& texts,
                                  int status) {
  const internal::TemporaryFolder root;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string name = std::to_string(i);
    root.Write(name + ".text", texts[i]);
    fs::create_directory(root.Path(name + ".folder"));
    for (const char* file : {"a", "b", "c"}) root.Write(name + ".folder/" + file, "");
  }
  root.Write("script", kScript);
  const std::vector<std::string> environment = {
      "ROOT=" + root.Path(),      "COUNT=" + std::to_string(texts.size()),
      "LC_ALL=C.UTF-8",           "NEWLINE=\n",
      "END=" + std::string(kEnd), "STATUS=" + std::to_string(status),
      "PATH=/nonexistent"};
  if (!Run(shell, environment, root.Path("script"))) return {};
  std::vector<ShellAnswer> answers;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string name = std::to_string(i);
    ShellAnswer answer;
    answer.commands = ParseRecords(Read(root.Path(name + ".records")));
    for (const auto& entry : fs::directory_iterator(root.Path(name + ".folder"))) {
      const std::string file = entry.path().filename().string();
      if (file != "a" && file != "b" && file != "c") answer.made.insert(file);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace cordon::test
