"""``diff`` with a reference: the only array is compared with the only output, whatever both are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import save_text_model

TEXT = """g (float[2,3] x) => (float[2,3] y) { y = Tanh (x) }"""
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def model(tmp_path: Path) -> loopdbg.Model:
    return loopdbg.load(save_text_model(tmp_path, TEXT))


def test_only_array_is_the_only_output(model: loopdbg.Model) -> None:
    result = loopdbg.diff(model, {"result": np.tanh(X) * np.float32(1.003)}, {"x": X})
    assert result.verdict is loopdbg.Verdict.DIFFER and result.outputs == ["y"]
    assert "nothing" not in str(result)


@pytest.mark.parametrize("other", [np.tanh(X).T * 2, np.tanh(X).astype(np.float64) * 2])
def test_array_of_another_shape_or_type_is_not_compared(model: loopdbg.Model, other: np.ndarray) -> None:
    result = loopdbg.diff(model, {"result": other}, {"x": X})
    assert not result.outputs and any("'result' is only in" in note for note in result.notes)


def test_two_arrays_are_not_guessed(model: loopdbg.Model) -> None:
    result = loopdbg.diff(model, {"a": np.tanh(X) * 2, "b": np.tanh(X) * 3}, {"x": X})
    assert not result.outputs
