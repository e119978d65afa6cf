"""The ONNX project's own node tests, through ``load`` and ``run``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from onnx_node_tests import load_node_tests

from .single_node_tests import as_loopdbg_value

#: How many there are in the onnx that tests run with; none is left out.
COUNT = {"1.23.2": 1884}
#: Their numbers are drawn: shape, dtype and range are held to, and tests/unit the distribution.
DRAWN = "test_bernoulli"


@cache
def cases() -> dict[str, Any]:
    return {case.name: case for case in load_node_tests()}


def same(got: Any, expected: Any, case: Any) -> None:
    if expected is None:
        assert got is None
        return
    if isinstance(expected, list):
        assert isinstance(got, list)
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same(a, b, case)
        return
    if expected.dtype.kind in "US":
        expected = expected.astype(object)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if case.name.startswith(DRAWN):
        assert set(np.unique(got)) <= {0, 1}
    elif expected.dtype.kind in "fcV":
        widened = np.complex128 if expected.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(widened), expected.astype(widened), rtol=case.rtol, atol=case.atol)
    else:
        np.testing.assert_array_equal(got, expected)


def test_node_test_count_is_complete() -> None:
    assert len(cases()) == COUNT.get(onnx.__version__, len(cases()))


@pytest.mark.parametrize("name", sorted(cases()))
def test_node_case(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    path = tmp_path / "m.onnx"
    onnx.save(case.model, path)
    model = loopdbg.load(path)
    for inputs, outputs in case.data_sets:
        feeds = dict(zip((port.name for port in model.inputs), map(given_as, inputs), strict=False))
        run = model.execute(feeds)
        got = run.outputs
        # None of these contradicts its own declarations, or gets a type that its operator does not list.
        assert not run.notes
        assert list(got) == [value.name for value in case.model.graph.output]
        for value, expected in zip(got.values(), outputs, strict=True):
            same(value, as_loopdbg_value(expected), case)


def given_as(value: Any) -> Any:
    """A test's input, strings as loopdbg takes them."""
    value = as_loopdbg_value(value)
    return value.astype(object) if isinstance(value, np.ndarray) and value.dtype.kind in "US" else value
