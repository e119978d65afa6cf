"""What the program states about random loops is true; ``tests/fuzz/campaign.py statements`` tries thousands."""

from __future__ import annotations

import collections

import pytest

import statement_checks


@pytest.mark.parametrize("first", range(0, 24, 6))
def test_statements_about_random_loops_are_true(first: int) -> None:
    results = [item for k in range(first, first + 6) for item in statement_checks.check_case(f"statements {k}")]
    assert [entry for entry in results if not entry.true] == []
    kinds = collections.Counter(element.kind for element in results)
    assert {"statistics", "why: headline", "history", "value in a few cells"} <= set(kinds)
