"""Strides, starts, ends and part sizes of a port map near 2^63: they cut what they say, or are one error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg as api
from cli_runner import run_cli
from error_fields import raises_error
from ir_builder import running_sum, save_net

HUGE = 2**63
X = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.mark.parametrize("name", ["stride", "start", "end", "part_size", "axis"])
@pytest.mark.parametrize("value", [-HUGE, HUGE - 1, 10**30])
def test_one_number(name: str, value: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axis = "" if name == "axis" else 'axis="0" '
    path = save_net(tmp_path, running_sum(f'{axis}{name}="{value}"', shape="4,2"))
    ran = run_cli(capsys, "explain", path)
    assert ran.status in (0, 1) and len(ran.out + ran.err) < 5000
    if (name, value) == ("stride", HUGE - 1):
        first, *_ = api.load(path).run({"x": X, "start": np.zeros((1, 2), np.float32)}).values()
        assert first.tolist() == [[0, 1]]  # one part begins in the range
        return
    complaint = run_cli(capsys, "run", path).error_line
    assert "ti" in complaint and str(value) in complaint


def test_parts_of_an_empty_tensor(tmp_path: Path) -> None:
    path = save_net(tmp_path, running_sum(f'axis="0" part_size="{HUGE - 1}"', shape="0,2"))
    with raises_error(api.ExecutionError, name="x"):
        api.load(path).run({"x": X[:0], "start": np.zeros((1, 2), np.float32)})
