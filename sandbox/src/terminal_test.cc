// Commands that have a terminal of their own.

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "cordon/sdk/status.h"
#include "deadline_poll.h"
#include "descriptor_testing.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::kDeadline;
using testing::ReadUntil;
using testing::SandboxFixture;

absl::StatusOr<std::unique_ptr<PreparedProcess>> Prepared(SandboxFixture& fixture,
                                                          const std::string& text,
                                                          TerminalSize size) {
  ProcessOptions options;
  options.terminal = size;
  return fixture.executor()->PrepareProcess(Command::Shell(text, fixture.workspace()), options);
}

std::unique_ptr<Process> OnTerminal(SandboxFixture& fixture, const std::string& text,
                                    TerminalSize size = {}) {
  const auto prepared = Prepared(fixture, text, size);
  INFO(prepared.status().ToString());
  REQUIRE(prepared.ok());
  absl::StatusOr<std::unique_ptr<Process>> process = (*prepared)->Start();
  INFO(process.status().ToString());
  REQUIRE(process.ok());
  return *std::move(process);
}

void Type(const UniqueFd& terminal, const std::string& keys) {
  REQUIRE(write(terminal.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
}

// Until the command's side is closed, which a read tells by EIO.
std::string ReadToTheEnd(const UniqueFd& terminal, int* error) {
  std::string said;
  const SteadyTime deadline = std::chrono::steady_clock::now() + kDeadline;
  while (ReadableUntil(terminal.get(), deadline)) {
    char buffer[4096];
    const ssize_t size = read(terminal.get(), buffer, sizeof buffer);
    *error = errno;
    if (size <= 0) return said;
    said.append(buffer, static_cast<std::size_t>(size));
  }
  return said + "\n(no end)";
}

absl::StatusOr<RunResult> End(Process& process) {
  return process.Wait(std::chrono::steady_clock::now() + kDeadline);
}

}  // namespace

TEST_CASE("a command has a terminal of its own, of the size that was asked for", "[terminal]") {
  const Backend backend = GENERATE(Backend::kNamespaces, Backend::kLandlock);
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  fixture.options.backend = backend;
  const std::unique_ptr<Process> process =
      OnTerminal(fixture, "stty size; test -t 0 && test -t 1 && test -t 2 && echo on; echo err >&2",
                 {40, 132});
  CHECK_FALSE(process->TakeStandardOutput().valid());
  const UniqueFd terminal = process->TakeTerminal();
  REQUIRE(terminal.valid());
  CHECK_FALSE(process->TakeTerminal().valid());
  int error = 0;
  CHECK(ReadToTheEnd(terminal, &error) == "40 132\r\non\r\nerr\r\n");
  CHECK(error == EIO);
  const absl::StatusOr<RunResult> result = End(*process);
  REQUIRE(result.ok());
  CHECK(result->outcome.code == 0);
  CHECK(process->Resize({24, 80}).ok());
}

TEST_CASE("the terminal is the sandbox's, controls the command's session and has a name inside",
          "[terminal]") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const std::unique_ptr<Process> process =
      OnTerminal(fixture, "tty; echo direct >/dev/tty; ls /dev/pts | tr '\\n' ' '");
  const UniqueFd terminal = process->TakeTerminal();
  int error = 0;
  CHECK(ReadToTheEnd(terminal, &error) == "/dev/pts/0\r\ndirect\r\n0 ptmx ");
}

TEST_CASE("keys reach the command: text with its echo, end of input, interrupt", "[terminal]") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const std::unique_ptr<Process> process = OnTerminal(
      fixture,
      "trap 'echo interrupted' INT; echo ready; cat; sh -c 'echo after; exec sleep 100'; read x; "
      "echo got-$x; exit 3");
  const UniqueFd terminal = process->TakeTerminal();
  REQUIRE(ReadUntil(terminal.get(), "ready"));
  Type(terminal, "hello\n");
  CHECK(ReadUntil(terminal.get(), "hello\r\nhello\r\n"));
  Type(terminal, "\x04");
  CHECK(ReadUntil(terminal.get(), "after"));
  Type(terminal, "\x03");
  CHECK(ReadUntil(terminal.get(), "interrupted"));
  Type(terminal, "yes\n");
  CHECK(ReadUntil(terminal.get(), "got-yes"));
  const absl::StatusOr<RunResult> result = End(*process);
  REQUIRE(result.ok());
  CHECK(result->outcome.kind == Outcome::Kind::kExited);
  CHECK(result->outcome.code == 3);
}

TEST_CASE("a new size reaches the command, also before anybody has read", "[terminal]") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const std::unique_ptr<Process> process = OnTerminal(
      fixture, "trap 'stty size; exit' WINCH; stty size; echo ready; while :; do sleep 0.05; done");
  const UniqueFd terminal = process->TakeTerminal();
  REQUIRE(ReadUntil(terminal.get(), "ready"));
  CHECK(process->Resize({50, 100}).ok());
  CHECK(ReadUntil(terminal.get(), "50 100"));
  CHECK(Is(process->Resize({0, 100}), ErrorCode::kInvalidOption));
  CHECK(End(*process).ok());
}

TEST_CASE("a terminal has at least one row and column, and a process without one has no size",
          "[terminal]") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  CHECK(Is(Prepared(fixture, "true", {0, 80}).status(), ErrorCode::kInvalidOption));
  const auto prepared =
      fixture.executor()->PrepareProcess(Command::Shell("true", fixture.workspace()), {});
  REQUIRE(prepared.ok());
  const auto process = (*prepared)->Start();
  REQUIRE(process.ok());
  CHECK_FALSE((*process)->TakeTerminal().valid());
  CHECK(Is((*process)->Resize({24, 80}), ErrorCode::kInvalidOption));
}

TEST_CASE("resizing and closing at the same time harm nobody", "[terminal]") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  for (int i = 0; i < 10; ++i) {
    const std::unique_ptr<Process> process = OnTerminal(fixture, "cat");
    std::thread resizing([&] {
      for (std::uint16_t size = 1; size < 200; ++size) (void)process->Resize({size, size});
    });
    CHECK(process->Close().ok());
    resizing.join();
    CHECK(process->Close().ok());
  }
}

TEST_CASE("what a command with a terminal left behind ends with it", "[terminal]") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const std::unique_ptr<Process> process =
      OnTerminal(fixture, "trap '' HUP; setsid sleep 1000 & sleep 1000 & echo left");
  const UniqueFd terminal = process->TakeTerminal();
  int error = 0;
  CHECK(ReadToTheEnd(terminal, &error) == "left\r\n");
  CHECK(error == EIO);
  CHECK(End(*process).ok());
}

}  // namespace cordon::internal
