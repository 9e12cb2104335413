#include "name_mediator.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "descriptor_testing.h"
#include "landlock_testing.h"
#include "plain_paths.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::Exists;
using testing::kChangingText;
using testing::OnHostFixture;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

// A workspace whose top has something narrower below it, so that Landlock lets nothing be made in
// it.
struct Repository : OnHostFixture {
  Repository() {
    for (const char* file : {".git/HEAD", ".git/config", ".git/hooks/sample", "src/main"}) {
      const fs::path path = fs::path(workspace()) / file;
      fs::create_directories(path.parent_path());
      std::ofstream(path) << "text\n";
    }
  }
  [[nodiscard]] std::string at(const std::string& path) const { return workspace() + "/" + path; }
  [[nodiscard]] std::string Read(const std::string& path) const {
    std::ifstream file(at(path));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What is protected is as it was.
  void CheckUnharmed() const {
    CHECK(Read(".git/config") == "text\n");
    CHECK(Read(".git/hooks/sample") == "text\n");
    CHECK(std::distance(fs::directory_iterator(at(".git/hooks")), {}) == 1);
    CHECK_FALSE(Exists(at(".git/commondir")));
    CHECK_FALSE(Exists(at(".envrc")));
  }
};

// `tried(f, *a)`: the errno's name, or "done".
constexpr char kTried[] =
    "import errno, os\n"
    "def tried(f, *a, **k):\n"
    "  try: r = f(*a, **k)\n"
    "  except OSError as e: return errno.errorcode[e.errno]\n"
    "  if f is os.open: os.close(r)\n"
    "  return 'done'\n"
    "NEW = os.O_WRONLY | os.O_CREAT\n";

TEST_CASE("a path ends in a name when nothing else follows it") {
  CHECK(EndsInName("/a/b"));
  CHECK(EndsInName("b"));
  for (const char* path : {"", "/", "/a/", "/a/.", "/a/..", "..", "."})
    CHECK_FALSE(EndsInName(path));
}

TEST_CASE("names are made, moved and removed where something narrower is below the folder") {
  NEED_ON_HOST();
  const DescriptorGuard guard;
  Repository repository;
  CHECK(repository.Python(
            std::string(kTried) +
            "os.umask(0o027)\n"
            "open('file', 'w').write('one')\n"
            "os.mkdir('folder', 0o777); open('folder/in', 'w').write('in')\n"
            "print(oct(os.stat('file').st_mode), oct(os.stat('folder').st_mode))\n"
            "open('file', 'a').write(' two'); print(open('file').read())\n"
            "os.rename('file', 'moved'); os.replace('moved', 'src/moved')\n"
            "os.rename('src/moved', 'folder/moved'); print(os.listdir('folder') != [])\n"
            "os.symlink('folder/in', 'link'); print(open('link').read())\n"
            "open('link', 'w').write('through'); print(open('folder/in').read())\n"
            "os.link('folder/in', 'other'); open('other', 'a').write('!')\n"
            "print(open('folder/in').read(), os.stat('other').st_nlink)\n"
            "open('.git/index.lock', 'x').close(); os.rename('.git/index.lock', '.git/index')\n"
            "d = os.open('.', os.O_PATH); os.mkdir('deep', dir_fd=d)\n"
            "os.close(os.open('deep/er', NEW, 0o600, dir_fd=d)); os.unlink('deep/er', dir_fd=d)\n"
            "os.rmdir('deep', dir_fd=d)\n"
            "import shutil; shutil.rmtree('folder'); os.mkdir('folder'); os.mkdir('folder/x')\n"
            "os.unlink('link'); os.unlink('other')\n"
            "print(sorted(os.listdir('.')))\n") ==
        "0o100640 0o40750\none two\nTrue\nin\nthrough\nthrough! 2\n['.git', 'folder', 'src']");
  repository.CheckUnharmed();
}

TEST_CASE("calls that are made for a command fail as the kernel's do") {
  NEED_ON_HOST();
  Repository repository;
  CHECK(repository.Python(
            std::string(kTried) +
            "open('a', 'w').close(); os.mkdir('d'); open('d/x', 'w').close()\n"
            "print(tried(os.open, 'a', NEW | os.O_EXCL), tried(os.mkdir, 'a'), "
            "tried(os.symlink, 'x', 'a'))\n"
            "print(tried(os.open, 'none', os.O_WRONLY), tried(os.unlink, 'none'), "
            "tried(os.rmdir, 'd'))\n"
            "print(tried(os.unlink, 'd') in ('EISDIR', 'EPERM'), tried(os.rename, 'a', 'd'), "
            "tried(os.link, 'a', 'd/x'))\n"
            "os.chmod('a', 0o400); print(tried(os.open, 'a', os.O_WRONLY))\n"
            "os.chmod('d', 0o500); print(tried(os.open, 'd/new', NEW), tried(os.unlink, 'd/x'))\n"
            "os.close(os.open('s', NEW, 0o6755)); print(oct(os.stat('s').st_mode & 0o7000))\n"
            "print(tried(os.open, 'src/../b', NEW), tried(os.mkdir, 'e/'), "
            "tried(os.unlink, 'a/') in ('EACCES', 'ENOTDIR'))\n") ==
        "EEXIST EEXIST EEXIST\nENOENT ENOENT ENOTEMPTY\nTrue EISDIR EEXIST\nEACCES\n"
        "EACCES EACCES\n0o0\ndone done True");
}

TEST_CASE("what is protected or denied is not made, moved, removed or opened for a command") {
  NEED_ON_HOST();
  Repository repository;
  const TemporaryFolder outside;
  repository.config.deny_read = {"**/.secret", "src/.hidden"};
  std::ofstream(outside / "file") << "text\n";
  std::ofstream(repository.at("src/.secret")) << "CONFIDENTIAL\n";
  std::ofstream(repository.at(".secret")) << "CONFIDENTIAL\n";
  const std::string act =
      std::string(kTried) +
      "os.mkdir('m'); open('m/f', 'w').close()\n"
      "os.symlink('.git/hooks', 'h'); os.symlink('.git/hooks/new', 'hn'); os.symlink('.envrc', "
      "'e')\n"
      "os.symlink('" +
      outside.path() +
      "', 'o')\n"
      "print({tried(os.open, p, NEW) for p in ('.git/hooks/new', 'h/new', 'hn', 'e', '.envrc', "
      "'.git/config', '.git/commondir', '.secret', 'm/.secret', 'o/new', 'o/file', "
      "'m/../.git/hooks/new', './/.git/./hooks/new', '/proc/self/cwd/.git/hooks/new', "
      "'/proc/self/root" +
      outside.path() + "/new', '" + outside.path() +
      "/new')})\n"
      "print({tried(os.mkdir, p) for p in ('.git/hooks/d', 'h/d', '.git/commondir', 'o/d')})\n"
      "print({tried(os.symlink, 'x', p) for p in ('.git/hooks/l', 'h/l', '.envrc', 'o/l')})\n"
      "print({tried(os.unlink, p) for p in ('.git/config', 'h/sample', '.secret', 'o/file')})\n"
      "print({tried(os.rename, a, b) for a, b in (('.git', 'g'), ('.git/config', 'c'), "
      "('m/f', '.git/config'), ('m/f', '.envrc'), ('m', '.git/hooks'), ('.git/hooks', 'k'), "
      "('src', 'q'), ('.secret', 's'), ('src/.secret', 's'), ('m/f', 'o/f'), ('o/file', 'f'), "
      "('m/f', 'h/f'))})\n"
      "print({tried(os.link, a, b) for a, b in (('.git/config', 'c'), ('.secret', 's'), "
      "('m/f', '.git/hooks/f'), ('m/f', '.envrc'), ('o/file', 'f'), ('src/.secret', 's'))})\n";
  CHECK(repository.Python(act) ==
        "{'EACCES'}\n{'EACCES'}\n{'EACCES'}\n{'EACCES'}\n{'EACCES'}\n{'EACCES'}");
  repository.CheckUnharmed();
  CHECK(repository.Read(".secret") == "CONFIDENTIAL\n");
  CHECK(std::distance(fs::directory_iterator(outside.path()), {}) == 1);
}

TEST_CASE("another name of what is protected is not opened, moved or linked for a command") {
  NEED_ON_HOST();
  Repository repository;
  fs::create_hard_link(repository.at(".git/config"), repository.at("alias"));
  CHECK(repository.Python(std::string(kTried) +
                          "print(tried(os.open, 'alias', os.O_WRONLY), "
                          "tried(os.open, 'alias', NEW | os.O_TRUNC))\n"
                          "print({tried(os.rename, 'alias', 'src/x'), "
                          "tried(os.link, 'alias', 'src/x')} - {'EXDEV', 'EPERM'})\n") ==
        "EACCES EACCES\n{'EACCES'}");
  repository.CheckUnharmed();
}

TEST_CASE("a link that comes and goes on the way leads nothing into what is protected") {
  NEED_ON_HOST();
  Repository repository;
  // One process makes `way` a folder and a link by turns, the other one goes that way.
  CHECK(
      repository.Python(std::string(kTried) +
                        "import signal\n"
                        "os.mkdir('folder'); os.symlink('.git/hooks', 'link'); os.mkdir('src/f')\n"
                        "child = os.fork()\n"
                        "if child == 0:\n"
                        "  while True:\n"
                        "    for to in ('folder', 'link'):\n"
                        "      tried(os.rename, to, 'way'); tried(os.rename, 'way', to)\n"
                        "done = 0\n"
                        "for i in range(600):\n"
                        "  done += tried(os.open, 'way/f', NEW) == 'done'\n"
                        "  tried(os.rename, 'way/f', 'way/g'); tried(os.unlink, 'way/sample')\n"
                        "  tried(os.mkdir, 'way/d'); tried(os.symlink, 'x', 'way/l')\n"
                        "os.kill(child, signal.SIGKILL); os.wait()\n"
                        "print(done > 0)\n") == "True");
  repository.CheckUnharmed();
}

TEST_CASE("text that changes while a name is made for a command makes no other name") {
  NEED_ON_HOST();
  Repository repository;
  CHECK(repository.Python(
            std::string(kChangingText) +
            "at, child, kept = changing(b'aaaaaaaaaaaaaaa\\0', b'.git/hooks/newx\\0'); made = 0\n"
            "for i in range(3000):\n"
            "  fd = libc.open(ctypes.c_void_p(at), os.O_WRONLY | os.O_CREAT, 0o600)\n"
            "  if fd >= 0: made += 1; os.close(fd)\n"
            "os.kill(child, signal.SIGKILL); os.wait()\n"
            "print(made > 0)\n") == "True");
  repository.CheckUnharmed();
}

TEST_CASE("a fifo or a device in the place of a file keeps nobody waiting") {
  NEED_ON_HOST();
  Repository repository;
  REQUIRE(mkfifo(repository.at("fifo").c_str(), 0600) == 0);
  CHECK(repository.Python(std::string(kTried) +
                          "print(tried(os.open, 'fifo', os.O_WRONLY | os.O_CREAT | "
                          "os.O_NONBLOCK) != 'done', tried(os.rename, 'fifo', 'f'))\n") ==
        "True EACCES");
}

TEST_CASE("for who is in another sandbox inside of this one no name is made") {
  NEED_ON_HOST();
  Repository repository;
  CHECK(repository.Python(
            std::string(kTried) +
            "import ctypes, struct\n"
            "def acts(): return [tried(os.open, 'n', NEW), tried(os.mkdir, 'd'), "
            "tried(os.symlink, 'x', 'l'), tried(os.unlink, 'n'), tried(os.rename, 'd', 'e')]\n"
            "print(acts()); os.rmdir('e'); os.unlink('l'); open('n', 'w').close(); os.mkdir('d')\n"
            "allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n"
            "program = struct.pack('HxxxxxxQ', 1, ctypes.addressof(allow))\n"
            "assert ctypes.CDLL(None).syscall(317 if os.uname().machine == 'x86_64' else 277, "
            "1, 0, program) == 0\n"
            "print(acts())\n") ==
        "['done', 'done', 'done', 'done', 'done']\n"
        "['EACCES', 'EEXIST', 'EACCES', 'EACCES', 'EACCES']");
}

TEST_CASE("git works at the top of a repository in the landlock tier") {
  NEED_ON_HOST();
  if (!Exists("/usr/bin/git")) CORDON_SKIP("git", "there is no git");
  OnHostFixture fixture;
  const std::string outside = "cd '" + fixture.workspace() +
                              "' && git init -q -b main . && git config user.name x && "
                              "git config user.email x@example.test && echo one >one && "
                              "git add . && git commit -qm one";
  REQUIRE(std::system(outside.c_str()) == 0);  // NOLINT(cert-env33-c)
  const RunResult result = fixture.Shell(
      "set -e; echo two >two; git add two; git commit -qm two; git checkout -qb other HEAD~1; "
      "echo three >three; git add .; git commit -qm three; git merge -q -m merged main; "
      "echo more >>one; git stash -q; git stash pop -q; git commit -qam four; git gc -q; "
      "git init -q new; git tag v1; "
      "git rm -q two; git commit -qm removed; git status --short; git fsck; git log --oneline | wc "
      "-l; ! echo x >.git/hooks/pre-commit; ! git config user.name y");
  INFO(result.standard_error.head);
  CHECK(result.outcome.code == 0);
  CHECK_FALSE(Exists(fixture.workspace() + "/.git/hooks/pre-commit"));
}

// git finds out by chmod(2) whether modes mean anything, and remembers it.
TEST_CASE(
    "a new repository of the landlock tier knows modes, and one that was there keeps its own") {
  NEED_ON_HOST();
  if (!Exists("/usr/bin/git")) CORDON_SKIP("git", "there is no git");
  Repository repository;
  REQUIRE(chmod(repository.at(".git/hooks/sample").c_str(), 0644) == 0);
  REQUIRE(chmod(repository.at(".git/config").c_str(), 0644) == 0);
  const RunResult result = repository.Shell(
      "set -e; git init -q new; git -C new config core.filemode; git init -q src/new; "
      "git -C src/new config core.filemode; chmod 755 new/.git/hooks; "
      "for f in .git/hooks/sample .git/config; do "
      "if chmod 755 $f || touch -d 2001-01-01 $f; then exit 7; fi; done 2>/dev/null");
  INFO(result.standard_error.head);
  CHECK(result.outcome.code == 0);
  CHECK(result.standard_output.head == "true\ntrue\n");
  for (const char* file : {".git/hooks/sample", ".git/config"}) {
    struct stat status = {};
    REQUIRE(stat(repository.at(file).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0644);
  }
  repository.CheckUnharmed();
}

TEST_CASE(
    "links with very long texts are not followed for a command, so that none waits for long") {
  const TemporaryFolder folder;
  const std::string root = fs::canonical(folder.path());
  std::ofstream(root + "/file") << "text";
  std::string last = "file";
  PlainPaths plain;
  std::vector<std::string> found;
  for (const std::string next : {"a", "b", "c", "d", "e", "f", "g"}) {
    std::string text;
    while (text.size() < 3000) text += "./";
    fs::create_symlink(text + last, root + "/" + next);
    found.push_back(plain.WithoutLinks(root + "/" + next, true));
    last = next;
  }
  CHECK(found.front() == root + "/file");
  CHECK(found[3] == root + "/file");
  CHECK(found.back().empty());
  CHECK(plain.WithoutLinks(root + "/" + last, false) == root + "/" + last);
}

}  // namespace
}  // namespace cordon::internal
