"""Every sample model against the live runtime of its own system."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from models import SAMPLES

ONNX = sorted(p.name for p in SAMPLES.glob("*.onnx"))
IR = ["lstm.xml", *sorted(p.name for p in SAMPLES.glob("*.xml") if p.name != "lstm.xml")]
#: OpenVINO never comes back from it, as its name says.
ENDLESS = "loop_infinite.xml"


def inputs_of(name: str) -> dict[str, Any]:
    with np.load((SAMPLES / name).with_suffix(".inputs.npz")) as archive:
        return dict(archive)


def same(got: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(got) == list(expected)
    for name, value in expected.items():
        assert got[name].shape == value.shape
        if value.dtype.kind == "f":
            np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(got[name], value)


@pytest.mark.parametrize("name", ONNX)
def test_onnx_samples_give_what_onnxruntime_gives(name: str) -> None:
    import onnxruntime

    peer = onnxruntime.InferenceSession(SAMPLES / name)
    expected = dict(zip((o.name for o in peer.get_outputs()), peer.run(None, inputs_of(name)), strict=True))
    same(loopdbg.load(SAMPLES / name).run(inputs_of(name)), expected)


@pytest.mark.parametrize("name", [name for name in IR if name != ENDLESS])
def test_ir_samples_give_what_openvino_gives(name: str) -> None:
    import openvino

    peer = openvino.Core().compile_model(SAMPLES / name, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = peer(inputs_of(name))
    expected = {o.any_name: np.array(results[o]) for o in peer.outputs}
    same(loopdbg.load(SAMPLES / name).run(inputs_of(name)), expected)


def test_the_endless_sample_is_refused_and_runs_with_a_limit() -> None:
    # Leibniz' series, pi = 4 (1 - 1/3 + 1/5 ...). No peer can run the file as it is, so the series is the oracle.
    model = loopdbg.load(SAMPLES / ENDLESS)
    with pytest.raises(loopdbg.LimitError, match="never end"):
        model.run(inputs_of(ENDLESS))
    session = loopdbg.debug(model, inputs_of(ENDLESS), max_iterations=20)
    assert session.continue_().reason == "limit"
    pi = sum(4 * (-1) ** k / (2 * k + 1) for k in range(20))
    assert any(np.allclose(value, pi, rtol=1e-6) for value in session.frame.carried.values())


@pytest.mark.parametrize("name", ONNX + IR)
def test_stepping_a_sample_gives_what_running_it_gives(name: str) -> None:
    if name == ENDLESS:
        return
    model = loopdbg.load(SAMPLES / name)
    expected = model.run(inputs_of(name))
    session = loopdbg.debug(model, inputs_of(name))
    for _ in range(100_000):
        if session.done:
            break
        session.step()
    assert session.outputs is not None
    for key, value in expected.items():
        np.testing.assert_array_equal(session.outputs[key], value)


@pytest.mark.parametrize("name", ONNX + IR)
def test_optimising_a_sample_changes_no_more_than_rounding(name: str) -> None:
    if name == ENDLESS:
        return
    model = loopdbg.load(SAMPLES / name)
    expected = model.run(inputs_of(name))
    for key, value in model.run(inputs_of(name)).items():
        np.testing.assert_allclose(value, expected[key], rtol=1e-5, atol=1e-6)


def test_committed_samples_are_what_the_script_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SAMPLES / "build.py", "--output", tmp_path], check=True, capture_output=True)
    written = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.iterdir() if p.is_file()}
    assert set(ONNX) | set(IR) <= set(written)
    for name, digest in written.items():
        assert hashlib.sha256((SAMPLES / name).read_bytes()).hexdigest() == digest, (
            f"{name} differs from the committed one"
        )
