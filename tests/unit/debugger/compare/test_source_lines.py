"""The line of code that a node to blame comes from, in the report and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from cli_runner import run_cli
from text_models import SAMPLES, proto

POWER = SAMPLES / "power_iteration.onnx"
LINE = "power_iteration.py:10  longer = product / np.linalg.norm(product)"


@pytest.fixture
def mutated(tmp_path: Path) -> Path:
    """The sample with another norm."""
    model = onnx.load(POWER)
    for node in model.graph.node[0].attribute[0].g.node:
        if node.op_type == "ReduceL2":
            node.op_type = "ReduceL1"
    onnx.save(model, tmp_path / "mutated.onnx")
    return tmp_path / "mutated.onnx"


def test_the_report_names_the_line(capsys: pytest.CaptureFixture[str], mutated: Path) -> None:
    ran = run_cli(capsys, "diff", POWER, mutated)
    lines = [line.strip() for line in ran.out.splitlines()]
    # Of the operator that is written otherwise, and of the node to blame; both sides have it, and it is reported once.
    assert lines.count(LINE) == 2
    blamed = next(k for k, line in enumerate(lines) if line.startswith("first node that differs: ReduceL2"))
    assert lines[blamed + 1] == LINE


def test_json_has_its_parts(capsys: pytest.CaptureFixture[str], mutated: Path) -> None:
    report = json.loads(run_cli(capsys, "diff", POWER, mutated, "--json").out)["comparisons"][0]
    assert report["written"][0]["code"] == LINE
    assert report["loops"][0]["node"]["code"] == {
        "text": LINE,
        "file": "power_iteration.py",
        "line": 10,
        "function": "step",
        "scopes": [],
        "framework_node": None,
        "traced": None,
    }


HALVES = """
halves (float x0, int64 m) => (float x) <float half = {HALF}> {
  x = Loop <body = step (int64 i, bool c, float a) => (bool keep, float b) {
    keep = Identity (c)
    b = Mul (a, half)
  }> (m, , x0)
}
"""


def halving(path: Path, half: str) -> Path:
    """A loop with a constant, whose product has a line."""
    model = proto(HALVES.replace("HALF", half))
    product = model.graph.node[0].attribute[0].g.node[1]
    trace = 'File "/me/model.py", line 7, in step\n    return a * self.half\n'
    product.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    onnx.save(model, path)
    return path


def test_who_reads_a_constant_that_differs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    item, other = halving(tmp_path / "one.onnx", "0.5"), halving(tmp_path / "other.onnx", "0.25")
    inputs = ("--input", "x0=3", "--input", "m=4")
    lines = [line.strip() for line in run_cli(capsys, "diff", item, other, *inputs).out.splitlines()]
    index = lines.index("it comes from the constant 'half'")
    assert lines[index + 1] == "read by model.py:7  return a * self.half"
    report = json.loads(run_cli(capsys, "diff", item, other, *inputs, "--json").out)["comparisons"][0]
    assert report["loops"][0]["source"]["code"] == "model.py:7  return a * self.half"
