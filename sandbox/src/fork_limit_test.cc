#include "fork_limit.h"

#include <chrono>
#include <string>

#include "landlock_testing.h"

namespace cordon::internal {
namespace {

using testing::OnHostFixture;

#define NEED_COUNTING() \
  NEED_ON_HOST();       \
  if (!CommandTree::CanBeListed()) CORDON_SKIP("children", "/proc does not list children here")

constexpr char kForks[] =
    "import errno, os, sys\n"
    "r, w = os.pipe()\n"
    "def make(most):\n"
    "  made = []\n"
    "  try:\n"
    "    for i in range(most):\n"
    "      pid = os.fork()\n"
    "      if pid == 0: os.close(w); os.read(r, 1); os._exit(0)\n"
    "      made.append(pid)\n"
    "  except OSError as e: assert e.errno == errno.EAGAIN\n"
    "  return made\n"
    "def end(made):\n"
    "  for pid in made: os.kill(pid, 9); os.waitpid(pid, 0)\n"
    "  return len(made)\n";

TEST_CASE(
    "in the landlock tier nothing can be forked above the limit, and again when there is room") {
  NEED_COUNTING();
  OnHostFixture fixture;
  fixture.config.limits.processes = 20;
  CHECK_FALSE(fixture.set().Report().guarantees.resource_limits);
  CHECK(fixture.Python(std::string(kForks) +
                       "print(end(make(10)), end(make(60)), end(make(60)), end(make(10)))\n"
                       // Those that have ended and were waited for do not count.
                       "print(sum(end(make(1)) for i in range(200)))\n") == "10 19 19 10\n200");
}

TEST_CASE("threads count as processes do, and what is below a process with them") {
  NEED_COUNTING();
  OnHostFixture fixture;
  fixture.config.limits.processes = 20;
  CHECK(fixture.Python(std::string(kForks) +
                       "import threading\n"
                       "e = threading.Event()\n"
                       "threads = []\n"
                       "try:\n"
                       "  for i in range(40):\n"
                       "    t = threading.Thread(target=e.wait); t.start(); threads.append(t)\n"
                       "except RuntimeError: print('refused', len(threads))\n"
                       "print(len(make(5)))\n"
                       "e.set()\n") == "refused 19\n0");
  CHECK(fixture.Python(std::string(kForks) +
                       "child = os.fork()\n"
                       "if child == 0: print(len(make(40)), flush=True); os._exit(0)\n"
                       "os.waitpid(child, 0)\n") == "18");
}

TEST_CASE("many that fork at once stay below the limit, and their tree is not ended for it") {
  NEED_COUNTING();
  OnHostFixture fixture;
  fixture.config.limits.processes = 40;
  // Eight that fork as fast as they can, what they make ending only with them.
  const std::string said =
      fixture.Python(std::string(kForks) +
                     "def work():\n"
                     "  made = 0\n"
                     "  for i in range(300):\n"
                     "    try: pid = os.fork()\n"
                     "    except OSError: continue\n"
                     "    if pid == 0: os.close(w); os.read(r, 1); os._exit(0)\n"
                     "    made += 1\n"
                     "  os.write(out, b'%d ' % made)\n"
                     "  os.read(r, 1); os._exit(0)\n"
                     "said, out = os.pipe()\n"
                     "ready, go = os.pipe()\n"
                     "for i in range(8):\n"
                     "  if os.fork() == 0: os.close(w); os.read(ready, 1); work()\n"
                     "os.write(go, b'x' * 8)\n"
                     "text = b''\n"
                     "while text.count(b' ') < 8: text += os.read(said, 999)\n"
                     "total = sum(int(n) for n in text.split()) + 9\n"
                     "print(total if not 30 <= total <= 40 else 'within')\n");
  CHECK(said == "within");
}

TEST_CASE("making processes and threads works unharmed below the limit") {
  NEED_COUNTING();
  OnHostFixture fixture;
  fixture.config.limits.processes = 12;
  CHECK(fixture.Python("import subprocess, threading\n"
                       "def run():\n"
                       "  for i in range(30): subprocess.run(['true'], check=True)\n"
                       "threads = [threading.Thread(target=run) for i in range(3)]\n"
                       "[t.start() for t in threads]; [t.join() for t in threads]\n"
                       "print('done')\n") == "done");
}

}  // namespace
}  // namespace cordon::internal
