"""diff found no node to blame where only an inner loop read what differs, and nothing read what the loop gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model

MODEL = """g (int64 M, float v0) => (float v) {
  v = Loop <body = b (int64 i, bool c, float p) => (bool keep, float p2) {
    begin = OP (p, p)
    unread = Loop <body = inner (int64 j, bool d, float u) => (bool e, float u2) {
      e = Identity (d)
      u2 = Mul (u, u)
    }> (i, , begin)
    p2 = Identity (p)
    keep = Identity (c)
  }> (M, , v0)
}"""


def test_the_node_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pair = [save_text_model(tmp_path, MODEL.replace("OP", op), f"{op}.onnx") for op in ("Add", "Sub")]
    ran = run_cli(capsys, "diff", *pair, "--input", "M=3", "--input", "v0=2")
    assert ran.status == 6
    assert "first node that differs: Add 'Add_0', in its place in Sub.onnx Sub 'Sub_0'" in ran.out
