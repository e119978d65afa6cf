"""The figures of releases: what is kept of a report, and what is drawn of it."""

from __future__ import annotations

import importlib.util
import json
from datetime import date
from pathlib import Path
from typing import Any

import source_checks

_spec = importlib.util.spec_from_file_location(
    "release_history", source_checks.ROOT / "benchmarks" / "release_history.py"
)
assert _spec is not None and _spec.loader is not None
records = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(records)


def report(version: str, ratio: float | None = 41.5678, processor: str = "one") -> dict[str, Any]:
    """What a run of one case gives."""
    times = {"loopdbg": {"median_us": 0.0204321, "min_us": 0.02, "rounds_us": [0.02]}}
    machine = {"processor": processor, "cores": "2", "loopdbg": version}
    return {"machine": machine, "parts": [{"cases": [{"name": "scalar", "times": times, "ratio": ratio}]}]}


def line(version: str, **inputs: Any) -> Any:
    return records.make_record(report(version, **inputs), date(2026, 1, 2))


def test_a_line_has_version_date_machine_and_figures() -> None:
    assert line("1.0") == {
        "version": "1.0",
        "date": "2026-01-02",
        "machine": {"processor": "one", "cores": "2"},
        "cases": {"scalar": {"us": {"loopdbg": 0.0204}, "ratio": 41.6}},
    }


def test_a_release_has_one_line_for_each_processor(tmp_path: Path) -> None:
    path = tmp_path / "history" / "releases.jsonl"
    for version, processor in (("1.0", "one"), ("1.1", "one"), ("1.1", "two"), ("1.0", "one")):
        kept = records.add_record(line(version, processor=processor), path)
    assert [(item["version"], item["machine"]["processor"]) for item in kept] == [
        ("1.1", "one"),
        ("1.1", "two"),
        ("1.0", "one"),
    ]
    assert records.read_records(path) == kept
    assert [json.loads(text) for text in path.read_text("utf-8").splitlines()] == kept


def test_what_no_peer_ran_has_no_point() -> None:
    kept = [line("1.0"), line("1.1", ratio=None), line("1.2", ratio=50.0)]
    assert records.ratio_series(kept) == {"scalar": [(0, 41.6), (2, 50.0)]}


def test_the_picture_is_that_of_the_lines(tmp_path: Path) -> None:
    kept = records.read_records()
    assert kept and all(item["cases"] for item in kept)
    records.draw_history(kept, tmp_path / "releases.svg")
    drawn = (tmp_path / "releases.svg").read_text("utf-8")
    for name in records.ratio_series(kept):
        assert f">{name}</text>" in drawn and f">{name}</text>" in records.FIGURE_PATH.read_text("utf-8")
