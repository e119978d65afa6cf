"""All SQL queries of traces and of sweep rows are in one module."""

from __future__ import annotations

import re
from pathlib import Path

import loopdbg

ROOT = Path(loopdbg.__file__).parent
SQL = re.compile(r"\b(SELECT|INSERT (OR REPLACE )?INTO|DELETE FROM|UPDATE \w+ SET|CREATE TABLE|PRAGMA|ORDER BY)\b")
PLACES = {
    "debugger/trace/schema.py",
    "debugger/trace/queries.py",
    "debugger/sweep/sweep_store.py",
    "debugger/sweep/summary.py",
}


def test_sql_is_in_one_module() -> None:
    files = [path for folder in ("debugger", "tui") for path in (ROOT / folder).rglob("*.py")]
    results = {str(path.relative_to(ROOT)) for path in files if SQL.search(path.read_text("utf-8"))}
    assert results == PLACES
