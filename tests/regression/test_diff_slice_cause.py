"""Where a Scan reads its input the other way round, diff blamed a node, and showed the next iteration's part."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model

MODEL = """g (float[1] s0, float[5,1] x) => (float[1] s) {
  s = Scan <num_scan_inputs = 1, scan_input_directions = [DIRECTION],
      body = b (float[1] a, float[1] part) => (float[1] a2) {
    negative = Neg (part)
    a2 = Add (a, negative)
  }> (s0, x)
}"""


def test_the_part_that_the_iteration_got_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pair = [save_text_model(tmp_path, MODEL.replace("DIRECTION", way), f"{way}.onnx") for way in ("0", "1")]
    ran = run_cli(capsys, "diff", *pair, "--input", "s0=[0]", "--input", "x=[[1.25], [2.25], [3.25], [4.25], [5.25]]")
    lines = [line.strip() for line in ran.out.splitlines()]
    assert ran.status == 6
    assert lines[3:5] == ["0.onnx  part = x[i, :]", "1.onnx  part = x[4-i, :]"]
    where = lines.index("it comes from the sliced input 'part'")
    assert "iteration 0" in lines[where - 1]
    assert lines[where + 1 : where + 3] == ["0.onnx  part = [1.25]", "1.onnx  part = [5.25]"]
    assert "first node that differs" not in ran.out


def test_the_same_of_recorded_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    traces = []
    for way in ("0", "1"):
        model = save_text_model(tmp_path, MODEL.replace("DIRECTION", way), f"{way}.onnx")
        traces.append(tmp_path / f"{way}.loopdb")
        inputs = ("--input", "s0=[0]", "--input", "x=[[1.25], [2.25], [3.25], [4.25], [5.25]]")
        assert run_cli(capsys, "run", model, *inputs, "--record-nodes", "--record", traces[-1]).status == 0
    out = run_cli(capsys, "diff", *traces).out
    assert "it comes from the sliced input 'part'" in out and "0.loopdb  part = [1.25]" in out
