"""The ONNX project's own node tests, through ``load`` and ``run``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg

from .node_cases import collected

PREFIXES = ("test_loop", "test_scan9", "test_range", "test_if", "test_sequence_map")


@cache
def cases() -> dict[str, Any]:
    return {case.name: case for case in collected() if case.name.startswith(PREFIXES)}


def same(got: Any, expected: Any, case: Any) -> None:
    if expected is None:
        assert got is None
    elif isinstance(expected, list):
        assert isinstance(got, list)
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same(a, b, case)
    else:
        expected = np.asarray(expected)
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        if expected.dtype.kind in "fcV":
            np.testing.assert_allclose(
                got.astype(np.float64), expected.astype(np.float64), rtol=case.rtol, atol=case.atol
            )
        else:
            np.testing.assert_array_equal(got, expected)


def test_the_collection_is_not_empty() -> None:
    counts = {prefix: sum(name.startswith(prefix) for name in cases()) for prefix in PREFIXES}
    assert all(counts.values()), counts


@pytest.mark.parametrize("name", sorted(cases()))
def test_node_case(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    path = tmp_path / f"{name}.onnx"
    onnx.save(case.model, path)
    model = loopdbg.load(path)
    for inputs, outputs in case.data_sets:
        given = dict(zip((port.name for port in model.inputs), inputs, strict=False))
        got = model.run(given)
        assert list(got) == [value.name for value in case.model.graph.output]
        for value, expected in zip(got.values(), outputs, strict=True):
            same(value, expected, case)
