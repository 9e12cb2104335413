#!/usr/bin/env python3
"""What does a confined command cost, beside a bare one and beside other sandboxes?

    tests/bench/bench.py [--build build/release] [--rounds 300] [--quick] [--json FILE] [--svg FILE]
                         [--only latency,cpu,peak,throughput,memory,growth,policy,egress] [--soak 20000] [--readme]

All rows of a table are measured in one run, in a shuffled order, by one program (spawn_subjects.cc), from the spawn to
the wait. Read the ratios: numbers depend on the machine and on what else it does. Peers that are not installed are
skipped with a word. Processor time needs cgroup v1's cpuacct and root (it counts what the kernel does for each); a peer
is configured as near as it can to the same confinement. Peak memory needs cgroup v1's memory controller and counts
what the kernel holds for a run, too. --readme writes the tables into README.md, with this command beside them.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import figures

TRUE = "/bin/true"
AGE_S = 4  # What is younger is looked at again by each program (IndexCache::kMarginNs).
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Subjects:
    """The program that makes the measured calls."""

    def __init__(self, build, *cgroups, cache="/dev/null"):
        def enter():
            for cgroup in cgroups:
                if cgroup.path:
                    (cgroup.path / "cgroup.procs").write_text(str(os.getpid()))

        self.process = subprocess.Popen([build / "tests/bench/bench_spawn_subjects"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, preexec_fn=enter,
                                        env={**os.environ, "XDG_CACHE_HOME": str(cache)})

    def ask(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def number(self, *words):
        answer = self.ask(*words)
        try:
            return float(answer)
        except ValueError:
            sys.exit(f"bench: {' '.join(map(str, words))}: {answer or 'the program ended'}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Cgroup:
    """One of cgroup v1, for what one controller counts; `path` is None where none can be made."""

    def __init__(self, *controllers):
        self.path = None
        for controller in controllers:
            path = pathlib.Path("/sys/fs/cgroup") / controller / f"cordon-bench-{os.getpid()}"
            try:
                path.mkdir()
                self.path = path
                return
            except OSError:
                continue

    def read(self, name):
        return int((self.path / name).read_text())

    def close(self):
        try:
            if self.path:
                self.path.rmdir()
        except OSError:
            pass


def peers(workspace):
    """Name -> words. As near as it gets to: read-only system, one writable folder, private /tmp, own namespaces."""
    found = {}

    def add(name, words):
        if shutil.which(words[0]):
            found[name] = [shutil.which(words[0]), *words[1:]]
        else:
            print(f"{words[0]} is not installed: not measured")

    links = [w for n in ("bin", "lib", "lib64") if os.path.islink(f"/{n}") for w in ("--symlink", f"usr/{n}", f"/{n}")]
    add("bwrap, same namespaces",
        ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", *links, "--ro-bind", "/etc", "/etc",
         "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--bind", workspace, workspace, "--chdir", workspace,
         TRUE])
    add("nsjail", ["nsjail", "-q", "-Mo", "-R", "/usr", "-R", "/etc", "-R", "/lib", "-R", "/lib64", "-R", "/bin",
                   "-B", workspace, "-T", "/tmp", "--cwd", workspace, "--", TRUE])
    add("minijail0", ["minijail0", "-U", "-v", "-p", "-l", "-N", "-e", "-P", "/var/empty", "-b", "/,/,1", "--", TRUE])
    add("firejail", ["firejail", "--quiet", "--noprofile", "--net=none", f"--whitelist={workspace}", TRUE])
    add("unshare (namespaces only)", ["unshare", "-Urmpiun", "--fork", TRUE])
    return found


class Rows:
    """The rows of the table: name -> the words that make one call."""

    def __init__(self, subjects, folder, build):
        self.words = {"bare posix_spawn": ["spawn", TRUE]}
        self.add(subjects, folder, "cordon, library, ready", "ready=2")
        self.add(subjects, folder, "cordon, library, cold", "ready=0")
        self.add(subjects, folder, "cordon, library, cold, one network", "ready=0", "share_network=1")
        self.add(subjects, folder, "cordon, library, landlock tier", "backend=landlock")
        workspace = f"{folder}/commands"  # firejail takes no name with a comma or a blank.
        os.mkdir(workspace)
        self.words["cordon run"] = ["spawn", build / "tools/cli/cordon", "run", "-w", workspace, "--", TRUE]
        for name, words in peers(workspace).items():
            self.words[name] = ["spawn", *words]

    def add(self, subjects, folder, name, *options):
        answer = subjects.ask("executor", name, f"{folder}/{name}", *options)
        if answer == "ok":
            self.words[name] = ["run", name]
        else:
            print(f"{name}: not measured: {answer}")


def quantile(values, part):
    return sorted(values)[int(part * (len(values) - 1))]


def shuffled(subjects, words, rounds, seed=1):
    """Name -> microseconds of each round."""
    times = {name: [] for name in words}
    shuffle = random.Random(seed)
    for call in words.values():
        subjects.number(*call)
    for _ in range(rounds):
        order = list(words)
        shuffle.shuffle(order)
        for name in order:
            times[name].append(subjects.number(*words[name]))
    return times


def summary(times):
    return {name: {"min_us": min(v), "median_us": statistics.median(v), "p95_us": quantile(v, 0.95)}
            for name, v in times.items()}


def measure_latency(subjects, rows, options):
    result = summary(shuffled(subjects, rows.words, options.rounds))
    bare = result["bare posix_spawn"]["median_us"]
    for row in result.values():
        row["x_bare"] = row["median_us"] / bare
    return result


def measure_cpu(subjects, rows, cgroup, options):
    """Microseconds of a run, user and system, the kernel's clean-up included."""
    if not cgroup.path:
        print("processor time: not measured: no cpuacct cgroup can be made here")
        return {}
    result = {}
    rounds = max(10, options.rounds // 3)
    for name, call in rows.words.items():
        subjects.ask("settle")
        before = cgroup.read("cpuacct.usage")
        for _ in range(rounds):
            subjects.number(*call)
        subjects.ask("settle")
        result[name] = (cgroup.read("cpuacct.usage") - before) / 1000 / rounds
    return result


def measure_peak(subjects, rows, cgroup, options):
    """KiB that a run needs at most, beyond what the measuring program has."""
    if not cgroup.path:
        print("peak memory: not measured: no memory cgroup can be made here")
        return {}
    result = {}
    for name, call in rows.words.items():
        peaks = []
        for _ in range(5):
            subjects.ask("settle")
            (cgroup.path / "memory.max_usage_in_bytes").write_text("0")
            before = cgroup.read("memory.usage_in_bytes")
            subjects.number(*call)
            peaks.append(cgroup.read("memory.max_usage_in_bytes") - before)
        result[name] = statistics.median(peaks) / 1024
    return result


def measure_throughput(subjects, rows, options):
    result = {}
    for name, call in rows.words.items():
        result[name] = [subjects.number("loop", options.seconds, workers, *call) for workers in (1, 2)]
    return result


def children_of(pid):
    children = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(after_name[1]) == pid:
            children.append(int(entry.parent.name))
    return children


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def launcher_of(pid):
    """The launcher that serves the process: the one that watches it, by its descriptor 4 (launcher_protocol.h)."""
    for entry in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            watched = (entry.parent / "fdinfo/4").read_text() if "cordon-launcher" in os.readlink(entry) else ""
        except OSError:
            continue
        if f"Pid:\t{pid}\n" in watched:
            return int(entry.parent.name)
    return None


def measure_memory(build, folder, options):
    """Resident KiB of a launcher and of a sandbox that waits, before and after many runs."""
    subjects = Subjects(build)
    if subjects.ask("executor", "memory", f"{folder}/memory", "ready=1") != "ok":
        subjects.close()
        return {}
    subjects.number("run", "memory")
    subjects.ask("settle")
    launcher = launcher_of(subjects.process.pid)
    if launcher is None:
        print("memory: not measured: no launcher was found")
        subjects.close()
        return {}
    result = {"launcher_kib": resident_kib(launcher),
              "waiting_kib": max([resident_kib(pid) for pid in children_of(launcher)], default=0)}
    result["runs"] = options.soak or options.rounds * 3
    for _ in range(result["runs"]):
        subjects.number("run", "memory")
    result["launcher_kib_after_runs"] = resident_kib(launcher)
    subjects.close()
    return result


def measure_growth(build, folder, options):
    """Name -> list of [size, median us, of the smallest]. Each series in one program, its steps shuffled."""
    result = {}
    rounds = max(30, options.rounds // 3)

    def series(name, steps):
        subjects = Subjects(build)
        words = {}
        for size, make in steps:
            key = f"{name} {size}"
            answer = subjects.ask("executor", key, f"{folder}/{key}", *make(f"{folder}/{key}"))
            if answer != "ok":
                print(f"{key}: not measured: {answer}")
                continue
            words[key] = ["run", key]
        times = shuffled(subjects, words, rounds)
        subjects.close()
        medians = [[size, statistics.median(times[f"{name} {size}"])] for size, _ in steps if f"{name} {size}" in times]
        result[name] = [[size, median, median / medians[0][1]] for size, median in medians]

    def with_files(count):
        def make(path):
            for at in range(count):
                parent = pathlib.Path(path) / "workspace" / f"folder{at // 100}"
                if at % 100 == 0:
                    parent.mkdir(parents=True)
                (parent / f"file{at % 100}").touch()
            return ["ready=2", "rules=200", "globs=3"]
        return make

    files = (0, 1000, 10000) if options.quick else (0, 1000, 10000, 100000)
    series("files in the workspace, 200 rules, 3 globs", [(n, with_files(n)) for n in files])
    words = grown_command_line(build, folder, files, with_files)
    time.sleep(AGE_S)
    for name, cache in (("files in the workspace of cordon run, 200 rules, 3 globs", f"{folder}/cache"),
                        ("the same, looked at for the first time", "/dev/null")):
        subjects = Subjects(build, cache=cache)
        lists = {(threads, size): ["list", threads, words[size][4]] for threads in (1, 2) for size in files}
        times = shuffled(subjects, {**words, **lists}, rounds)
        subjects.close()
        medians = {key: statistics.median(values) for key, values in times.items()}
        result[name] = [[size, medians[size], medians[size] / medians[0]] for size in files]
    # What the first look would be if it did nothing else.
    for threads in (1, 2):
        result[f"with no files, and these folders listed (getdents64) by {threads}"] = [
            [size, medians[0] + medians[threads, size], 1 + medians[threads, size] / medians[0]] for size in files]
    series("rules", [(n, lambda path, n=n: ["ready=2", f"rules={n}"]) for n in (0, 50, 200)])
    series("executors", [(n, lambda path: ["ready=2"]) for n in range(1, 9)])

    steps = []
    for mib, threads in ((0, 0), (256, 16), (1024, 64)) if options.quick else ((0, 0), (1024, 64), (4096, 64)):
        subjects = Subjects(build)
        subjects.ask("executor", "caller", f"{folder}/caller{mib}", "ready=2")
        if mib and subjects.ask("bulk", mib, threads) != "ok":
            print(f"caller of {mib} MiB: not measured: no memory")
            subjects.close()
            continue
        steps.append((mib, subjects))
    times = {mib: [] for mib, _ in steps}
    for _ in range(rounds):
        for mib, subjects in random.Random(rounds).sample(steps, len(steps)):
            times[mib].append(subjects.number("run", "caller"))
    for _, subjects in steps:
        subjects.close()
    base = statistics.median(times[0])
    result["MiB and 64 threads in the caller"] = [
        [mib, statistics.median(v), statistics.median(v) / base] for mib, v in times.items()]
    return result


def grown_command_line(build, folder, sizes, with_files):
    """Size -> the words that make one call of the command line, which is a new program each time."""
    words = {}
    for size in sizes:
        workspace = pathlib.Path(folder) / f"command line {size}" / "workspace"
        workspace.mkdir(parents=True)
        with_files(size)(workspace.parent)
        rules = [word for rule in range(200) for word in ("--deny-write", workspace / f"rule{rule}")]
        globs = [word for glob in ("**/.env", "**/*.pem", "**/secrets/**") for word in ("--deny-read", glob)]
        words[size] = ["spawn", build / "tools/cli/cordon", "run", "-w", workspace, *rules, *globs, "--", TRUE]
    return words


def lines_of(build, program, *arguments):
    path = build / "tests/bench" / program
    if not path.exists():
        print(f"{program} is not built: not measured")
        return []
    return subprocess.run([path, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.splitlines()


def measure_policy(options):
    lines = lines_of(options.build, "bench_policy", max(20, options.rounds))
    return [[name, int(size), float(us)] for name, size, us in (line.split("\t") for line in lines)]


def measure(options, results):
    wanted = options.only.split(",")
    folder = tempfile.mkdtemp(prefix="cordon-bench-")
    processor = Cgroup("cpuacct", "cpu,cpuacct")
    memory = Cgroup("memory")
    subjects = Subjects(options.build, processor, memory)
    try:
        rows = Rows(subjects, folder, options.build)
        if "latency" in wanted:
            results["latency"] = measure_latency(subjects, rows, options)
        if "cpu" in wanted:
            results["cpu"] = measure_cpu(subjects, rows, processor, options)
        if "peak" in wanted:
            results["peak"] = measure_peak(subjects, rows, memory, options)
        if "throughput" in wanted:
            results["throughput"] = measure_throughput(subjects, rows, options)
        subjects.close()
        if "memory" in wanted:
            results["memory"] = measure_memory(options.build, folder, options)
        if "growth" in wanted:
            results["growth"] = measure_growth(options.build, folder, options)
        if "policy" in wanted:
            results["policy"] = measure_policy(options)
        if "egress" in wanted:
            results["egress"] = lines_of(options.build, "bench_egress", min(2.0, options.seconds))
    finally:
        if subjects.process.poll() is None:
            subjects.close()
        processor.close()
        memory.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each throughput measurement")
    parser.add_argument("--quick", action="store_true", help="smaller growth series")
    parser.add_argument("--soak", type=int, default=0, help="runs before the launcher's memory is read again")
    parser.add_argument("--only", default="latency,cpu,peak,throughput,memory,growth,policy,egress")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    parser.add_argument("--readme", action="store_true", help="write the tables into README.md")
    options = parser.parse_args()
    options.build = options.build.resolve()
    results = {"kernel": ".".join(os.uname().release.split(".")[:2]), "cpus": os.cpu_count(), "rounds": options.rounds, "user": os.geteuid()}
    measure(options, results)
    print("\n".join(figures.tables(results)))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    if options.svg and "latency" in results:
        figures.draw(results, options.svg)
    if options.readme:
        command = " ".join(["tests/bench/bench.py", *(a for a in sys.argv[1:] if a != "--readme")])
        figures.write_readme(results, ROOT / "README.md", command)


if __name__ == "__main__":
    main()
