"""Tells docs/performance/runs.jsonl, the lines that `schedlab bench --output` wrote: pictures, and a table of the page.

    python -m tools.plot_speed

docs/performance.md: the table between its two marks, medians of the runs at full size. ratios.svg: how far above kube-scheduler each workload is, batch and live. scaling.svg: time per pod by number of nodes.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from math import log10
from pathlib import Path
from statistics import median
from typing import Any
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "performance"
PAGE = FOLDER.with_suffix(".md")
#: Between these the page has the table.
BEGIN, END = "<!-- runs.jsonl -->", "<!-- end of runs.jsonl -->"
COLOURS = ("#326ce5", "#f58220", "#3c9d5d", "#a03c8c", "#777777")
FONT = 'font-family="sans-serif" font-size="12"'

Line = Mapping[str, Any]


def read(path: Path) -> list[Line]:
    """The runs of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def kind(line: Line) -> str:
    """How the workload was run."""
    extras = [line["mode"]]
    if line.get("processes") == 2:
        extras.append("two processes")
    if line["annotations"] != "auto":
        extras.append(f"annotations {line['annotations']}")
    return ", ".join(extras)


def ratios(lines: Sequence[Line]) -> dict[str, dict[str, float]]:
    """The median ratio of each workload, by mode."""
    found: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        # Clients and server of a live run take turns on the machine, so there only the clock tells.
        ratio = line["ratioByProcessorTime"] if line["mode"] == "batch" else line["ratio"]
        if ratio is not None:
            found.setdefault(line["workload"].split("/")[0], {}).setdefault(kind(line), []).append(ratio)
    return {name: {mode: median(values) for mode, values in modes.items()} for name, modes in found.items()}


def scaling(lines: Sequence[Line]) -> dict[str, list[tuple[int, float]]]:
    """Processor time per pod in us by number of nodes, of the workloads that were run at several sizes in batch."""
    found: dict[str, dict[int, list[float]]] = {}
    for line in lines:
        if line["mode"] == "batch":
            by_nodes = found.setdefault(line["workload"].split("/")[0], {})
            by_nodes.setdefault(line["params"]["initNodes"], []).append(line["cpuMicrosecondsPerPod"])
    return {
        name: sorted((nodes, min(costs)) for nodes, costs in by_nodes.items())
        for name, by_nodes in found.items()
        if len(by_nodes) > 2
    }


def table(lines: Sequence[Line]) -> str:
    """The medians of each workload that was run at full size, as a Markdown table."""
    found: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if line["ratio"] is not None:
            found.setdefault((line["workload"].split("/")[0], kind(line)), []).append(line)
    rows = [
        "| workload | mode | runs | pods/s | spread | that is | by processor time | cycle, median µs | memory at most |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, mode), runs in found.items():
        speeds, ratio = [run["podsPerSecond"]["Average"] for run in runs], median(run["ratio"] for run in runs)
        # Clients of a live run take their turns on the same machine: its processor time is not that of the server alone.
        by_cpu = f"{median(run['ratioByProcessorTime'] for run in runs):.1f} R" if runs[0]["mode"] == "batch" else ""
        spread = f"{min(speeds):,.0f} to {max(speeds):,.0f}" if len(runs) > 1 else ""
        cycle = median(run["cycleMicroseconds"]["Perc50"] for run in runs)
        memory = max(run["memoryPeakMiB"] for run in runs)
        rows.append(
            f"| {name} | {mode} | {len(runs)} | {median(speeds):,.0f} | {spread} | {ratio:.1f} R | {by_cpu} | {cycle:.0f} "
            f"| {memory} MiB |"
        )
    return "\n".join(rows)


def with_table(page: str, lines: Sequence[Line]) -> str:
    """The page with the table of these lines between its marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table(lines)}\n\n{END}{rest.split(END)[1]}"


def draw_ratios(found: Mapping[str, Mapping[str, float]]) -> str:
    """Bars, one group per workload."""
    longest = max((value for modes in found.values() for value in modes.values()), default=1.0)
    width, left, row = 720, 210, 22
    parts, top = [], 30
    for name, modes in found.items():
        parts.append(_text(left - 8, top + 15, name, anchor="end"))
        for mode, value in sorted(modes.items()):
            size = value / longest * (width - left - 60)
            colour = COLOURS[mode != "batch"]
            parts.append(f'<rect x="{left}" y="{top + 3}" width="{size:.1f}" height="{row - 6}" fill="{colour}"/>')
            parts.append(_text(left + size + 6, top + 15, f"{value:.1f} R{'' if mode == 'batch' else f' {mode}'}"))
            top += row
        top += 6
    title = _text(
        10, 18, "Pods per second of processor time, in multiples of kube-scheduler's on a machine of the same speed"
    )
    return _svg(width, top + 10, [title, *parts])


def draw_scaling(found: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """Lines on logarithmic axes."""
    width, height, left, bottom = 720, 360, 70, 50
    points = [point for line in found.values() for point in line]
    if not points:
        return _svg(width, 40, [_text(10, 20, "no workload was run at three sizes")])
    low_x, high_x = log10(min(x for x, _ in points)), log10(max(x for x, _ in points))
    low_y, high_y = 2.0, max(4.0, log10(max(y for _, y in points)) + 0.1)

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + (log10(x) - low_x) / max(high_x - low_x, 0.1) * (width - left - 200)
        return across, height - bottom - (log10(y) - low_y) / (high_y - low_y) * (height - bottom - 40)

    parts = [_text(10, 18, "Processor time per pod in us, by number of nodes")]
    for tick in (100, 1000, 10_000, 100_000):
        if low_y <= log10(tick) <= high_y:
            _, y = place(10**low_x, tick)
            parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - 200}" y2="{y:.1f}" stroke="#ddd"/>')
            parts.append(_text(left - 6, y + 4, f"{tick:,}", anchor="end"))
    for nodes in sorted({x for x, _ in points}):
        x, _ = place(nodes, 100)
        parts.append(_text(x, height - bottom + 20, f"{nodes:,}", anchor="middle"))
    for index, (name, line) in enumerate(found.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = place(*line[-1])
        parts.append(_text(x + 6, y + 4, f"{name} {line[-1][1]:.0f}", colour=colour))
    return _svg(width, height, parts)


def _text(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {FONT} fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n{body}\n</svg>\n'
    )


def pages() -> dict[Path, str]:
    """What is made of the lines, with its text."""
    lines = read(FOLDER / "runs.jsonl")
    return {
        PAGE: with_table(PAGE.read_text(encoding="utf-8"), lines),
        FOLDER / "ratios.svg": draw_ratios(ratios(lines)),
        FOLDER / "scaling.svg": draw_scaling(scaling(lines)),
    }


def main() -> None:
    """Write the pictures and the table."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {path.name}\n")


if __name__ == "__main__":
    main()
