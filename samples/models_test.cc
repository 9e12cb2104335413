// The agent with real models' protocols, spoken by a local stub.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cordon/sdk/digest.h"
#include "cordon/sdk/unique_fd.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

extern char** environ;

namespace cordon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKey = "stub-key-0123456789";
constexpr const char* kProviders[] = {"anthropic", "openai"};

struct Output {
  int exit_code = -1;
  std::string text;
};

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// agent/model_stub.py on a port of its own; it ends with its standard input.
class Stub {
 public:
  Stub() {
    int input[2];
    int output[2];
    REQUIRE(pipe2(input, O_CLOEXEC) == 0);
    REQUIRE(pipe2(output, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    std::string script = CORDON_MODEL_STUB;
    std::string python = "python3";
    std::vector<char*> words = {python.data(), script.data(), nullptr};
    REQUIRE(posix_spawnp(&pid_, "python3", &actions, nullptr, words.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    input_.Reset(input[1]);
    const UniqueFd reader(output[0]);
    std::FILE* stream = fdopen(dup(reader.get()), "r");
    REQUIRE(fscanf(stream, "%d", &port_) == 1);
    std::fclose(stream);
  }
  ~Stub() {
    input_.Reset();
    waitpid(pid_, nullptr, 0);
  }
  Stub(const Stub&) = delete;
  Stub& operator=(const Stub&) = delete;

  [[nodiscard]] std::string Variables() const {
    const std::string url = "http://127.0.0.1:" + std::to_string(port_);
    const std::string key(kKey);
    return "ANTHROPIC_API_KEY=" + key + " ANTHROPIC_BASE_URL=" + url + " OPENAI_API_KEY=" + key +
           " OPENAI_BASE_URL=" + url + "/v1 ";
  }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
  UniqueFd input_;
};

// A folder to work in, and one for the rest.
class Ground {
 public:
  Ground() : root_(fs::canonical(fs::temp_directory_path()) / ("cordon-models-" + RandomId())) {
    for (const char* name : {"work", "tmp", "home"}) fs::create_directories(root_ / name);
  }
  ~Ground() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  [[nodiscard]] fs::path path(std::string_view name) const { return root_ / name; }

  [[nodiscard]] Output Run(const std::string& variables, const std::string& before,
                           const std::string& arguments) const {
    const std::string command =
        "cd '" + path("work").string() + "' && env -u ANTHROPIC_API_KEY -u OPENAI_API_KEY " +
        "-u ANTHROPIC_BASE_URL -u OPENAI_BASE_URL HOME='" + path("home").string() + "' TMPDIR='" +
        path("tmp").string() + "' " + variables + before + CORDON_AGENT + " " + arguments +
        " 2>&1 </dev/null";
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
  [[nodiscard]] Output Work(const Stub& stub, const std::string& provider, const std::string& model,
                            const std::string& more = "") const {
    return Run(stub.Variables(), "",
               "--yes --provider " + provider + " --model " + model + " --transcript '" +
                   path("transcript").string() + "' " + more + " 'Look around.'");
  }

 private:
  const fs::path root_;
};

bool CannotConfine(const Output& output) {
  return output.exit_code == 125 && Has(output.text, "namespaces");
}

TEST_CASE("The demo is played by a model behind either API") {
  const Stub stub;
  for (const std::string provider : kProviders) {
    const Ground ground;
    const Output output =
        ground.Run(stub.Variables(), "", "--demo --model demo --provider " + provider);
    INFO(output.text);
    if (CannotConfine(output)) CORDON_SKIP("userns", output.text);
    CHECK(output.exit_code == 0);
    CHECK(Has(output.text, "a real model, a real project"));
    CHECK(Has(output.text, "model> A word that reaches the end is never counted."));
    CHECK(Has(output.text, "yes  a fresh clone of the commit passes the tests"));
    CHECK(Has(output.text, "yes  tried and failed: read the planted SSH key"));
    CHECK(Has(output.text, "yes  the model's own key is in no result"));
    CHECK(Has(output.text, "The demo came out as it should."));
    CHECK_FALSE(Has(output.text, "NO   "));
    CHECK(fs::is_empty(ground.path("tmp")));
  }
}

// The whole conversation with these models, in both protocols.
void ExpectWholeConversations(const std::vector<std::string>& models, bool with_retries) {
  const Stub stub;
  for (const std::string provider : kProviders) {
    for (const std::string& model : models) {
      const Ground ground;
      const Output output = ground.Work(stub, provider, model);
      INFO(provider << " " << model << "\n" << output.text);
      if (CannotConfine(output)) CORDON_SKIP("userns", output.text);
      CHECK(output.exit_code == 0);
      CHECK(Has(output.text, "(3 commands at once)"));
      CHECK(Has(output.text, "model> I saw: first, second, th\u00eerd."));
      CHECK(Has(output.text, "again in") == with_retries);

      std::ifstream in(ground.path("transcript"));
      std::vector<nlohmann::json> lines;
      for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
      REQUIRE(lines.size() == 6);
      CHECK(lines[0]["text"] == "Look around.");
      CHECK(lines[1]["calls"].size() == 3);
      CHECK(lines[4]["role"] == "tool");
      CHECK(lines[5]["role"] == "assistant");
      CHECK(fs::is_empty(ground.path("tmp")));
    }
  }
}

TEST_CASE("Calls run side by side, however the bytes of the stream come") {
  ExpectWholeConversations({"parallel", "pieces"}, false);
}

TEST_CASE("A stream that breaks off is asked for again, and no half of a turn runs") {
  ExpectWholeConversations({"broken"}, true);
}

TEST_CASE("A server that is busy or overloaded is asked again") {
  ExpectWholeConversations({"busy", "overloaded"}, true);
}

TEST_CASE("The key is in no command's reach, in no transcript and in nothing that is shown") {
  const Stub stub;
  for (const std::string provider : kProviders) {
    const Ground ground;
    const Output output = ground.Work(stub, provider, "curious");
    INFO(output.text);
    if (CannotConfine(output)) CORDON_SKIP("userns", output.text);
    CHECK(output.exit_code == 0);
    std::ifstream in(ground.path("transcript"));
    const std::string transcript(std::istreambuf_iterator<char>(in), {});
    CHECK(Has(transcript, "looked"));
    CHECK(Has(transcript, "PATH="));
    CHECK_FALSE(Has(transcript, kKey));
    CHECK_FALSE(Has(output.text, kKey));
  }
}

TEST_CASE("A refused key ends the agent with the server's words, at once") {
  const Stub stub;
  for (const std::string provider : kProviders) {
    const Ground ground;
    const Output output = ground.Work(stub, provider, "refused");
    INFO(output.text);
    CHECK(output.exit_code == 125);
    if (Has(output.text, "namespaces")) continue;
    CHECK(Has(output.text, "401: invalid x-api-key"));
    CHECK_FALSE(Has(output.text, "again in"));
  }
}

TEST_CASE("Ctrl-C ends a wait for a model") {
  const Stub stub;
  for (const std::string provider : kProviders) {
    const Ground ground;
    const Output output = ground.Run(stub.Variables(), "timeout -s INT 2 ",
                                     "--yes --model silent --provider " + provider + " task");
    INFO(output.text);
    if (CannotConfine(output)) CORDON_SKIP("userns", output.text);
    CHECK(Has(output.text, "cancelled"));
    CHECK(fs::is_empty(ground.path("tmp")));
  }
}

TEST_CASE("Without a person nothing gated runs, and the model is told so") {
  const Stub stub;
  const Ground ground;
  const Output output =
      ground.Run(stub.Variables(), "", "--model parallel --provider openai 'Look around.'");
  INFO(output.text);
  if (CannotConfine(output)) CORDON_SKIP("userns", output.text);
  CHECK(Has(output.text, "refused: no_approver"));
  CHECK(Has(output.text, "model> I saw: nothing, nothing, nothing."));
  CHECK(Has(output.text, ground.path("home").string() + "/.local/state/cordon-agent/"));
}

TEST_CASE("With no model the agent says how to get one") {
  const Ground ground;
  for (const char* arguments : {"'a task'", "--demo --provider anthropic", "--provider openai x"}) {
    const Output output = ground.Run("", "", arguments);
    INFO(output.text);
    CHECK(output.exit_code == 125);
    CHECK(Has(output.text, "ANTHROPIC_API_KEY"));
    CHECK(Has(output.text, "OPENAI_BASE_URL=http://127.0.0.1:11434/v1"));
    CHECK(Has(output.text, "--demo plays a scripted model"));
  }
  CHECK(Has(ground.Run("", "", "--provider other x").text, "it is anthropic or openai"));
  CHECK(Has(ground.Run("OPENAI_API_KEY=k OPENAI_BASE_URL=http://example.invalid/v1 ", "", "x").text,
            "must be https"));
}

}  // namespace
}  // namespace cordon
