"""What bench.py measured, as tables, as a drawing, and as the section of README.md."""

import math
import pathlib

BEGIN = "<!-- bench: begin; written by tests/bench/bench.py --readme -->"
END = "<!-- bench: end -->"


def latency_table(results):
    lines = [f"{'/bin/true':36} {'min us':>8} {'median':>8} {'p95':>8} {'x bare':>7} {'cpu us':>8} {'peak KiB':>8} "
             f"{'1 w /s':>7} {'2 w /s':>7}"]

    def cell(value, width):
        return f"{value:{width}.0f}" if value is not None else f"{'-':>{width}}"

    for name, row in results["latency"].items():
        rates = results.get("throughput", {}).get(name, [None, None])
        lines.append(f"{name:36} {row['min_us']:8.0f} {row['median_us']:8.0f} {row['p95_us']:8.0f} {row['x_bare']:7.2f} "
                     f"{cell(results.get('cpu', {}).get(name), 8)} {cell(results.get('peak', {}).get(name), 8)} "
                     + " ".join(cell(rate, 7) for rate in rates))
    return lines


def memory_lines(memory):
    return [f"resident: launcher {memory['launcher_kib']} KiB, after {memory['runs']} runs "
            f"{memory['launcher_kib_after_runs']} KiB; a waiting sandbox {memory['waiting_kib']} KiB"]


def growth_tables(growth):
    lines = []
    for name, steps in growth.items():
        lines += ["", f"{name:64} {'median us':>10} {'ratio':>6}"]
        lines += [f"{size:>64} {median:10.0f} {ratio:6.2f}" for size, median, ratio in steps]
    return lines


def policy_table(policy):
    lines = [f"{'processor time of deciding':40} {'size':>6} {'us':>10}"]
    return lines + [f"{name:40} {size:>6} {us:10.1f}" for name, size, us in policy]


BUDGETS = [("cordon, library, cold", 3.6), ("cordon, library, cold, one network", 2.6), ("cordon, library, ready", 1.5),
           ("cordon, library, landlock tier", 1.6)]
BWRAP = "bwrap, same namespaces"


def budget_lines(results):
    """What the project wants to cost at most, and what it costs."""
    lines = [f"{'budget':68} {'wanted':>8} {'is':>8}"]

    def add(name, wanted, value, least=False):
        met = value >= wanted if least else value <= wanted
        lines.append(f"{name:68} {wanted:8.2f} {value:8.2f}{'' if met else '  not met'}")

    latency = results["latency"]
    for name, wanted in BUDGETS:
        if name in latency:
            add(f"{name}, x bare", wanted, latency[name]["x_bare"])
    if BWRAP in latency:
        add("cordon run, x bwrap", 1.0, latency["cordon run"]["median_us"] / latency[BWRAP]["median_us"])
        rates = results.get("throughput", {})
        for name, _ in BUDGETS:
            if name in rates and BWRAP in rates:
                add(f"{name}, two workers, x bwrap, at least", 3.0, rates[name][1] / rates[BWRAP][1], least=True)
    for name, steps in results.get("growth", {}).items():
        if name.startswith("files"):
            add(f"{steps[-1][0]} {name}, x none", 2.0, steps[-1][2])
        if name.startswith("MiB"):
            add(f"{steps[-1][0]} {name}, x none", 1.1, steps[-1][2])
    if results.get("memory"):
        add("launcher, MiB", 2.0, results["memory"]["launcher_kib_after_runs"] / 1024)
        add("a waiting sandbox, MiB", 1.0, results["memory"]["waiting_kib"] / 1024)
    return lines


def tables(results):
    lines = []
    if results.get("latency"):
        lines += ["", *latency_table(results)]
    if results.get("memory"):
        lines += ["", *memory_lines(results["memory"])]
    if results.get("growth"):
        lines += growth_tables(results["growth"])
    if results.get("latency"):
        lines += ["", *budget_lines(results)]
    if results.get("policy"):
        lines += ["", *policy_table(results["policy"])]
    if results.get("egress"):
        lines += ["", *results["egress"]]
    return lines


def draw(results, path):
    """Bars of the medians, on a logarithmic axis, as SVG."""
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


def write_readme(results, path, command):
    """Replaces what is between the markers."""
    text = path.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    lines = ["", f"{results['cpus']} processors, Linux {results['kernel']}, as user {results['user']}; "
             f"{results['rounds']} rounds, all rows of a table in one shuffled run, so read the ratios:", "",
             "```", f"$ {command}", *tables(results)[1:], "```", ""]
    path.write_text(text[:begin] + "\n".join(lines) + text[end:])
