"""The report as text."""

from __future__ import annotations

import math
from collections.abc import Iterator

from report_schema import BenchmarkReport, ReportPart, SizeSweep, Timing
from runners import RUNNERS

ABSENT = "–"


def lines(report: BenchmarkReport) -> Iterator[str]:
    """Yield the machine, then the tables of each part."""
    yield from _machine_lines(report["machine"])
    for part in report["parts"]:
        yield ""
        yield from _part_lines(part)


def _machine_lines(words: dict[str, str]) -> Iterator[str]:
    cores = f"{words['cores']} core{'s' if words['cores'] != '1' else ''}"
    memory = f"{words['memory']} memory" if "memory" in words else ""
    yield ", ".join(filter(None, (words["processor"], cores, memory, words["system"])))
    hardware = {"processor", "cores", "memory", "system"}
    yield ", ".join(f"{name} {version}" for name, version in words.items() if name not in hardware)


def _part_lines(part: ReportPart) -> Iterator[str]:
    threads = "1 thread each" if part["threads"] == "1" else "threads as each runtime has them by default"
    if part["cases"]:
        yield f"Microseconds per iteration, {threads}: the median of the rounds (the fastest round)."
        yield "stepped: loopdbg with a Python function called at every boundary."
        yield "ratio: how many times as fast as the faster of ONNX Runtime and OpenVINO. goal: what that must be."
        yield ""
        yield from _case_lines(part)
    for sweep in part["sweeps"]:
        yield ""
        yield f"{sweep['description']}: microseconds per iteration, {threads}"
        yield ""
        yield from _sweep_lines(sweep)


def _case_lines(part: ReportPart) -> Iterator[str]:
    notes: list[str] = []
    rows = [["", *(runner.title for runner in RUNNERS.values()), "ratio", "goal", "stepped ratio", "goal"]]
    for case in part["cases"]:
        cells = [_time_cell(key, case["times"], case["failed"], notes) for key in RUNNERS]
        headless_goal = _goal_cell(case["goal"], case["ratio"])
        stepped_goal = _goal_cell(case["stepped_goal"], case["stepped_ratio"])
        ratios = [_ratio_cell(case["ratio"]), headless_goal, _ratio_cell(case["stepped_ratio"]), stepped_goal]
        rows.append([case["name"], *cells, *ratios])
    yield from _align_columns(rows)
    yield from notes
    yield from _compile_time_lines(part)
    yield ""
    header = ["", "iterations", ""]
    descriptions = [[case["name"], _group_digits(case["iterations"]), case["description"]] for case in part["cases"]]
    yield from _align_columns([header, *descriptions], "lrl")


def _compile_time_lines(part: ReportPart) -> Iterator[str]:
    """Compilation times in seconds, which are in none of the times."""
    for key, runner in RUNNERS.items():
        durations = [(case["name"], case["times"].get(key, {}).get("compiling_s")) for case in part["cases"]]
        texts = [f"{name} {seconds:.1f}" for name, seconds in durations if seconds is not None]
        if texts:
            yield f"{runner.title} compiled before it was timed, seconds: {', '.join(texts)}"


def _sweep_lines(sweep: SizeSweep) -> Iterator[str]:
    notes: list[str] = []
    keys = [key for key in RUNNERS if any(key in row["times"] for row in sweep["rows"])]
    rows = [[sweep["size_name"], *(RUNNERS[key].title for key in keys)]]
    for row in sweep["rows"]:
        rows.append(
            [_group_digits(row["size"]), *(_time_cell(key, row["times"], row["failed"], notes) for key in keys)]
        )
    yield from _align_columns(rows, "")
    yield from notes


def _time_cell(key: str, times: dict[str, Timing], failed: dict[str, str], notes: list[str]) -> str:
    """A time, or a dash and the number of the note with the reason."""
    if key in times:
        return _timing_text(times[key])
    if not failed.get(key):
        return ABSENT
    note = f"{RUNNERS[key].title}: {failed[key]}"
    texts = [text.partition(" ")[2] for text in notes]
    if note not in texts:
        notes.append(f"[{len(notes) + 1}] {note}")
        texts.append(note)
    return f"{ABSENT} [{texts.index(note) + 1}]"


def _timing_text(timing: Timing) -> str:
    """Median and minimum with the digits that the rounds agree on: three if most are within 2 %, else two."""
    values = sorted(timing["rounds_us"])
    upper = values[len(values) - 1 - len(values) // 4]
    spread = (upper - values[0]) / timing["median_us"]
    digits = 3 if spread < 0.02 else 2
    return f"{_rounded_text(timing['median_us'], digits)} ({_rounded_text(timing['min_us'], digits)})"


def _rounded_text(value: float, digits: int) -> str:
    """Format with significant digits, never in exponent form."""
    if value <= 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(value))
    value = round(value, decimals)
    decimals = digits - 1 - math.floor(math.log10(value))  # 0.0999 may be rounded to 0.10
    return f"{value:.{max(decimals, 0)}f}"


def _ratio_cell(ratio: float | None) -> str:
    return ABSENT if ratio is None else f"{_rounded_text(ratio, 2)}x"


def _goal_cell(goal: float | None, ratio: float | None) -> str:
    """The goal, and whether it is reached."""
    if goal is None:
        return ""
    return f"{goal:g}x {'✓' if ratio is not None and ratio >= goal else '✗'}"


def _group_digits(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _align_columns(rows: list[list[str]], sides: str = "l") -> Iterator[str]:
    """Columns two spaces apart, each aligned by ``sides``, ``l`` or ``r``; right by default."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = (
            cell.ljust(width) if sides[k : k + 1] == "l" else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def failures(report: BenchmarkReport) -> list[str]:
    """Return the failures of loopdbg itself, a line each."""
    return [
        f"{case['name']}, {RUNNERS[key].title}: {case['failed'][key]}"
        for part in report["parts"]
        for case in part["cases"]
        for key in ("loopdbg", "stepped")
        if key in case["failed"]
    ]
