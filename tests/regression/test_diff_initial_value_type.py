"""``diff --against``: a refusal because of an initial value of another type names both values and types."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model

TEXT = """g (float[4] x) => (float16[4] y) {
  n = Constant <value = int64 {5}> ()
  t = Constant <value = bool {1}> ()
  y = Loop (n, t, x) <body = b (int64 i, bool c, float16[4] a) => (bool c2, float16[4] b) {
    c2 = Identity (c)
    b = Add (a, a)
  }>
}"""


def test_refusal_names_the_initial_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    model = save_text_model(tmp_path, TEXT)
    ran = run_cli(capsys, "diff", model, "--against", "onnxruntime", "--input", "x=[1,2,3,4]")
    assert ran.status == 8
    assert "rule B48: " in ran.out
    assert "the initial value 'x' of 'a' is float32, the body declares float16" in ran.out
