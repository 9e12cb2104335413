// What each kind of step does to the view, as a command sees it.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;
using Kind = ViewOp::Kind;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

SandboxPlan With(std::vector<ViewOp> ops) {
  SandboxPlan plan = SystemPlan();
  plan.view.insert(plan.view.end(), ops.begin(), ops.end());
  return plan;
}

ViewOp Pin(const std::string& target, const std::string& root) {
  ViewOp op = Op(Kind::kPin, target);
  op.source = root;
  return op;
}

// The step at which a plan fails, with its errno.
std::string FailureOf(const SandboxPlan& plan) {
  const Ran ran = Run(plan, "true");
  const SpawnEvent* failure = ran.failure();
  if (failure == nullptr) return "none";
  return std::string(StepName(failure->step)) + " " + std::strerror(failure->error_number) + " " +
         failure->detail;
}

TEST_CASE("the root holds what the plan puts there and cannot be written to") {
  NEEDS_NAMESPACES();
  ViewOp file = Op(Kind::kFile, "/made/deep/file");
  file.data = std::string("text\0more", 9);
  file.mode = 0640;
  ViewOp folder = Op(Kind::kDir, "/made/folder");
  folder.mode = 0700;
  ViewOp link = Op(Kind::kSymlink, "/made/link");
  link.data = "deep/file";
  const Ran ran = Run(With({file, folder, link}),
                      "cd /made && stat -c '%n %a %F' deep deep/file folder && "
                      "readlink link && wc -c <link && "
                      "for f in /new /made/new /made/folder/new /made/deep/file; do "
                      "(echo x >$f) 2>/dev/null && echo WROTE; done; rm -rf /made 2>/dev/null; "
                      "chmod 777 /made/folder 2>/dev/null; stat -c %a folder");
  CHECK(
      ran.output ==
      "deep 755 directory\ndeep/file 640 regular file\nfolder 700 directory\ndeep/file\n9\n700\n");
}

TEST_CASE("a bind is what the host has, writable or not, with set-user-id and devices off") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  Write(folder / "kept", "old");
  ViewOp writable = Bind(folder.path(), false);
  writable.target = "/there/writable";
  ViewOp read_only = Bind(folder.path(), true);
  read_only.target = "/there/read-only";
  const Ran ran = Run(With({writable, read_only}),
                      "cat /there/read-only/kept; echo; "
                      "(echo x >/there/read-only/kept) 2>&1 | grep -o 'Read-only.*'; "
                      "chmod 600 /there/read-only/kept 2>&1 | grep -o 'Read-only.*'; "
                      "echo new >/there/writable/made; "
                      "grep ' /there/' /proc/self/mounts | grep -c 'nosuid,nodev'");
  CHECK(ran.output == "old\nRead-only file system\nRead-only file system\n2\n");
  CHECK(Contents(folder / "kept") == "old");
  CHECK(Contents(folder / "made") == "new\n");
}

TEST_CASE("a bind can be of one file, and of one that nothing can be executed from") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  Write(folder / "tool", "#!/bin/sh\necho ran\n");
  fs::permissions(folder / "tool", fs::perms::all);
  ViewOp can = Bind(folder / "tool", true);
  can.target = "/opt/can";
  ViewOp cannot = can;
  cannot.target = "/opt/cannot";
  cannot.executable = false;
  const Ran ran = Run(With({can, cannot}), "/opt/can; /opt/cannot 2>/dev/null; echo $?; ls /opt");
  CHECK(ran.output == "ran\n126\ncan\ncannot\n");
}

TEST_CASE("a bind is refused when its source is another object than the one that was meant") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  struct stat status;
  REQUIRE(stat(folder.path().c_str(), &status) == 0);
  ViewOp op = Bind(folder.path(), true);
  op.device = status.st_dev;
  op.inode = status.st_ino;
  CHECK(FailureOf(With({op})) == "none");
  op.inode += 1;
  CHECK(FailureOf(With({op})) == "mount view Stale file handle " + folder.path());
}

TEST_CASE("no step follows a symbolic link, at its end or on the way") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  fs::create_directories(folder / "real/below");
  fs::create_directory_symlink("real", folder / "link");
  CHECK(FailureOf(With({Bind(folder / "real/below", true)})) == "none");
  for (const char* name : {"link", "link/below"}) {
    CHECK(FailureOf(With({Bind(folder / name, true)})) ==
          "mount view Too many levels of symbolic links " + (folder / name));
  }
  ViewOp link = Op(Kind::kSymlink, "/way");
  link.data = "/tmp";
  CHECK(FailureOf(With({link, Op(Kind::kTmpfs, "/way")})) != "none");
  CHECK(FailureOf(With({link, Op(Kind::kDir, "/way/in")})) != "none");
  CHECK(FailureOf(With({Op(Kind::kTmpfs, "/../../x")})) != "none");
}

TEST_CASE(
    "of many entries of one folder, too, a link or another object than was meant is refused") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  std::vector<ViewOp> row;
  for (int i = 0; i < 6; ++i) {
    const std::string name = "entry" + std::to_string(i);
    Write(folder / name, name);
    ViewOp op = Bind(folder / name, true);
    op.target = "/row/" + name;
    row.push_back(op);
  }
  const Ran ran = Run(With(row), "cat /row/*");
  CHECK(ran.output == "entry0entry1entry2entry3entry4entry5");
  struct stat status;
  REQUIRE(stat((folder / "entry4").c_str(), &status) == 0);
  row[4].device = status.st_dev;
  row[4].inode = status.st_ino;
  CHECK(FailureOf(With(row)) == "none");
  row[4].inode += 1;
  CHECK(FailureOf(With(row)) == "mount view Stale file handle " + row[4].target);
  row[4].inode = 0;
  row[4].device = 0;
  fs::remove(folder / "entry4");
  fs::create_symlink("entry3", folder / "entry4");
  CHECK(FailureOf(With(row)) == "mount view Too many levels of symbolic links " + row[4].target);
}

TEST_CASE("what is missing fails the plan, unless the step is optional") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  for (ViewOp op : {Bind(folder / "missing", true), Op(Kind::kProtect, "/usr/missing"),
                    Op(Kind::kMask, "/usr/missing"), Pin("/usr/missing", "/usr")}) {
    CHECK(FailureOf(With({op})) == "mount view No such file or directory " + op.target);
    op.optional = true;
    CHECK(FailureOf(With({op})) == "none");
  }
}

TEST_CASE("nothing is made in a folder of the host to mount something there") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  fs::create_directory(folder / "present");
  CHECK(FailureOf(With({Bind(folder.path(), false), Op(Kind::kTmpfs, folder / "present")})) ==
        "none");
  for (const Kind kind : {Kind::kTmpfs, Kind::kDir}) {
    CHECK(FailureOf(With({Bind(folder.path(), false), Op(kind, folder / "new")})) ==
          "mount view No such file or directory " + (folder / "new"));
  }
  CHECK(FailureOf(With({Bind(folder.path(), false), Op(Kind::kFile, folder / "new")})) ==
        "mount view Read-only file system " + (folder / "new"));
  CHECK_FALSE(fs::exists(folder / "new"));
}

TEST_CASE("a tmpfs has the mode and the size that the plan says") {
  NEEDS_NAMESPACES();
  ViewOp op = Op(Kind::kTmpfs, "/small");
  op.mode = 0711;
  op.size_bytes = 1 << 20;
  ViewOp below = Op(Kind::kDir, "/small/below");
  const Ran ran =
      Run(With({op, below}),
          "stat -c %a /small; ls /small; df -k --output=size /small | tail -n 1 | tr -d ' '; "
          "head -c 3000000 /dev/zero >/small/file 2>/dev/null || echo full");
  CHECK(ran.output == "711\nbelow\n1024\nfull\n");
}

TEST_CASE("a protected name can be read but not changed, removed, renamed or replaced") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  fs::create_directories(folder / "hooks");
  Write(folder / "config", "[core]\n");
  const std::string attack = "cd " + folder.path() +
                             " && cat config; (echo x >>config) 2>/dev/null && echo WROTE; "
                             "(echo x >hooks/new) 2>/dev/null && echo MADE; "
                             "rm -f config 2>/dev/null && echo REMOVED; "
                             "mv hooks away 2>/dev/null && echo RENAMED; "
                             "echo y >other && mv other config 2>/dev/null && echo REPLACED; "
                             "rmdir hooks 2>/dev/null && echo RMDIR; echo end";
  SECTION("protected") {
    const Ran ran = Run(With({Bind(folder.path(), false), Op(Kind::kProtect, folder / "hooks"),
                              Op(Kind::kProtect, folder / "config")}),
                        attack);
    CHECK(ran.output == "[core]\nend\n");
    CHECK(Contents(folder / "config") == "[core]\n");
  }
  SECTION("control: each of these works where nothing is protected") {
    const Ran ran = Run(With({Bind(folder.path(), false)}), attack);
    CHECK(ran.output == "[core]\nWROTE\nMADE\nREMOVED\nRENAMED\nREPLACED\nend\n");
  }
}

TEST_CASE("a masked file or folder is empty, closed and stays so") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  fs::create_directory(folder / "secrets");
  Write(folder / "secrets/key", "SECRET");
  Write(folder / "token", "SECRET");
  const std::string attack = "cd " + folder.path() +
                             "; chmod 700 secrets token; cat token secrets/key; ls secrets; "
                             "mv token elsewhere; rm token; echo x >token; echo x >secrets/new; "
                             "cat < token; ls -la . | grep -c token";
  SECTION("masked") {
    const Ran ran =
        Run(With({Bind(folder.path(), false), Op(Kind::kMask, folder / "secrets"),
                  Op(Kind::kMask, folder / "token")}),
            "stat -c %a " + folder.path() + "/secrets " + folder.path() + "/token; " + attack);
    CHECK(ran.output.rfind("0\n0\n", 0) == 0);
    CHECK(ran.output.find("SECRET") == std::string::npos);
    CHECK(Contents(folder / "token") == "SECRET");
    CHECK_FALSE(fs::exists(folder / "secrets/new"));
  }
  SECTION("control: without the masks the same reads it") {
    CHECK(Run(With({Bind(folder.path(), false)}), attack).output.find("SECRETSECRET") !=
          std::string::npos);
  }
}

// rename(2) and link(2) without the copying that mv and ln fall back to.
std::string Rename(const std::string& from, const std::string& to) {
  return "perl -e 'exit(rename(shift, shift) ? 0 : $!+0)' " + from + " " + to +
         "; echo rename $?; ";
}
std::string Link(const std::string& from, const std::string& to) {
  return "perl -e 'exit(link(shift, shift) ? 0 : $!+0)' " + from + " " + to + "; echo link $?; ";
}
std::string Result(const char* what, int error) {
  return std::string(what) + " " + std::to_string(error) + "\n";
}

TEST_CASE("a pinned folder cannot be moved, and is no border for what moves across it") {
  NEEDS_NAMESPACES();
  if (access("/usr/bin/perl", X_OK) != 0) CORDON_SKIP("perl", "rename(2) is called from perl");
  const TemporaryFolder folder;
  fs::create_directories(folder / "a/b/c");
  Write(folder / "a/b/file", "1");
  const std::string go = "cd " + folder.path() + "; ";
  SECTION("pinned: the folder and those above it stay where they are") {
    const SandboxPlan plan =
        With({Bind(folder.path(), false), Pin(folder / "a", folder.path()),
              Pin(folder / "a/b", folder.path()), Pin(folder / "a/b/c", folder.path())});
    const Ran ran =
        Run(plan, go + Rename("a", "z") + Rename("a/b", "z") + Rename("a/b/c", "z") +
                      "rmdir a/b/c 2>&1 | grep -o busy; mkdir new; " + Rename("new", "a/b/c"));
    CHECK(ran.output == Result("rename", EBUSY) + Result("rename", EBUSY) +
                            Result("rename", EBUSY) + "busy\n" + Result("rename", EBUSY));
  }
  SECTION("pinned: files and folders move and are linked across it") {
    const SandboxPlan plan = With({Bind(folder.path(), false), Pin(folder / "a/b", folder.path()),
                                   Pin(folder / "a", folder.path())});
    const Ran ran = Run(plan, go + Link("a/b/file", "linked") + Rename("a/b/file", "moved") +
                                  Rename("moved", "a/b/c/back") + Rename("a/b/c", "c") +
                                  Rename("c", "a/c") + "echo x >a/b/new; ls a/b a/c");
    CHECK(ran.output == Result("link", 0) + Result("rename", 0) + Result("rename", 0) +
                            Result("rename", 0) + Result("rename", 0) +
                            "a/b:\nnew\n\na/c:\nback\n");
  }
  SECTION("pinned: the hidden place shows nothing of the root") {
    const SandboxPlan plan = With({Bind(folder.path(), false), Pin(folder / "a/b", folder.path())});
    const Ran ran = Run(plan,
                        "ls -a /.cordon /.cordon/root0 2>&1 | grep -c file; "
                        "chmod 700 /.cordon 2>/dev/null && echo OPENED; "
                        "find / -path /proc -prune -o -name file -print 2>/dev/null | "
                        "grep -c cordon-test");
    CHECK(ran.output == "0\n1\n");
  }
  SECTION("control: not pinned, it moves") {
    const Ran ran = Run(With({Bind(folder.path(), false)}), go + Rename("a/b", "z"));
    CHECK(ran.output == Result("rename", 0));
  }
  SECTION("control: a mount of its own is a border") {
    const SandboxPlan plan = With({Bind(folder.path(), false), Bind(folder / "a/b", false)});
    const Ran ran = Run(plan, go + Link("a/b/file", "linked") + Rename("a/b/file", "moved"));
    CHECK(ran.output == Result("link", EXDEV) + Result("rename", EXDEV));
  }
}

TEST_CASE("a pin below a mount that came after the first pin finds the right folder") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  const TemporaryFolder other;
  fs::create_directories(folder / "a/mounted/x");
  fs::create_directories(other / "x");
  ViewOp mounted = Bind(other.path(), false);
  mounted.target = folder / "a/mounted";
  const SandboxPlan plan = With({Bind(folder.path(), false), Pin(folder / "a", folder.path()),
                                 mounted, Pin(folder / "a/mounted/x", folder.path())});
  const Ran ran = Run(plan, "mv " + (folder / "a/mounted/x") + " " + (folder / "a/mounted/y") +
                                " 2>&1 | grep -o busy");
  CHECK(ran.output == "busy\n");
}

TEST_CASE("the /dev of the view is small and works") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(
      SystemPlan(),
      "ls /dev | tr '\\n' ' '; echo; echo x >/dev/null && head -c 2 /dev/zero | wc -c; "
      "head -c 3 /dev/urandom | wc -c; (echo x >/dev/full) 2>/dev/null || echo full; "
      "(: </dev/tty) 2>/dev/null || echo no terminal; echo shared >/dev/shm/f && cat /dev/shm/f; "
      "(echo x >/dev/new) 2>/dev/null || echo closed; echo fd | cat /dev/fd/0; "
      "stat -c %a /dev/shm; script -qec tty /dev/null </dev/null | tr -d '\\r'");
  CHECK(ran.output ==
        "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero \n2\n3\nfull\n"
        "no terminal\nshared\nclosed\nfd\n1777\n/dev/pts/0\n");
}

TEST_CASE("nothing below /proc that belongs to the kernel can be opened for writing or changed") {
  NEEDS_NAMESPACES();
  const Ran ran =
      Run(SystemPlan(),
          "find /proc -maxdepth 4 -type f -not -path '/proc/[0-9]*' "
          "-not -path '/proc/self/*' -not -path '/proc/thread-self/*' 2>/dev/null | "
          "while read -r f; do (: >>$f) 2>/dev/null && echo WRITABLE $f; done; "
          "for f in kcore kmsg timer_list kpagecount kpageflags vmallocinfo keys key-users; do "
          "head -c 1 /proc/$f 2>/dev/null | grep -q . && echo READ $f; done; "
          "chmod 400 /proc/uptime 2>/dev/null && echo CHANGED; "
          "echo done; cat /proc/sys/kernel/ostype; grep -c processor /proc/cpuinfo");
  INFO(ran.output);
  CHECK(ran.output.rfind("done\nLinux\n", 0) == 0);
  struct stat status;
  REQUIRE(stat("/proc/uptime", &status) == 0);
  CHECK((status.st_mode & 0777) == 0444);
}

TEST_CASE("the host's device nodes cannot be changed from inside") {
  NEEDS_NAMESPACES();
  struct stat before;
  REQUIRE(stat("/dev/null", &before) == 0);
  const Ran ran = Run(SystemPlan(),
                      "for f in /dev/null /dev/zero; do chmod 600 $f; touch -d 2001-01-01 "
                      "$f; done 2>&1 | grep -vc 'Read-only\\|not permitted'; "
                      "echo x >/dev/null && echo works");
  CHECK(ran.output == "0\nworks\n");
  struct stat after;
  REQUIRE(stat("/dev/null", &after) == 0);
  CHECK(after.st_mode == before.st_mode);
}

TEST_CASE("a socket that the plan names can be connected to, and none beside it is there") {
  NEEDS_NAMESPACES();
  if (access("/usr/bin/perl", X_OK) != 0) CORDON_SKIP("perl", "connect(2) is called from perl");
  const TemporaryFolder folder;
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = folder / "s";
  REQUIRE(path.size() < sizeof(address.sun_path));
  std::strcpy(address.sun_path, path.c_str());
  REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(listen(listener.get(), 4) == 0);
  const std::string connect = "perl -MIO::Socket::UNIX -e 'exit(IO::Socket::UNIX->new(Peer => \"" +
                              path + "\") ? 0 : 1)'; echo $?";
  ViewOp op = Op(Kind::kSocket, path);
  op.source = path;
  CHECK(Run(With({op}), connect).output == "0\n");
  CHECK(Run(SystemPlan(), connect).output == "1\n");
}

TEST_CASE("a plan that is no plan is refused when it is handed over") {
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Op(Kind::kDir, std::string("/a\0b", 4)));
  CHECK_FALSE(Run(plan, "true").status.ok());
  plan = SystemPlan();
  plan.view.push_back(Op(static_cast<Kind>(200), "/x"));
  CHECK(FailureOf(plan) == "mount view Invalid argument /x");
}

}  // namespace
}  // namespace cordon::internal::testing
