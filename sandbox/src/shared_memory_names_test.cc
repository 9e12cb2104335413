#include "shared_memory_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "landlock_testing.h"

namespace cordon::internal {
namespace {

using testing::Exists;
using testing::OnHostFixture;
namespace fs = std::filesystem;

// A shared memory object of the host, which is not the command's.
class HostObject {
 public:
  HostObject() : name_(absl::StrCat("cordon-test-", getpid())) {
    std::ofstream(path()) << "the host's\n";
  }
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;
  ~HostObject() { unlink(path().c_str()); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string path() const { return "/dev/shm/" + name_; }
  [[nodiscard]] std::string Read() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  const std::string name_;
};

TEST_CASE("a name of shared memory lies directly in its folder") {
  CHECK(SharedMemoryName("/dev/shm/a") == "a");
  CHECK(SharedMemoryName("/dev/shm//sem.a") == "sem.a");
  for (const char* path : {"", "/dev/shm", "/dev/shm/", "/dev/shm/.", "/dev/shm/..", "/dev/shm/a/b",
                           "/dev/shmem/a", "dev/shm/a", "/tmp/a"}) {
    CHECK(SharedMemoryName(path).empty());
  }
  CHECK(SharedMemoryName("/dev/shm/" + std::string(256, 'a')).empty());
}

TEST_CASE("processes of the landlock tier share memory and wait for each other by name") {
  NEED_ON_HOST();
  OnHostFixture fixture;
  CHECK(fixture.Python("import multiprocessing as m\n"
                       "from multiprocessing import shared_memory\n"
                       "def square(x): return x * x\n"
                       "def fill(name):\n"
                       "  s = shared_memory.SharedMemory(name); s.buf[0] = 7; s.close()\n"
                       "if __name__ == '__main__':\n"
                       "  m.set_start_method('fork')\n"
                       "  with m.Pool(3) as pool: print(pool.map(square, range(5)))\n"
                       "  q = m.Queue(); p = m.Process(target=q.put, args=(3,))\n"
                       "  p.start(); print(q.get(timeout=20)); p.join()\n"
                       "  s = shared_memory.SharedMemory(create=True, size=4096)\n"
                       "  p = m.Process(target=fill, args=(s.name,)); p.start(); p.join()\n"
                       "  print(s.buf[0]); s.close(); s.unlink()\n"
                       "  try: shared_memory.SharedMemory(s.name)\n"
                       "  except FileNotFoundError: print('gone')\n") ==
        "[0, 1, 4, 9, 16]\n3\n7\ngone");
}

TEST_CASE("shared memory of the host is out of reach, and a command's is its own") {
  NEED_ON_HOST();
  const HostObject object;
  REQUIRE(object.Read() == "the host's\n");
  OnHostFixture fixture;
  // `tried` reads what is there, or says the errno's name.
  const std::string tried = absl::StrCat("import errno, os\nP = '", object.path(),
                                         "'\n"
                                         "def tried(f, *a):\n"
                                         "  try: r = f(*a)\n"
                                         "  except OSError as e: return errno.errorcode[e.errno]\n"
                                         "  return os.read(r, 99) if f is os.open else 'done'\n");
  const std::string acts = tried +
                           "print(tried(os.open, P, os.O_RDONLY), tried(os.open, P, os.O_RDWR),"
                           " tried(os.unlink, P), tried(os.rename, P, P + 'x'),"
                           " tried(os.link, P, 'stolen'), tried(os.open, '/dev/shm/../shm/x', 66),"
                           " tried(os.open, P, os.O_CREAT | os.O_EXCL | os.O_RDWR))\n"
                           "os.symlink('/etc/passwd', 'link')\n"
                           "print(tried(os.rename, 'link', '/dev/shm/link'),"
                           " tried(os.link, P, '/dev/shm/second'), tried(os.rename, P, P),"
                           " tried(os.link, P, 'stolen'))\n";
  const std::string expected =
      "ENOENT ENOENT ENOENT ENOENT EXDEV EACCES b''\nEXDEV done done EXDEV";
  CHECK(fixture.Python(acts) == expected);
  fs::remove(fixture.workspace() + "/link");
  // Nothing of it is there for the next one.
  CHECK(fixture.Python(acts) == expected);
  CHECK(object.Read() == "the host's\n");
  CHECK_FALSE(Exists("/dev/shm/second"));
  CHECK_FALSE(Exists(fixture.workspace() + "/stolen"));
}

TEST_CASE("names of shared memory have a bound, and modes of their own") {
  NEED_ON_HOST();
  OnHostFixture fixture;
  CHECK(
      fixture.Python("import errno, os\n"
                     "made = 0\n"
                     "try:\n"
                     "  while made < 9999:\n"
                     "    os.close(os.open('/dev/shm/%d' % made, os.O_CREAT | os.O_RDWR, 0o640))\n"
                     "    made += 1\n"
                     "except OSError as e: print(made, errno.errorcode[e.errno])\n"
                     "print(oct(os.fstat(os.open('/dev/shm/0', os.O_RDWR)).st_mode & 0o777))\n"
                     "os.unlink('/dev/shm/0')\n"
                     "os.close(os.open('/dev/shm/more', os.O_CREAT | os.O_RDWR, 0o600))\n") ==
      absl::StrCat(SharedMemoryNames::kMostNames, " ENOSPC\n0o640"));
}

}  // namespace
}  // namespace cordon::internal
