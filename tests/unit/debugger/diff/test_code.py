"""The line of code that a node to blame comes from, in the report and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from command_line import loopdbg
from models import SAMPLES

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
    ran = loopdbg(capsys, "diff", POWER, mutated)
    lines = [line.strip() for line in ran.out.splitlines()]
    # Of the operator that is written otherwise, and of the node to blame; both sides have it, and it is said once.
    assert lines.count(LINE) == 2
    blamed = next(k for k, line in enumerate(lines) if line.startswith("first node that differs: ReduceL2"))
    assert lines[blamed + 1] == LINE


def test_json_has_its_parts(capsys: pytest.CaptureFixture[str], mutated: Path) -> None:
    told = json.loads(loopdbg(capsys, "diff", POWER, mutated, "--json").out)["comparisons"][0]
    assert told["written"][0]["code"] == LINE
    assert told["loops"][0]["node"]["code"] == {
        "text": LINE,
        "file": "power_iteration.py",
        "line": 10,
        "function": "step",
        "scopes": [],
        "framework_node": None,
        "traced": None,
    }
