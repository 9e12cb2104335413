#!/usr/bin/env python3
"""What does a confined command cost, beside a bare one and beside other sandboxes?

    tests/bench/bench.py [--build build/release] [--rounds 300] [--quick] [--json FILE] [--svg FILE]
                         [--only latency,cpu,throughput,memory,growth]

All rows of a table are measured in one run, in a shuffled order, by one program (spawn_subjects.cc), from the spawn to
the wait. Read the ratios: numbers depend on the machine and on what else it does. Peers that are not installed are
skipped with a word. Processor time needs cgroup v1's cpuacct and root (it counts what the kernel does for each); a peer
is configured as near as it can to the same confinement.
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

TRUE = "/bin/true"
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Subjects:
    """The program that makes the measured calls."""

    def __init__(self, build, cgroup=None):
        def enter():
            if cgroup:
                (cgroup / "cgroup.procs").write_text(str(os.getpid()))

        self.process = subprocess.Popen([build / "tests/bench/bench_spawn_subjects"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, preexec_fn=enter)

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
    """Processor time of everything in it, what the kernel did for it included."""

    def __init__(self):
        self.path = None
        for base in ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"):
            path = pathlib.Path(base) / f"cordon-bench-{os.getpid()}"
            try:
                path.mkdir()
                self.path = path
                return
            except OSError:
                continue

    def microseconds(self):
        return int((self.path / "cpuacct.usage").read_text()) / 1000

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
        self.add(subjects, folder, "cordon, library, landlock tier", "backend=landlock")
        workspace = f"{folder}/cordon, library, cold/workspace"
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
    if not cgroup.path:
        print("processor time: not measured: no cpuacct cgroup can be made here")
        return {}
    result = {}
    for name, call in rows.words.items():
        subjects.ask("settle")
        before = cgroup.microseconds()
        for _ in range(options.rounds // 3):
            subjects.number(*call)
        subjects.ask("settle")
        result[name] = (cgroup.microseconds() - before) / (options.rounds // 3)
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


def launchers():
    """The launchers that are running, by their name and the file that they were started from."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if entry.read_text().strip() == "cordon-launcher":
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return set(found)


def measure_memory(build, folder, options):
    """Resident KiB of a launcher and of a sandbox that waits, before and after many runs."""
    before = launchers()
    subjects = Subjects(build)
    if subjects.ask("executor", "memory", f"{folder}/memory", "ready=1") != "ok":
        subjects.close()
        return {}
    subjects.number("run", "memory")
    subjects.ask("settle")
    mine = launchers() - before
    parents = [pid for pid in mine if any(child in mine for child in children_of(pid))]
    if not parents:
        subjects.close()
        return {}
    launcher = parents[0]
    result = {"launcher_kib": resident_kib(launcher),
              "waiting_kib": max([resident_kib(pid) for pid in children_of(launcher)], default=0)}
    for _ in range(options.rounds * 3):
        subjects.number("run", "memory")
    result["runs"] = options.rounds * 3
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


def print_tables(results):
    latency = results.get("latency", {})
    if latency:
        print(f"\n{'/bin/true':34} {'min us':>8} {'median':>8} {'p95':>8} {'x bare':>7} {'cpu us':>8} "
              f"{'1 w /s':>7} {'2 w /s':>7}")
        for name, row in latency.items():
            cpu = results.get("cpu", {}).get(name)
            rates = results.get("throughput", {}).get(name, [None, None])
            rest = [f"{cpu:8.0f}" if cpu else f"{'-':>8}", *(f"{r:7.0f}" if r else f"{'-':>7}" for r in rates)]
            print(f"{name:34} {row['min_us']:8.0f} {row['median_us']:8.0f} {row['p95_us']:8.0f} {row['x_bare']:7.2f} "
                  + " ".join(rest))
    memory = results.get("memory")
    if memory:
        print(f"\nresident: launcher {memory['launcher_kib']} KiB, after {memory['runs']} runs "
              f"{memory['launcher_kib_after_runs']} KiB; a waiting sandbox {memory['waiting_kib']} KiB")
    for name, steps in results.get("growth", {}).items():
        print(f"\n{name:44} {'median us':>10} {'ratio':>6}")
        for size, median, ratio in steps:
            print(f"{size:>44} {median:10.0f} {ratio:6.2f}")


def draw(results, path):
    """Bars of the medians, on a logarithmic axis, as SVG."""
    import math

    rows = sorted(((row["x_bare"], name) for name, row in results["latency"].items()))
    top = max(10.0, max(x for x, _ in rows) * 1.3)
    left, width, height = 250, 470, 26
    scale = width / math.log10(top)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 80}" height="{height * len(rows) + 50}" '
             'font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="18">/bin/true, median, times a bare posix_spawn (logarithmic)</text>']
    for at, (x, name) in enumerate(rows):
        y = 30 + at * height
        color = "#2a6fb0" if name.startswith("cordon") else "#999999"
        bar = max(2.0, math.log10(max(x, 1.0)) * scale)
        parts.append(f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{name}</text>'
                     f'<rect x="{left}" y="{y}" width="{bar:.0f}" height="{height - 8}" fill="{color}"/>'
                     f'<text x="{left + bar + 6:.0f}" y="{y + 15}">{x:.2f}</text>')
    parts.append("</svg>\n")
    pathlib.Path(path).write_text("\n".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each throughput measurement")
    parser.add_argument("--quick", action="store_true", help="smaller growth series")
    parser.add_argument("--only", default="latency,cpu,throughput,memory,growth")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    options = parser.parse_args()
    wanted = options.only.split(",")
    options.build = options.build.resolve()
    folder = tempfile.mkdtemp(prefix="cordon-bench-")
    cgroup = Cgroup()
    results = {"kernel": os.uname().release, "cpus": os.cpu_count(), "rounds": options.rounds, "user": os.geteuid()}
    subjects = Subjects(options.build, cgroup.path)
    try:
        rows = Rows(subjects, folder, options.build)
        if "latency" in wanted:
            results["latency"] = measure_latency(subjects, rows, options)
        if "cpu" in wanted:
            results["cpu"] = measure_cpu(subjects, rows, cgroup, options)
        if "throughput" in wanted:
            results["throughput"] = measure_throughput(subjects, rows, options)
        subjects.close()
        if "memory" in wanted:
            results["memory"] = measure_memory(options.build, folder, options)
        if "growth" in wanted:
            results["growth"] = measure_growth(options.build, folder, options)
    finally:
        if subjects.process.poll() is None:
            subjects.close()
        cgroup.close()
        shutil.rmtree(folder, ignore_errors=True)
    print_tables(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    if options.svg and "latency" in results:
        draw(results, options.svg)


if __name__ == "__main__":
    main()
