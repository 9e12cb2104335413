#include "cordon/sdk/path_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include "cordon/sdk/status.h"
#include "link_resolver.h"
#include "scratch_folder.h"
#include "support/catch.h"

namespace cordon {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using namespace std::string_literals;

PathIdentity IdentityAt(const std::string& path) {
  absl::StatusOr<AcquiredPath> acquired = AcquirePath(path);
  INFO(path);
  REQUIRE(acquired.ok());
  CHECK(acquired->fd.valid());
  return acquired->identity;
}

std::string Resolved(const std::string& path) {
  const absl::StatusOr<std::string> resolved = ResolveSymlinks(path);
  INFO(path);
  REQUIRE(resolved.ok());
  return *resolved;
}

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST_CASE("a descriptor is closed once by its only owner") {
  const int raw = open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(raw >= 0);
  {
    UniqueFd first(raw);
    UniqueFd second(std::move(first));
    CHECK(second.get() == raw);
    CHECK(IsOpen(raw));
    UniqueFd third;
    CHECK_FALSE(third.valid());
    third = std::move(second);
    CHECK(third.get() == raw);
    CHECK(IsOpen(raw));
  }
  CHECK_FALSE(IsOpen(raw));
}

TEST_CASE("a released descriptor stays open, a replaced one does not") {
  UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int raw = fd.Release();
  CHECK_FALSE(fd.valid());
  CHECK(IsOpen(raw));
  fd.Reset(raw);
  fd.Reset(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  CHECK((!IsOpen(raw) || fd.get() == raw));
  CHECK(fd.valid());
}

TEST_CASE("an identity names the object and the descriptor is that object") {
  const ScratchFolder scratch;
  const std::string file = scratch.MakeFile("file");
  const absl::StatusOr<AcquiredPath> acquired = AcquirePath(file);
  REQUIRE(acquired.ok());
  struct stat facts {};
  REQUIRE(fstat(acquired->fd.get(), &facts) == 0);
  CHECK(acquired->identity.device == facts.st_dev);
  CHECK(acquired->identity.inode == facts.st_ino);
  CHECK(acquired->identity.type == S_IFREG);
  CHECK(acquired->identity.missing_suffix.empty());
  CHECK((fcntl(acquired->fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(IdentityAt(file) == acquired->identity);
  CHECK(IdentityAt(scratch.path()).type == S_IFDIR);
  CHECK(IdentityAt("/").type == S_IFDIR);
}

TEST_CASE("acquiring a path opens nothing for reading or writing") {
  const ScratchFolder scratch;
  const absl::StatusOr<AcquiredPath> acquired = AcquirePath(scratch.MakeFile("file", "secret"));
  REQUIRE(acquired.ok());
  char byte = 0;
  CHECK(read(acquired->fd.get(), &byte, 1) < 0);
  CHECK(errno == EBADF);
}

TEST_CASE("changing what is in a file does not change what it is") {
  const ScratchFolder scratch;
  const std::string file = scratch.MakeFile("file", "one");
  const PathIdentity before = IdentityAt(file);
  scratch.MakeFile("file", "two, longer");
  CHECK(IdentityAt(file) == before);
}

TEST_CASE("a file that another one replaced is another object") {
  const ScratchFolder scratch;
  const std::string file = scratch.MakeFile("file");
  const PathIdentity before = IdentityAt(file);
  fs::rename(scratch.MakeFile("other"), file);
  CHECK(IdentityAt(file) != before);
}

TEST_CASE("a file that was removed and made again is another object, also in the same inode") {
  const ScratchFolder scratch;
  const std::string file = scratch.MakeFile("file");
  const PathIdentity before = IdentityAt(file);
  if (before.birth_ns == 0) CORDON_SKIP("birth-time", "this file system records no birth times");
  // Birth times have the grain of a clock tick: let one pass, and not more than it takes.
  bool has_changed = false;
  for (int i = 0; i < 100000 && !has_changed; ++i) {
    fs::remove(file);
    scratch.MakeFile("file");
    has_changed = IdentityAt(file) != before;
  }
  CHECK(has_changed);
}

TEST_CASE("a file and a folder of one name are different objects") {
  const ScratchFolder scratch;
  const std::string path = scratch.MakeFile("name");
  const PathIdentity file = IdentityAt(path);
  fs::remove(path);
  scratch.MakeFolder("name");
  CHECK(IdentityAt(path) != file);
}

TEST_CASE("for a missing path the deepest existing ancestor stands, with the rest") {
  const ScratchFolder scratch;
  const PathIdentity folder = IdentityAt(scratch.path());
  const PathIdentity missing = IdentityAt(scratch / "a/b/c");
  CHECK(missing.missing_suffix == "a/b/c");
  CHECK(missing.inode == folder.inode);
  CHECK(missing.device == folder.device);
  CHECK(missing.type == S_IFDIR);
  CHECK(missing != folder);
  CHECK(missing != IdentityAt(scratch / "a/b"));
}

TEST_CASE("a missing path that appears, in part or whole, is another object") {
  const ScratchFolder scratch;
  const PathIdentity missing = IdentityAt(scratch / "a/b");
  scratch.MakeFolder("a");
  const PathIdentity partly = IdentityAt(scratch / "a/b");
  CHECK(partly != missing);
  CHECK(partly.missing_suffix == "b");
  scratch.MakeFile("a/b");
  const PathIdentity whole = IdentityAt(scratch / "a/b");
  CHECK(whole != partly);
  CHECK(whole.missing_suffix.empty());
}

TEST_CASE("below a file everything is missing") {
  const ScratchFolder scratch;
  const PathIdentity file = IdentityAt(scratch.MakeFile("file"));
  const PathIdentity below = IdentityAt(scratch / "file/x");
  CHECK(below.inode == file.inode);
  CHECK(below.type == S_IFREG);
  CHECK(below.missing_suffix == "x");
}

TEST_CASE("a symbolic link at the path is refused, its target is not") {
  const ScratchFolder scratch;
  const std::string file = scratch.MakeFile("file");
  const std::string link = scratch.MakeLink("link", "file");
  CHECK(AcquirePath(file).ok());
  CHECK(Is(AcquirePath(link).status(), ErrorCode::kPathEscape));
  CHECK(AcquirePath(Resolved(link)).ok());
}

TEST_CASE("a dangling link is refused, not taken for a missing path") {
  const ScratchFolder scratch;
  const std::string link = scratch.MakeLink("link", "nowhere");
  CHECK(Is(AcquirePath(link).status(), ErrorCode::kPathEscape));
  CHECK(Is(AcquirePath(link + "/below").status(), ErrorCode::kPathEscape));
}

TEST_CASE("an ancestor that was swapped for a link is refused, also above a missing path") {
  const ScratchFolder scratch;
  scratch.MakeFolder("folder");
  scratch.MakeFolder("elsewhere");
  scratch.MakeFile("folder/file");
  scratch.MakeFile("elsewhere/file");
  CHECK(AcquirePath(scratch / "folder/file").ok());
  CHECK(AcquirePath(scratch / "folder/missing").ok());
  fs::rename(scratch / "folder", scratch / "moved");
  scratch.MakeLink("folder", "elsewhere");
  CHECK(Is(AcquirePath(scratch / "folder/file").status(), ErrorCode::kPathEscape));
  CHECK(Is(AcquirePath(scratch / "folder/missing").status(), ErrorCode::kPathEscape));
}

TEST_CASE("magic links are refused") {
  CHECK(Is(AcquirePath("/proc/self/root").status(), ErrorCode::kPathEscape));
  CHECK(Is(AcquirePath("/proc/self/cwd").status(), ErrorCode::kPathEscape));
}

TEST_CASE("only absolute, normal paths are acquired") {
  for (const std::string& path : {""s, "a"s, "./a"s, "/a/"s, "/a/../b"s, "//a"s, "/a\0b"s}) {
    CAPTURE(path);
    CHECK(Is(AcquirePath(path).status(), ErrorCode::kInvalidScope));
  }
}

TEST_CASE("failures and successes leave no descriptor behind") {
  const ScratchFolder scratch;
  scratch.MakeLink("link", "x");
  const auto count = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = count();
  (void)AcquirePath(scratch / "a/b");
  (void)AcquirePath(scratch / "link");
  (void)AcquirePath(scratch.path());
  CHECK(count() == before);
}

TEST_CASE("symbolic links are resolved wherever they are in a path") {
  const ScratchFolder scratch;
  scratch.MakeFolder("real/sub");
  scratch.MakeFile("real/file");
  scratch.MakeLink("link", "real");
  scratch.MakeLink("absolute", scratch / "real");
  scratch.MakeLink("real/up", "../real/sub");
  CHECK(Resolved(scratch / "link/file") == scratch / "real/file");
  CHECK(Resolved(scratch / "absolute/file") == scratch / "real/file");
  CHECK(Resolved(scratch / "link/up") == scratch / "real/sub");
  CHECK(Resolved(scratch / "real/file") == scratch / "real/file");
  CHECK(Resolved("/") == "/");
  CHECK(Resolved("/..") == "/");
}

TEST_CASE("`..` leads out of the folder that a link leads to, as it does for the kernel") {
  const ScratchFolder scratch;
  scratch.MakeFolder("real/sub");
  scratch.MakeLink("link", "real/sub");
  CHECK(Resolved(scratch / "link/..") == scratch / "real");
  CHECK(Resolved(scratch / "link/../../link/.") == scratch / "real/sub");
  CHECK(Resolved(scratch / ".//real///sub/") == scratch / "real/sub");
}

TEST_CASE("one resolver finds for many paths what each would be alone") {
  const ScratchFolder scratch;
  fs::create_directories(scratch / "folder/below");
  fs::create_directory_symlink("folder", scratch / "link");
  fs::create_directory_symlink("../link/below", scratch / "folder/back");
  internal::LinkResolver resolver;
  for (const char* path :
       {"folder/below/a", "folder/b", "link/b", "folder/back/c", "link/below/../back", "missing/a",
        "missing/b", "link/below", "folder/back", "link"}) {
    const auto resolved = resolver.Resolve(scratch / path);
    REQUIRE(resolved.ok());
    CHECK(*resolved == Resolved(scratch / path));
  }
}

TEST_CASE("what does not exist is kept behind what does") {
  const ScratchFolder scratch;
  scratch.MakeFolder("real");
  scratch.MakeFile("file");
  scratch.MakeLink("link", "real");
  scratch.MakeLink("dangling", "real/not/yet");
  CHECK(Resolved(scratch / "link/a/b") == scratch / "real/a/b");
  CHECK(Resolved(scratch / "dangling/x") == scratch / "real/not/yet/x");
  CHECK(Resolved(scratch / "file/x") == scratch / "file/x");
  CHECK(Resolved(scratch / "missing/../link/x") == scratch / "real/x");
}

TEST_CASE("links that lead in circles are refused, a long chain is not") {
  const ScratchFolder scratch;
  scratch.MakeLink("a", "b");
  scratch.MakeLink("b", "a");
  CHECK(Is(ResolveSymlinks(scratch / "a").status(), ErrorCode::kInvalidScope));
  scratch.MakeFile("link0");
  for (int i = 1; i <= 41; ++i) {
    scratch.MakeLink("link" + std::to_string(i), "link" + std::to_string(i - 1));
  }
  CHECK(Resolved(scratch / "link40") == scratch / "link0");
  CHECK(Is(ResolveSymlinks(scratch / "link41").status(), ErrorCode::kInvalidScope));
}

TEST_CASE("a relative path has no resolution") {
  for (const std::string& path : {""s, "a"s, "../a"s, "/a\0b"s}) {
    CAPTURE(path);
    CHECK(Is(ResolveSymlinks(path).status(), ErrorCode::kInvalidScope));
  }
}

TEST_CASE("resolving agrees with realpath(3) on what exists") {
  for (const char* path : {"/bin/sh", "/proc/self/exe", "/usr/../usr/bin/env", "/etc/mtab"}) {
    std::error_code fault;
    const fs::path canonical = fs::canonical(path, fault);
    if (fault) continue;
    CHECK(Resolved(path) == canonical.string());
  }
}

}  // namespace
}  // namespace cordon
