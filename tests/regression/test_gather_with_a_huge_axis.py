"""A listing wrote a colon for each axis before the one that a Gather or a slice names: 2^40 of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model

MODEL = """g (int64 n, float[4,4] t, float h0) => (float h) {
  h = Loop <body = b (int64 i, bool c, float x) => (bool c2, float y) {
    c2 = Identity (c)
    row = Gather <axis = AXIS> (t, i)
    s = ReduceSum <keepdims = 0> (row)
    y = Add (x, s)
  }> (n, , h0)
}"""


@pytest.mark.parametrize("axis", [65, 10**6, 2**40, -(2**40), 2**63 - 1])
def test_listings_stay_short(axis: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_text_model(tmp_path, MODEL.replace("AXIS", str(axis)))
    ran = run_cli(capsys, "explain", path)
    assert ran.status == 0 and len(ran.out) < 5000
    assert f"axis={axis}" in ran.out
    ran = run_cli(capsys, "run", path, "--input", "n=2", "-ex", "list", "--batch")
    assert ran.status == 0 and len(ran.out) < 5000
    assert f"axis {axis} is outside" in run_cli(capsys, "run", path, "--input", "n=2").error_line
