// The launcher as a program: small, and dependent on nothing.

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "launcher.h"
#include "launcher_start.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

TEST_CASE("the launcher is a static program without interpreter, libraries or executable stack") {
  const std::string_view image = LauncherProgram();
  REQUIRE(image.size() > sizeof(Elf64_Ehdr));
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  REQUIRE(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  CHECK(header.e_type == ET_EXEC);
  bool has_stack = false;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    CHECK(segment.p_type != PT_INTERP);
    CHECK(segment.p_type != PT_DYNAMIC);
    CHECK(segment.p_type != PT_TLS);
    CHECK((segment.p_flags & (PF_W | PF_X)) != (PF_W | PF_X));
    has_stack = has_stack || segment.p_type == PT_GNU_STACK;
  }
  CHECK(has_stack);
}

TEST_CASE("the launcher is small, on disk and in memory") {
  CHECK(LauncherProgram().size() < 128 * 1024);
  NEEDS_NAMESPACES();
  const std::shared_ptr<Launcher> launcher = StartedLauncherOrFail();
  REQUIRE(Run(*launcher, SystemPlan(), Shell("true")).exit_code() == 0);
  // pid 1 is a copy of the launcher.
  const Ran ran = Run(*launcher, SystemPlan(), Shell("grep VmRSS /proc/1/status"));
  const std::string kilobytes = Field(ran.output, "VmRSS");
  INFO(kilobytes);
  CHECK(std::stoi(kilobytes) < 2048);
}

}  // namespace
}  // namespace cordon::internal::testing
