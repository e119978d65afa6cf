"""Every row and point of SECURITY.md names the tests that hold it, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
_TEST = re.compile(r"`((?:unit|regression|fuzz|tui)/[\w/.]+)`")


def test_every_test_that_is_named_exists() -> None:
    named = _TEST.findall(TEXT)
    assert len(named) > 15
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


def test_every_promise_names_a_test() -> None:
    files = TEXT.partition("## Files that may be hostile")[2].partition("## Programs")[0]
    rows = [line for line in files.splitlines() if line.startswith("| ")][2:]
    points = re.split(r"\n- ", TEXT.partition("## Ports")[2].partition("## Not promised")[0])[1:]
    warnings = [point for point in points if point.startswith("**`serve --host")]
    assert len(rows) == 11 and len(points) > 8 and len(warnings) == 1
    for promise in (*rows, *(point for point in points if point not in warnings)):
        assert _TEST.search(promise), promise
