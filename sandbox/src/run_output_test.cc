// What `Run` says about output: merged streams, spools, and what the command left behind.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "cordon/sdk/status.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::SandboxFixture;
using testing::TemporaryFolder;

struct SpoolFile {
  SpoolFile() : file(open((folder / "spool").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    REQUIRE(file.valid());
  }
  [[nodiscard]] std::string Text() const {
    std::string text(1 << 20, '\0');
    text.resize(static_cast<std::size_t>(pread(file.get(), text.data(), text.size(), 0)));
    return text;
  }
  const TemporaryFolder folder;
  const UniqueFd file;
};

TEST_CASE("merged streams keep the order in which they were written") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const std::string text =
      "i=0; while [ $i -lt 300 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done";
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    expected += "out" + std::to_string(i) + "\nerr" + std::to_string(i) + "\n";
  }
  RunOptions options;
  options.merge_output = true;
  const RunResult merged = fixture.Shell(text, options);
  CHECK(merged.standard_output.head == expected);
  CHECK(merged.standard_error.total_bytes == 0);
  const RunResult apart = fixture.Shell(text);  // The control.
  CHECK(apart.standard_output.total_lines == 300);
  CHECK(apart.standard_error.total_lines == 300);
}

TEST_CASE("the output limit holds for merged streams") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  RunOptions options;
  options.merge_output = true;
  options.max_output_bytes = 10;
  const RunResult result = fixture.Shell("printf 123456; printf 7890abc >&2; sleep 1000", options);
  CHECK(result.outcome.kind == Outcome::Kind::kOutputLimit);
  CHECK(result.standard_output.head == "1234567890");
}

TEST_CASE("a spool has what the result does not keep, up to its cap") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const SpoolFile spool;
  RunOptions options;
  options.head_bytes = 4;
  options.tail_bytes = 4;
  options.spool.standard_output = spool.file.get();
  SECTION("all of one stream") {
    const RunResult result = fixture.Shell("seq 1 1000; echo other >&2", options);
    CHECK(result.standard_output.omitted_bytes > 0);
    CHECK(result.standard_output.spooled_bytes == result.standard_output.total_bytes);
    CHECK(result.standard_error.spooled_bytes == 0);
    CHECK(spool.Text().starts_with("1\n2\n3\n"));
    CHECK(spool.Text().ends_with("\n999\n1000\n"));
    CHECK(spool.Text().size() == result.standard_output.total_bytes);
  }
  SECTION("both streams in one file") {
    options.spool.standard_error = spool.file.get();
    const RunResult result = fixture.Shell("echo out; echo err >&2", options);
    CHECK(spool.Text().size() == 8);
    CHECK(result.standard_output.spooled_bytes + result.standard_error.spooled_bytes == 8);
  }
  SECTION("the first bytes when there are more than the cap, which ends nothing") {
    options.spool.max_bytes = 10;
    const RunResult result = fixture.Shell("printf 1234567; printf 890abc; exit 3", options);
    CHECK(result.outcome.code == 3);
    CHECK(result.standard_output.total_bytes == 13);
    CHECK(result.standard_output.spooled_bytes == 10);
    CHECK(spool.Text() == "1234567890");
  }
}

TEST_CASE("what could block, or cannot be written, is no spool, and nothing is started") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const SpoolFile spool;
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const UniqueFd read_only(open((spool.folder / "spool").c_str(), O_RDONLY | O_CLOEXEC));
  for (const int fd : {writer.get(), read_only.get(), 100000}) {
    RunOptions options;
    options.spool.standard_error = fd;
    const auto result = fixture.executor()->RunCommand(fixture.workspace(), "touch ran", options);
    CHECK(Is(result.status(), ErrorCode::kInvalidOption));
    CHECK_FALSE(testing::Exists(fixture.workspace() + "/ran"));
  }
}

TEST_CASE("a result says when something still ran, or held the pipe, as the command ended") {
  CORDON_NEED_NAMESPACES();
  const auto backend = GENERATE(Backend::kNamespaces, Backend::kLandlock);
  SandboxFixture fixture;
  fixture.options.backend = backend;
  CHECK(fixture.Shell("sleep 1000 & exit 0").left_running);
  CHECK(fixture.Shell("setsid sleep 1000 >/dev/null 2>&1 & exit 3").left_running);
  const RunResult result = fixture.Shell("sleep 0.01 & wait; echo done | cat");
  CHECK_FALSE(result.left_running);  // The control.
  CHECK(result.end_proved);
}

TEST_CASE("output is not cut within a character, also when other bytes of it are invalid") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  RunOptions options;
  options.head_bytes = 8;
  options.tail_bytes = 8;
  // An invalid byte, then characters of three bytes each, which fit neither 8 nor 7.
  const RunResult result = fixture.Shell(
      "printf '\\377'; for i in 1 2 3 4 5 6 7 8 9; do printf '\\342\\202\\254'; done", options);
  CHECK_FALSE(result.standard_output.valid_utf8);
  CHECK(result.standard_output.head == "\xff\xe2\x82\xac\xe2\x82\xac");
  CHECK(result.standard_output.tail == "\xe2\x82\xac\xe2\x82\xac");
  CHECK(result.standard_output.omitted_bytes == 28 - 7 - 6);
}

}  // namespace
}  // namespace cordon::internal
