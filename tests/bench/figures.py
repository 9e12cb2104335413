"""What bench.py measured, as tables, as a drawing, and as the section of README.md."""

import math
import pathlib

BEGIN = "<!-- bench: begin; written by tests/bench/bench.py --readme -->"
END = "<!-- bench: end -->"


def latency_table(results):
    lines = [f"{'/bin/true':34} {'min us':>8} {'median':>8} {'p95':>8} {'x bare':>7} {'cpu us':>8} {'peak KiB':>8} "
             f"{'1 w /s':>7} {'2 w /s':>7}"]

    def cell(value, width):
        return f"{value:{width}.0f}" if value is not None else f"{'-':>{width}}"

    for name, row in results["latency"].items():
        rates = results.get("throughput", {}).get(name, [None, None])
        lines.append(f"{name:34} {row['min_us']:8.0f} {row['median_us']:8.0f} {row['p95_us']:8.0f} {row['x_bare']:7.2f} "
                     f"{cell(results.get('cpu', {}).get(name), 8)} {cell(results.get('peak', {}).get(name), 8)} "
                     + " ".join(cell(rate, 7) for rate in rates))
    return lines


def memory_lines(memory):
    return [f"resident: launcher {memory['launcher_kib']} KiB, after {memory['runs']} runs "
            f"{memory['launcher_kib_after_runs']} KiB; a waiting sandbox {memory['waiting_kib']} KiB"]


def growth_tables(growth):
    lines = []
    for name, steps in growth.items():
        lines += ["", f"{name:44} {'median us':>10} {'ratio':>6}"]
        lines += [f"{size:>44} {median:10.0f} {ratio:6.2f}" for size, median, ratio in steps]
    return lines


def policy_table(policy):
    lines = [f"{'processor time of deciding':40} {'size':>6} {'us':>10}"]
    return lines + [f"{name:40} {size:>6} {us:10.1f}" for name, size, us in policy]


def tables(results):
    lines = []
    if results.get("latency"):
        lines += ["", *latency_table(results)]
    if results.get("memory"):
        lines += ["", *memory_lines(results["memory"])]
    if results.get("growth"):
        lines += growth_tables(results["growth"])
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
