// Runs the samples as a newcomer does, and looks at what they print.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "cordon/sdk/digest.h"
#include "support/catch.h"

namespace cordon {
namespace {

namespace fs = std::filesystem;

struct Output {
  int exit_code = -1;
  std::string text;
};

// An empty folder that is both the working directory and TMPDIR of what runs.
class Sandbox {
 public:
  Sandbox() : root_(fs::canonical(fs::temp_directory_path()) / ("cordon-samples-" + RandomId())) {
    fs::create_directories(root_ / "work");
    fs::create_directories(root_ / "tmp");
  }
  ~Sandbox() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  [[nodiscard]] fs::path work() const { return root_ / "work"; }
  [[nodiscard]] bool NothingIsLeft() const { return fs::is_empty(root_ / "tmp"); }

  // Standard input is no terminal.
  [[nodiscard]] Output Run(const std::string& program) const {
    const std::string command = "cd '" + work().string() + "' && TMPDIR='" +
                                (root_ / "tmp").string() + "' " + program + " 2>&1 </dev/null";
    Output output;
    std::FILE* pipe = ::popen(command.c_str(), "re");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      output.text.append(buffer.data(), n);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
    return output;
  }

 private:
  const fs::path root_;
};

std::string Sample(const std::string& name) { return std::string(CORDON_SAMPLES_DIR) + "/" + name; }

bool Has(const Output& output, std::string_view text) {
  return output.text.find(text) != std::string::npos;
}

// 125 is the demo's word for a host that cannot confine.
bool CannotConfine(const Output& output) { return output.exit_code == 125; }

TEST_CASE("The minimal program prints what its command wrote and a level") {
  const Sandbox sandbox;
  const Output output = sandbox.Run(Sample("minimal"));
  INFO(output.text);
  CHECK(output.exit_code == 0);
  CHECK(Has(output, "hello\nexit code 0, level "));
  CHECK_FALSE(Has(output, "level none"));
  CHECK(sandbox.NothingIsLeft());
}

TEST_CASE("The wired assistant can look but not write") {
  const Sandbox sandbox;
  const Output output = sandbox.Run(Sample("assistant_wiring"));
  INFO(output.text);
  CHECK(output.exit_code == 0);
  CHECK(Has(output, "exit code: 1"));
  CHECK(Has(output, "cannot touch 'x'"));
  CHECK(fs::is_empty(sandbox.work()));
  CHECK(sandbox.NothingIsLeft());
  // The control: the same command writes where nothing confines it.
  CHECK(sandbox.Run("touch x").exit_code == 0);
  CHECK(fs::exists(sandbox.work() / "x"));
}

TEST_CASE("A callback decides what runs and its words reach the model") {
  const Sandbox sandbox;
  fs::create_directory(sandbox.work() / "src");
  const Output output = sandbox.Run(Sample("approval_callback"));
  INFO(output.text);
  CHECK(output.exit_code == 0);
  CHECK(Has(output, "command.execute: echo built"));
  CHECK(Has(output, "exit code: 0\nstdout:\nbuilt\n"));
  CHECK(Has(output, "please do not remove anything"));
  CHECK(fs::exists(sandbox.work() / "src"));
}

TEST_CASE("The demo fixes the bug, is refused what it must not have, and proves it") {
  const Sandbox sandbox;
  const Output output = sandbox.Run(std::string(CORDON_AGENT) + " --demo");
  INFO(output.text);
  if (CannotConfine(output)) CORDON_SKIP("userns", output.text);
  CHECK(output.exit_code == 0);
  CHECK(Has(output, "possible: read the planted SSH key"));
  CHECK(Has(output, "possible: write outside the workspace"));
  CHECK(Has(output, "possible: fetch from the network"));
  CHECK(Has(output, "FAIL: \"one two three\" has 3 words, but count_words says 2"));
  CHECK(Has(output, "all tests passed"));
  CHECK(Has(output, "no terminal: the demo's default answer is yes"));
  CHECK(Has(output, "yes  a fresh clone of the commit passes the tests"));
  CHECK(Has(output, "yes  tried and failed: read the planted SSH key"));
  CHECK(Has(output, "yes  tried and failed: write outside the workspace"));
  CHECK(Has(output, "yes  tried and failed: fetch from the network"));
  CHECK(Has(output, "What was enforced"));
  CHECK(Has(output, "write_boundary"));
  CHECK_FALSE(Has(output, "NO   "));
  CHECK_FALSE(Has(output, "\x1b"));
  CHECK(Has(output, "The demo came out as it should."));
  CHECK(sandbox.NothingIsLeft());
  CHECK(fs::is_empty(sandbox.work()));
}

TEST_CASE("Without an argument the agent says how it is used") {
  const Sandbox sandbox;
  const Output wrong = sandbox.Run(CORDON_AGENT);
  CHECK(wrong.exit_code == 2);
  CHECK(Has(wrong, "usage: cordon-agent --demo "));
  const Output help = sandbox.Run(std::string(CORDON_AGENT) + " --help");
  CHECK(help.exit_code == 0);
  CHECK(Has(help, "usage: cordon-agent --demo "));
}

}  // namespace
}  // namespace cordon
