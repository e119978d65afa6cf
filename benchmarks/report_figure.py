"""The report as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from report_schema import BenchmarkReport, ReportPart, SizeSweep
from runners import RUNNERS

COLOURS = {
    "loopdbg": "#0b7a75",
    "stepped": "#a9dcd8",
    "onnxruntime": "#8a8a8a",
    "openvino": "#4c6ef5",
    "onnx.reference": "#c9a0dc",
    "c": "#e0a030",
    "xla": "#d6336c",
    "torch": "#ee6c2c",
}


def draw_report(report: BenchmarkReport, path: Path) -> None:
    """Draw the time per iteration of every case, and cost against size, of the first part; the suffix is the format."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    # Text stays text, and the same report gives the same file.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "loopdbg", "font.size": 9})
    part = report["parts"][0]
    panels = bool(part["cases"]) + bool(part["sweeps"])
    if not panels:
        raise ValueError("nothing was measured")
    figure: Any = plt.figure(figsize=(9, 4 * panels), layout="constrained")
    areas: list[Any] = list(figure.subfigures(panels, 1, squeeze=False)[:, 0])
    if part["cases"]:
        _draw_bars_of_cases(areas.pop(0).subplots(), part)
    if part["sweeps"]:
        axes = areas.pop(0).subplots(1, len(part["sweeps"]), squeeze=False)[0]
        for axis, sweep in zip(axes, part["sweeps"], strict=True):
            _draw_sweep_lines(axis, sweep)
    threads = "1 thread" if part["threads"] == "1" else "default threads"
    figure.suptitle(f"Time per iteration, {threads}\n{report['machine']['processor']}", fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    figure.savefig(path, dpi=150, metadata=metadata)
    plt.close(figure)


def _draw_bars_of_cases(axis: Any, part: ReportPart) -> None:
    cases = part["cases"]
    keys = [key for key in RUNNERS if any(key in case["times"] for case in cases)]
    width = 0.84 / len(keys)
    for k, key in enumerate(keys):
        medians = [(n, case["times"][key]["median_us"]) for n, case in enumerate(cases) if key in case["times"]]
        positions = [n + (k - (len(keys) - 1) / 2) * width for n, _ in medians]
        axis.bar(positions, [us for _, us in medians], width, color=COLOURS[key], label=RUNNERS[key].title)
    axis.set_xticks(
        range(len(cases)), [case["name"] for case in cases], rotation=30, ha="right", rotation_mode="anchor"
    )
    axis.set_yscale("log")
    axis.set_ylabel("µs per iteration")
    axis.legend(ncols=len(keys), fontsize=8, loc="upper left", frameon=False)
    axis.margins(x=0.01, y=0.15)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


def _draw_sweep_lines(axis: Any, sweep: SizeSweep) -> None:
    for key, runner in RUNNERS.items():
        points = [(row["size"], row["times"][key]["median_us"]) for row in sweep["rows"] if key in row["times"]]
        if points:
            axis.plot(*zip(*points, strict=True), marker="o", ms=3, color=COLOURS[key], label=runner.title)
    axis.set_xscale("log", base=10 if sweep["size_name"] == "iterations" else 2)
    axis.set_yscale("log")
    axis.set_title(sweep["description"], fontsize=9)
    axis.set_xlabel(sweep["size_name"])
    axis.set_ylabel("µs per iteration")
    axis.legend(fontsize=8, frameon=False)
    axis.grid(alpha=0.3)
