// Ordinary programs and their ways to talk to each other work inside.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

TEST_CASE("Python's processes, pools, shared memory and terminals work") {
  const Ground ground;
  ground.MakeFile("work.py", R"(
import asyncio, mmap, multiprocessing, os, pty, socket, subprocess, tempfile
from multiprocessing import shared_memory

async def child():
    p = await asyncio.create_subprocess_exec("echo", "asyncio", stdout=asyncio.subprocess.PIPE)
    return (await p.communicate())[0].decode().strip()

if __name__ == "__main__":
    print("pool", multiprocessing.Pool(2).map(abs, [-1, 2]))
    lock = multiprocessing.Semaphore(1)
    lock.acquire(); lock.release()
    block = shared_memory.SharedMemory(create=True, size=64)
    block.buf[0] = 9
    again = shared_memory.SharedMemory(name=block.name)
    print("shared", again.buf[0])
    again.close(); block.close(); block.unlink()
    print(asyncio.run(child()))
    print("terminal", os.waitstatus_to_exitcode(pty.spawn(["true"])))
    fd = os.memfd_create("x"); os.write(fd, b"memory"); print(mmap.mmap(fd, 6)[:].decode())
    with tempfile.NamedTemporaryFile() as f: print("temporary", os.path.exists(f.name))
    server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
    client = socket.create_connection(server.getsockname()); print("loopback works")
    server6 = socket.socket(socket.AF_INET6); server6.bind(("::1", 0)); print("loopback6 works")
)");
  const CordonRun run = RunInside(ground, {"--", "python3", "work.py"});
  Expect(run)
      .Status(0)
      .Out("pool [1, 2]")
      .Out("shared 9")
      .Out("asyncio")
      .Out("terminal 0")
      .Out("memory")
      .Out("temporary True")
      .Out("loopback works")
      .Out("loopback6 works");
}

TEST_CASE("the shell's here-documents, substitutions, pipes and devices work") {
  const Ground ground;
  Expect(RunInside(ground, {"--", "/bin/bash", "-c", R"(set -e
    cat <(echo substituted)
    cat <<X
here-document
X
    echo piped | cat | cat
    echo nothing >/dev/null; head -c 4 /dev/urandom >/dev/null
    echo to-stdout >/dev/stdout; echo to-fd >/dev/fd/1
    mkfifo f && (echo fifo >f &) && cat f && rm f
    coproc cat; echo coprocess >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line")"}))
      .Status(0)
      .OutIs("substituted\nhere-document\npiped\nto-stdout\nto-fd\nfifo\ncoprocess\n");
}

TEST_CASE("a compiler builds a program that runs") {
  const Ground ground;
  if (ground.RunUnconfined("cc --version").status != 0) CORDON_SKIP("cc", "no C compiler here");
  ground.MakeFile("hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n");
  Expect(RunText(ground, {}, "cc -o hello hello.c && ./hello")).Status(0).OutIs("hello\n");
}

TEST_CASE("the system's files that programs need are there") {
  const Ground ground;
  const std::string act =
      "getent passwd $(id -u) >/dev/null; test -r /etc/passwd && test -r /etc/group && "
      "test -r /etc/nsswitch.conf && test -c /dev/null && test -d /proc/self && date >/dev/null && "
      "perl -e 'print getpwuid($<) ? qq(named\\n) : qq(unnamed\\n)'";
  const std::string control = Control(ground, act);
  Expect(RunText(ground, {}, act)).Status(0).OutIs(control);
}

TEST_CASE("ssh does not complain about the owner of its configuration") {
  const Ground ground;
  if (ground.RunUnconfined("ssh -G host.test").status != 0) CORDON_SKIP("ssh", "no ssh here");
  Expect(RunText(ground, {}, "ssh -G host.test | grep -c '^port 22$'")).Status(0).OutIs("1\n");
}

}  // namespace
}  // namespace cordon::test
