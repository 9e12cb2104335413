#!/usr/bin/env python3
"""Where does the processor time of a confined command go?

    tests/bench/stages.py [--build build/release] [--runs 400] [--ready N] [--one-network] [--command-line]

Runs /bin/true that often under perf(1) (clock samples of every process with their call chains; needs root, no counters
of the processor) and adds the samples up by process and by what it asked of the kernel. What the kernel does in threads
of its own, as for a network namespace that is gone, is not in it: bench.py's processor time is.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERTZ = 10000

# The first that is anywhere in a call chain says what it is.
STAGES = [("copy_net_ns", "network namespace"), ("__do_sys_clone", "the other namespaces, processes"),
          ("vfs_open_tree", "mounts"), ("move_mount", "mounts"), ("sys_fsopen", "mounts"), ("sys_fsconfig", "mounts"),
          ("sys_fsmount", "mounts"), ("mount_setattr", "mounts"), ("mkdir", "mounts"), ("mknod", "mounts"),
          ("pivot_root", "change of the root"), ("sys_umount", "change of the root"), ("landlock", "Landlock"),
          ("do_seccomp", "seccomp"), ("execve", "exec"), ("sys_ioctl", "loopback"), ("sys_socket", "loopback"),
          ("exit_mmap", "end of memory"), ("do_exit", "end of processes, namespaces"), ("prctl", "capabilities"),
          ("openat2", "opening without links"), ("sys_close", "closing"), ("sys_statx", "looking (statx)"),
          ("readlink", "reading links"), ("sendmsg", "messages"), ("recvmsg", "messages"), ("poll", "messages"),
          ("sys_wait4", "waiting"), ("exc_page_fault", "page faults"), ("sys_read", "reading"), ("sys_open", "opening")]


def commands(options, folder):
    """What runs, and what it reads."""
    if options.command_line:
        workspace = folder / "workspace"
        workspace.mkdir()
        one = f"'{options.build}/tools/cli/cordon' run -w '{workspace}' -- /bin/true"
        return ["sh", "-c", f"for i in $(seq {options.runs}); do {one}; done"], ""
    more = "\tshare_network=1" if options.one_network else ""
    lines = [f"executor\tx\t{folder}\tready={options.ready}{more}"] + ["run\tx"] * options.runs
    return [str(options.build / "tests/bench/bench_spawn_subjects")], "\n".join(lines) + "\n"


def samples(options, folder):
    """(process, call chain) of each sample of what was started here."""
    words, text = commands(options, folder)
    data = folder / "perf.data"
    record = ["perf", "record", "-q", "-F", str(HERTZ), "-e", "cpu-clock", "-g", "-o", data, "--", *words]
    subprocess.run(record, input=text, text=True, stdout=subprocess.DEVNULL, check=True)
    script = subprocess.run(["perf", "script", "-i", data, "-F", "comm,pid,ip,sym"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for block in script.split("\n\n"):
        lines = block.strip("\n").split("\n")
        name = re.match(r"\s*(.+?)\s+\d+", lines[0])
        if name:
            yield name.group(1), [line.strip().split(" ", 1)[-1] for line in lines[1:]]


def stage_of(chain):
    text = " ".join(chain)
    for mark, stage in STAGES:
        if mark in text:
            return stage
    is_kernel = any("entry_SYSCALL" in call or "asm_" in call or "ret_from_fork" in call for call in chain)
    return "other calls" if is_kernel else "own code"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--ready", type=int, default=0)
    parser.add_argument("--one-network", action="store_true")
    parser.add_argument("--command-line", action="store_true")
    options = parser.parse_args()
    options.build = options.build.resolve()
    processes, stages = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(prefix="cordon-stages-") as folder:
        os.chmod(folder, 0o755)
        for process, chain in samples(options, pathlib.Path(folder)):
            processes[process] += 1
            stages[process, stage_of(chain)] += 1
    each = 1e6 / HERTZ / options.runs
    for process, count in processes.most_common():
        if count * each < 20:
            continue
        print(f"{process:42} {count * each:8.0f} us")
        for (own, stage), part in stages.most_common():
            if own == process and part * each >= 8:
                print(f"    {stage:38} {part * each:8.0f}")


if __name__ == "__main__":
    main()
