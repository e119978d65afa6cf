"""Schema of a benchmark report: plain data, the same in memory and in JSON. Times are microseconds."""

from __future__ import annotations

import statistics
from typing import NotRequired, TypedDict

from runners import PEERS


class Timing(TypedDict):
    """Microseconds per iteration, of each round and over all rounds."""

    median_us: float
    min_us: float
    rounds_us: list[float]
    #: Compilation time in seconds, for runners that report it.
    compiling_s: NotRequired[float]


class CaseReport(TypedDict):
    """One case: ``times`` of the runners with the right result, and why others are missing."""

    name: str
    description: str
    iterations: int
    goal: float | None
    stepped_goal: float | None
    times: dict[str, Timing]
    failed: dict[str, str]
    #: Time of the faster peer relative to loopdbg, headless and stepped.
    ratio: float | None
    stepped_ratio: float | None


class SweepRow(TypedDict):
    """One size."""

    size: int
    times: dict[str, Timing]
    failed: dict[str, str]


class SizeSweep(TypedDict):
    """How the time per iteration of a case grows with its size."""

    name: str
    description: str
    size_name: str
    rows: list[SweepRow]


class ReportPart(TypedDict):
    """One process: everything in it runs on the same number of threads, "1" or "default"."""

    threads: str
    cases: list[CaseReport]
    sweeps: list[SizeSweep]


class BenchmarkReport(TypedDict):
    """The whole run."""

    machine: dict[str, str]
    parts: list[ReportPart]


def summarize_rounds(rounds_us: list[float]) -> Timing:
    """Return the rounds with their median and minimum."""
    return {"median_us": statistics.median(rounds_us), "min_us": min(rounds_us), "rounds_us": rounds_us}


def speedup_over_peers(times: dict[str, Timing], key: str) -> float | None:
    """Return the speedup of ``key`` over the faster peer; None if either is missing."""
    peers = [times[peer]["median_us"] for peer in PEERS if peer in times]
    if key not in times or not peers:
        return None
    return min(peers) / times[key]["median_us"]
