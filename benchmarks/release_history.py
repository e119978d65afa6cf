"""The benchmarks from release to release: a line of JSON for each, and a figure of all of them.

python benchmarks/run.py --record       adds the line of this version, on an otherwise idle machine
python benchmarks/release_history.py             draws the figure again

Times of two machines do not compare two releases. Therefore the figure shows the speedup of loopdbg over the faster of
ONNX Runtime and OpenVINO, which were measured alternately with it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from report_schema import BenchmarkReport

HISTORY_DIRECTORY = Path(__file__).parent / "history"
RECORDS_PATH = HISTORY_DIRECTORY / "releases.jsonl"
FIGURE_PATH = HISTORY_DIRECTORY / "releases.svg"


class CaseFigures(TypedDict):
    """One case: medians in microseconds per iteration by runner, and ``ratio`` as in a report."""

    us: dict[str, float]
    ratio: float | None


class ReleaseRecord(TypedDict):
    """One release, measured on one machine with one thread each."""

    version: str
    date: str
    machine: dict[str, str]
    cases: dict[str, CaseFigures]


def make_record(report: BenchmarkReport, day: date) -> ReleaseRecord:
    """Return the record of a report, rounded to three digits, which is the reproducible precision."""
    machine = dict(report["machine"])
    part = report["parts"][0]
    cases: dict[str, CaseFigures] = {
        case["name"]: {
            "us": {runner: _round_to_three_digits(timing["median_us"]) for runner, timing in case["times"].items()},
            "ratio": None if case["ratio"] is None else _round_to_three_digits(case["ratio"]),
        }
        for case in part["cases"]
    }
    return {"version": machine.pop("loopdbg"), "date": day.isoformat(), "machine": machine, "cases": cases}


def _round_to_three_digits(number: float) -> float:
    return float(f"{number:.3g}")


def read_records(path: Path = RECORDS_PATH) -> list[ReleaseRecord]:
    """Return all records, the oldest first."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def add_record(new: ReleaseRecord, path: Path = RECORDS_PATH) -> list[ReleaseRecord]:
    """Append a record; replace one of the same version and processor."""
    others = [old for old in read_records(path) if _record_key(old) != _record_key(new)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in [*others, new]), encoding="utf-8")
    return [*others, new]


def _record_key(record: ReleaseRecord) -> tuple[str, str]:
    return record["version"], record["machine"]["processor"]


def draw_history(records: Sequence[ReleaseRecord], path: Path = FIGURE_PATH) -> None:
    """Draw a line for each case, over the releases; the suffix is the format."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    # Text stays text, and the same records give the same file.
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "loopdbg", "font.size": 9}):
        figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
        axis.set_prop_cycle(color=plt.get_cmap("tab20").colors)
        for name, points in ratio_series(records).items():
            axis.plot(*zip(*points, strict=True), marker="o", ms=4, label=name)
        _label_axes(axis, records)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {})
        plt.close(figure)


def ratio_series(records: Sequence[ReleaseRecord]) -> dict[str, list[tuple[int, float]]]:
    """Return the ratios of each case, with the number of the record."""
    series: dict[str, list[tuple[int, float]]] = {}
    for number, record in enumerate(records):
        for name, figures in record["cases"].items():
            if figures["ratio"] is not None:
                series.setdefault(name, []).append((number, figures["ratio"]))
    return series


def _label_axes(axis: Any, records: Sequence[ReleaseRecord]) -> None:
    axis.set_xticks(range(len(records)), [f"{record['version']}\n{record['date']}" for record in records])
    axis.set_yscale("log")
    axis.set_ylabel("times as fast as the faster of ONNX Runtime and OpenVINO")
    axis.axhline(1, color="#8a8a8a", linewidth=1)
    axis.grid(axis="y", alpha=0.3)
    axis.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


if __name__ == "__main__":
    draw_history(read_records())
