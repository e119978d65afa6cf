"""diff blamed the first node that a changed weight reaches; the weight is what differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_runner import run_cli, save_text_model
from diff_checks import compare_models, static_differences

MODEL = """g (int64 n, float[1,1] x0) => (float[1,1] last) {
  W = Constant <value = float[1,1] {WEIGHT}> ()
  last = Loop <body = b (int64 i, bool c, float[1,1] h) => (bool c2, float[1,1] h2) {
    c2 = Identity (c)
    product = MatMul (h, W)
    h2 = Tanh (product)
  }> (n, , x0)
}"""


def test_the_weight_is_named_and_no_node(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pair = [
        save_text_model(tmp_path, MODEL.replace("WEIGHT", weight), f"{weight}.onnx")
        for weight in ("0.515625", "0.765625")
    ]
    ran = run_cli(capsys, "diff", *pair, "--input", "n=3", "--input", "x0=[[1]]")
    lines = [line.strip() for line in ran.out.splitlines()]
    assert ran.status == 6
    # Before anything runs, and again where its effect is first seen.
    assert lines[1:5] == [
        "cause:",
        "loop 'main ▸ Loop_1': constant 'W'",
        "0.515625.onnx  W = [[0.515625]]",
        "0.765625.onnx  W = [[0.765625]]",
    ]
    assert "it comes from the constant 'W'" in lines
    assert "first node that differs" not in ran.out


FOLDED = """g (int64 n, float[1,1] x0) => (float[1,1] last, float[N,1,1] rows) {
  W = Constant <value = float[1,1] {WEIGHT}> ()
  last, rows = Loop <body = b (int64 i, bool c, float[1,1] h) => (bool c2, float[1,1] h2, float[1,1] row) {
    c2 = Identity (c)
    sixteen = Constant <value = float {16}> ()
    rest = Mod <fmod = 1> (W, sixteen)
    product = MatMul (rest, W)
    row = Min (rest, product)
    h2 = Add (product, h)
  }> (n, , x0)
}"""


def test_what_is_made_of_the_weight_alone_is_not_listed_besides() -> None:
    x0 = np.float32([[1]])
    result = compare_models(FOLDED.replace("WEIGHT", "4"), FOLDED.replace("WEIGHT", "5"), n=np.int64(3), x0=x0)
    assert static_differences(result) == [("constant", "W")]
