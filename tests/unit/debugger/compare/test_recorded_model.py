"""``diff`` of a recording and a model gives the report that the recorded model gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.compare.running.recorded_model import recorded_model
from loopdbg.debugger.compare.running.sides import TraceSide, open_side
from text_models import SAMPLES

MODEL, INPUTS = SAMPLES / "newton_sqrt.onnx", SAMPLES / "newton_sqrt.inputs.npz"


@pytest.fixture
def recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "run.loopdb"
    assert run_cli(capsys, "run", MODEL, "--inputs", INPUTS, "--record", path).status == 0
    return path


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """The model with another constant in its loop."""
    source = onnx.load(MODEL)
    bodies = [attribute.g for node in source.graph.node for attribute in node.attribute]
    (half,) = (item for body in bodies for item in body.initializer if item.name == "one_half")
    half.CopyFrom(onnx.numpy_helper.from_array(np.float32(0.505), half.name))
    onnx.save(source, tmp_path / "b.onnx")
    return tmp_path / "b.onnx"


def test_recording_first_gives_the_report_of_its_model(
    recording: Path, changed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = recording.with_name("a.onnx")
    model.write_bytes(MODEL.read_bytes())
    expected = run_cli(capsys, "diff", model, changed, "--inputs", INPUTS)
    recording = recording.rename(recording.with_name("a.lpdb"))
    result = run_cli(capsys, "diff", recording, changed)
    assert "shown by: with this edit applied to" in expected.out
    assert (result.status, result.out.replace("a.lpdb", "a.onnx")) == (expected.status, expected.out)


def test_model_that_does_not_give_the_recorded_values_is_not_used(recording: Path, changed: Path) -> None:
    side = open_side(recording)
    assert isinstance(side, TraceSide)
    with side.trace:
        side.graph = loopdbg.load(changed).graph
        assert recorded_model(side, ComparisonOptions(), None) is None


def test_recorded_model_has_the_outputs_of_the_recording(recording: Path) -> None:
    side = open_side(recording)
    assert isinstance(side, TraceSide)
    with side.trace:
        again = recorded_model(side, ComparisonOptions(), None)
        assert again is not None
        assert again.model.run(again.inputs).keys() == (side.outputs or {}).keys()
