// A terminal with a screen, to look at and to type into: a tmux server of its own.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_TMUX_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_TMUX_H_

#include <chrono>
#include <string>
#include <vector>

namespace cordon::test {

class Tmux {
 public:
  // Runs `shell_text` in a window of this size; what it prints stays on the screen after its end.
  Tmux(const std::string& folder, const std::string& shell_text, int columns = 80, int rows = 24);
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;
  ~Tmux();

  [[nodiscard]] static bool IsInstalled();

  // What is on the screen now, one string a row, without trailing blanks.
  [[nodiscard]] std::vector<std::string> Rows() const;
  [[nodiscard]] std::string Screen() const;

  // Waits until `text` is on the screen; false at the deadline.
  [[nodiscard]] bool Shows(const std::string& text,
                           std::chrono::seconds limit = std::chrono::seconds(20)) const;

  // Keys as tmux names them: `y`, `Enter`, `Escape`, `Space`.
  void Press(const std::string& key) const;
  void Type(const std::string& text) const;
  void Resize(int columns, int rows) const;

 private:
  // Runs tmux with these words behind the server's name; returns what it printed.
  std::string Run(const std::vector<std::string>& words) const;

  std::string socket_;
};

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_TMUX_H_
