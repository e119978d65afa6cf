"""Quantised values that differ by one step: a verdict of its own, where nothing differs by more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from cli_runner import run_cli as command
from loopdbg.debugger.compare.causes.quantization_tie_rounding import byte_integer_step
from text_models import loop_text, proto


def quantised(path: Path, bias: str, more: str = "") -> Path:
    """A loop that adds a number, quantises what comes of it in steps of 0.5, and collects what that represents."""
    body = f"""
        co = Identity (ci)
        half = Constant <value = float {{0.5}}> ()
        zero = Constant <value = int8 {{0}}> ()
        bias = Constant <value = float {{{bias}}}> ()
        moved = Add (v, bias)
        q = QuantizeLinear (moved, half, zero)
        same = Identity (q)
        y = DequantizeLinear (same, half, zero)
        axis = Constant <value = int64[1] {{0}}> ()
        row = Unsqueeze (y, axis)
        xo = Identity (q)
        {more}"""
    text = loop_text(
        nodes=body,
        outputs="bool co, int8 xo, float[1, 3] row",
        inputs="int64 i, bool ci, int8 x",
        call="a, rows = Loop (m, c, start)",
        result="int8[3] a, float[n, 1, 3] rows",
        graph_inputs="int64 m, bool c, float[3] v, int8[3] start",
    )
    onnx.save(proto(text), path)
    return path


def run(capsys: pytest.CaptureFixture[str], a: Path, b: Path) -> tuple[int, str]:
    inputs = ["--input", "m=3", "--input", "c=true", "--input", "v=[0.25, 1.0, -3.0]", "--input", "start=[0, 0, 0]"]
    ran = command(capsys, "diff", a, b, *inputs)
    return ran.status, ran.out


def test_one_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = quantised(tmp_path / "a.onnx", "0.0"), quantised(tmp_path / "b.onnx", "0.01")
    status, message = run(capsys, a, b)
    assert status == 9 and message.startswith("same within one quantisation step: ")
    assert "difference 1" in message and "a step of 1" in message  # of the carried int8; 0.5 of the rows
    assert "difference 0.5, relative" in message and "a step of 0.5" in message
    assert run(capsys, a, a) == (0, run(capsys, a, a)[1])


def test_two_steps_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = quantised(tmp_path / "a.onnx", "0.0"), quantised(tmp_path / "b.onnx", "1.0")
    status, message = run(capsys, a, b)
    assert status == 6 and message.startswith("differ: ") and "a step of" not in message


def test_integers_that_have_steps() -> None:
    assert byte_integer_step(np.int8(3)) == byte_integer_step(np.zeros(2, np.uint8)) == 1
    assert (
        not byte_integer_step(np.int32(3))
        and not byte_integer_step(np.bool_(True))
        and not byte_integer_step(np.float32(1))
    )
    assert not byte_integer_step([np.int8(3)])
