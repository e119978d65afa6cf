"""``diff`` of two systems: a node that reads another value, equal within the tolerance, is listed with both values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import save_text_model

TEXT = """g (float[3] a, float tol) => (float[3] x, int64 k)
<float half = {0.5}, int64 zero = {0}, int64 one = {1}, bool go = {1}> {
  x, k = Loop <body = step (int64 i, bool c, float[3] s, int64 n) => (bool c2, float[3] s2, int64 n2) {
    q = Div (a, s)
    both = Add (s, q)
    s2 = Mul (both, half)
    square = Mul (READ, READ)
    off = Sub (square, a)
    size = Abs (off)
    err = ReduceMax <keepdims = 0> (size)
    n2 = Add (n, one)
    c2 = Greater (err, tol)
  }> ( , go, a, zero)
}"""


def test_both_operands_of_the_node_are_named(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    new, old = (save_text_model(tmp_path, TEXT.replace("READ", name), f"{name}.onnx") for name in ("s2", "s"))
    openvino.save_model(openvino.convert_model(old), tmp_path / "old.xml", compress_to_fp16=False)
    inputs = {"a": np.float32([5, 17, 40]), "tol": np.float32(1e-3)}
    report = str(loopdbg.diff(new, tmp_path / "old.xml", inputs))
    assert "it reads 's2' here, 's' there" in report.split("first node that differs")[1]
