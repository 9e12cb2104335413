#include "integration/support/tmux.h"

#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (std::size_t count = fread(buffer, 1, sizeof buffer, pipe); count > 0;
       count = fread(buffer, 1, sizeof buffer, pipe)) {
    output.append(buffer, count);
  }
  pclose(pipe);
  return output;
}

}  // namespace

Tmux::Tmux(const std::string& folder, const std::string& shell_text, int columns, int rows)
    : socket_(folder + "/tmux.socket") {
  // The window stays when the command has ended, so that its last words can be read.
  Run({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns), "-y",
       std::to_string(rows), shell_text + "; printf 'ended with %s\\n' \"$?\"; exec cat"});
  Run({"set-option", "-g", "status", "off"});
  Run({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
}

Tmux::~Tmux() {
  Run({"kill-server"});
  unlink(socket_.c_str());
}

bool Tmux::IsInstalled() { return !OutputOf("command -v tmux").empty(); }

std::string Tmux::Run(const std::vector<std::string>& words) const {
  // Not the user's own shell, which may be one that lets nobody in.
  std::string command = "SHELL=/bin/sh tmux -u -S " + Quoted(socket_);
  for (const std::string& word : words) command += " " + Quoted(word);
  return OutputOf(command + " 2>/dev/null");
}

std::string Tmux::Screen() const { return Run({"capture-pane", "-p"}); }

std::vector<std::string> Tmux::Rows() const {
  std::vector<std::string> rows;
  std::istringstream screen(Screen());
  for (std::string row; std::getline(screen, row);) rows.push_back(row);
  return rows;
}

bool Tmux::Shows(const std::string& text, std::chrono::seconds limit) const {
  return Within(limit, [&] { return Screen().find(text) != std::string::npos; });
}

void Tmux::Press(const std::string& key) const { Run({"send-keys", key}); }

void Tmux::Type(const std::string& text) const { Run({"send-keys", "-l", text}); }

void Tmux::Resize(int columns, int rows) const {
  Run({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
}

}  // namespace cordon::test
