"""Models that others wrote: the ONNX project's node tests, all of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from loopdbg.runtime.frontends.onnx.reader import from_proto
from loopdbg.runtime.graph import loops
from onnx_node_tests import load_node_tests

#: With a loop or a branch inside; SequenceMap's and Range's expanded forms are Loops.
PREFIXES = ("test_loop", "test_scan9", "test_range", "test_if", "test_sequence_map")


@cache
def models() -> dict[str, Any]:
    return {case.name: case.model for case in load_node_tests() if case.model is not None}


def test_all_node_tests_are_read() -> None:
    for name, model in models().items():
        assert from_proto(model, name).nodes, name


@pytest.mark.parametrize("name", sorted(name for name in models() if name.startswith(PREFIXES)))
def test_loops_are_found(name: str) -> None:
    results = list(loops(from_proto(models()[name], name)))
    assert len(results) == (0 if name.startswith("test_if") or ("range" in name and "expanded" not in name) else 1)
    assert [loop.notes for loop in results] == [[]] * len(results)
