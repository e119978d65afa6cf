"""Two models of which the right one has an input that the left one lacks: both commands and the pack have it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_runner import run_cli, save_text_model

LEFT = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { t = Mul(x, w) y = Tanh(t) }"
RIGHT = "g (float[2] x, float[2] z) => (float[2] y) { t = Mul(x, z) y = Tanh(t) }"


def test_diff_and_repro(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    left, right = (save_text_model(tmp_path, text, name) for text, name in ((LEFT, "left.onnx"), (RIGHT, "right.onnx")))
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, x=np.float32([0.5, 0.25]), z=np.float32([1, 3]))
    ran = run_cli(capsys, "diff", left, right, "--inputs", inputs)
    assert ran.status == 6 and "ignored" not in ran.err
    assert ran.out.splitlines()[1:3] == ["    cause:", "      main graph: operand of 't'"]
    assert "with this edit applied to left.onnx, the outputs are those of right.onnx, bit for bit" in ran.out
    assert run_cli(capsys, "diff", left, right, "--seed", "1").status == 6
    pack = tmp_path / "pack"
    ran = run_cli(capsys, "repro", left, right, "--inputs", inputs, "-o", pack)
    assert ran.status == 0 and len(list((pack / "test_data_set_0").glob("input_*.pb"))) == 2
    ran = run_cli(capsys, "diff", pack / "model.onnx", pack / "other.onnx")
    assert ran.status == 6 and "bit for bit" in ran.out
