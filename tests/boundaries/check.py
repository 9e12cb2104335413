#!/usr/bin/env python3
"""Checks which module includes what, how the compiler of views looks at the host, and that the public headers are the
committed ones.

    check.py             prints each violation, exit 1 when there is one
    check.py --update    writes public_headers.txt anew; the diff of it is a change of the interface, for review
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = "tests/boundaries/public_headers.txt"

# Folder of each module, and the modules that it may include beside itself.
MODULES = {
    "sdk": [],
    "gate": ["sdk"],
    "sandbox": ["sdk"],
    "net-proxy": ["sdk"],
    "tools/bash": ["sdk"],
}

# Libraries that belong to some modules only, by the start of the included path.
LIBRARIES = {
    "nlohmann/": ["sdk", "gate", "tools/bash"],
    "openssl/": ["sdk", "gate", "net-proxy"],
    "seccomp.h": ["sandbox"],
    "asio": ["net-proxy"],
    "llhttp": ["net-proxy"],
    "CLI/": [],
    "curl/": [],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")', re.MULTILINE)
TEST_NAME = re.compile(r'\b(?:TEST_CASE|SCENARIO)\s*\(\s*"((?:[^"\\]|\\.)*)"')


# Of what compiles a view: what asks the host and says itself when an answer has changed.
LOOKS_BY_ITSELF = ("directory_reader", "host_journal", "host_looks", "unix_socket_table", "place_memory", "workspace_index",
                   "index_cache", "folder_watches", "mount_table",
                   "published_names",  # Of use only while what others have planted is there, which shows otherwise.
                   "landlock_abi", "landlock_report")  # What these ask is the same for the life of an executor.
# What asks the host past directory_reader.h, which tells a journal (sandbox/src/host_journal.h).
LOOK = re.compile(r"\b(ResolveSymlinks|AcquirePath|[fl]?stat|statx|fstatat|statfs|readlink|readlinkat|access|faccessat|opendir|"
                  r"scandir|glob|getenv|secure_getenv|p?read|mmap|syscall|getpw\w+|getgr\w+)\(|\bifstream\b|\bfs::|\bfilesystem::")

# Folders of tests that feed private parsers.
LOOKS_INSIDE = ("fuzz", "corpus", "oracle", "bench/policy.cc")


def short_name(module):
    """The name in cordon/<name>/..., cordon::<name> and cordon_<name>."""
    return module.rsplit("/", 1)[-1]


def includes(path):
    for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
        yield match.group(1)[1:-1], match.group(1)[0] == '"'


def code_files(folder):
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cc", ".c"))


def public_headers(root):
    found = []
    for module in MODULES:
        found += [p.relative_to(root).as_posix() for p in code_files(root / module / "include")]
    return sorted(found)


def check_includes(root, module):
    allowed = {short_name(m) for m in MODULES[module]} | {short_name(module)}
    for path in code_files(root / module):
        where = path.relative_to(root).as_posix()
        for name, _ in includes(path):
            parts = name.split("/")
            if parts[0] == "cordon" and len(parts) > 1 and parts[1] not in allowed:
                yield f"{where}: includes {name}, but {module} may include only: {', '.join(sorted(allowed))}"
            if ".." in parts or name.startswith("/"):
                yield f"{where}: includes {name}, a way around the include folders"
            for prefix, owners in LIBRARIES.items():
                if name.startswith(prefix) and module not in owners:
                    yield f"{where}: includes {name}, which {module} does not use"


def check_public(root, module):
    """Public headers stand at M/include/cordon/M, are declared, and show only the standard, absl and cordon."""
    manifest = root / module / "CMakeLists.txt"
    declared = manifest.read_text(encoding="utf-8") if manifest.is_file() else None
    for path in code_files(root / module / "include"):
        where = path.relative_to(root).as_posix()
        inner = path.relative_to(root / module).as_posix()
        if not re.fullmatch(rf"include/cordon/{re.escape(short_name(module))}/[a-z0-9_]+\.h", inner):
            yield f"{where}: a public header is {module}/include/cordon/{short_name(module)}/<name>.h"
        if declared is not None and inner not in re.split(r"[\s()]+", declared):
            yield f"{where}: is not among the HEADERS of {module}/CMakeLists.txt, so it would not be installed"
        for name, quoted in includes(path):
            if quoted and not name.startswith(("cordon/", "absl/")):
                yield f"{where}: a public header includes {name}, which is not public"
            if not quoted and any(name.startswith(prefix) for prefix in LIBRARIES):
                yield f"{where}: a public header includes {name}: that library would become everybody's"


def check_wiring(root):
    """tools/cli, samples and tests use the modules as any consumer does; fuzz targets, the corpora of parsers and what times
    single steps may look inside."""
    inside = {p.name for m in MODULES for p in code_files(root / m / "src") if p.suffix == ".h"}
    for folder in ("tools/cli", "samples", "tests"):
        own = {p.name for p in code_files(root / folder)}
        for path in code_files(root / folder):
            if any(path.is_relative_to(root / "tests" / folder) for folder in LOOKS_INSIDE):
                continue
            where = path.relative_to(root).as_posix()
            for name, quoted in includes(path):
                if ".." in name.split("/") or "/src/" in name:
                    yield f"{where}: includes {name}, a way around the include folders"
                elif quoted and name in inside and name not in own:
                    yield f"{where}: includes {name}, which is private to its module"


def check_test_names(root):
    for folder in (*MODULES, "tools/cli", "samples", "tests"):
        for path in code_files(root / folder):
            for name in TEST_NAME.findall(path.read_text(encoding="utf-8")):
                if ";" in name:
                    yield f'{path.relative_to(root)}: "{name}": CMake would split the name at the semicolon'


def view_sources(root):
    """What a view is compiled by: view.cc and, of this folder, whatever that includes."""
    folder = root / "sandbox/src"
    found, pending = set(), ["view", "git_config"]
    while pending:
        stem = pending.pop()
        if stem in found or stem in LOOKS_BY_ITSELF:
            continue
        found.add(stem)
        for path in (folder / f"{stem}.h", folder / f"{stem}.cc"):
            if path.is_file():
                pending += [name[:-2] for name, quoted in includes(path) if quoted and "/" not in name]
    return [path for stem in sorted(found) if (path := folder / f"{stem}.cc").is_file()]


def check_view_looks(root):
    for path in view_sources(root):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if look := LOOK.search(line):
                yield (f"{path.relative_to(root)}:{number}: {look.group(0)} is not noted, so a view would not be compiled again "
                       "when the answer changes; ask by way of host_looks.h")


def check_list(root):
    listed = []
    if (root / LIST).is_file():
        listed = [line for line in (root / LIST).read_text().splitlines() if line and line[0] != "#"]
    actual = public_headers(root)
    hint = "if that is meant: tests/boundaries/check.py --update"
    for name in sorted(set(actual) - set(listed)):
        yield f"{name}: is public and not in {LIST}; {hint}"
    for name in sorted(set(listed) - set(actual)):
        yield f"{name}: is in {LIST} and not in the tree; {hint}"


def violations(root):
    for module in MODULES:
        yield from check_includes(root, module)
        yield from check_public(root, module)
    yield from check_wiring(root)
    yield from check_test_names(root)
    yield from check_view_looks(root)
    yield from check_list(root)


def update(root):
    text = "# The public headers, written by tests/boundaries/check.py --update.\n"
    (root / LIST).write_text(text + "".join(f"{name}\n" for name in public_headers(root)))


def main():
    if sys.argv[1:] == ["--update"]:
        update(ROOT)
        return 0
    if sys.argv[1:]:
        print(__doc__)
        return 2
    found = list(violations(ROOT))
    print("\n".join(found) if found else f"{len(public_headers(ROOT))} public headers, no violation")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
