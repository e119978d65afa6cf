"""explain and info promised 3 iterations of a Scan whose inputs have 3 and 2 parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model

SCAN = """g (float s0, float[3] x, float[LENGTH] y) => (float s) {
  s = Scan <num_scan_inputs = 2, body = b (float a, float p, float q) => (float a2) { m = Mul (p, q) a2 = Add (a, m) }>
      (s0, x, y)
}"""


@pytest.mark.parametrize("command", ["explain", "info"])
def test_sliced_inputs_that_disagree(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    ran = run_cli(capsys, command, save_text_model(tmp_path, SCAN.replace("LENGTH", "2")))
    message = " ".join(ran.out.split())
    assert ran.status == 0
    assert "disagree on the number of parts" in message and "3 iterations" not in message and "(3)" not in message
    even = run_cli(capsys, command, save_text_model(tmp_path, SCAN.replace("LENGTH", "3"), "even.onnx")).out
    assert "disagree" not in even and "3" in even
