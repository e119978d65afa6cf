"""Declared dimensions that no tensor can have: counting the parts of one made NumPy refuse to broadcast."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model

MODEL = """g (float s0, float[DIMS] x) => (float s) {
  s = Scan <num_scan_inputs = 1, scan_input_axes = [AXIS], body = b (float a, float[k] p) => (float a2) {
    r = ReduceSum <keepdims = 0> (p)
    a2 = Add (a, r)
  }> (s0, x)
}"""


@pytest.mark.parametrize(
    ("dims", "axis", "parts"),
    [
        (f"3,{2**63 - 1}", 1, 2**63 - 1),
        (f"{2**63 - 1},3", 0, 2**63 - 1),
        (f"{2**40},{2**40}", 1, 2**40),
        (f"{2**40},3", 1, 3),
    ],
)
def test_info_and_explain(dims: str, axis: int, parts: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_text_model(tmp_path, MODEL.replace("DIMS", dims).replace("AXIS", str(axis)))
    assert run_cli(capsys, "info", path).status == 0
    message = run_cli(capsys, "explain", path)
    assert message.status == 0 and f"{parts} iterations" in message.out
    assert "too large" in run_cli(capsys, "run", path).error_line
