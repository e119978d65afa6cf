"""Every sample model against the live runtime of its own system."""

from __future__ import annotations

import hashlib
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import loopdbg
import onnxruntime_peer
import openvino_peer
from error_fields import raises_error
from text_models import SAMPLES

ONNX = sorted(p.name for p in SAMPLES.glob("*.onnx"))
IR = ["lstm.xml", *sorted(p.name for p in SAMPLES.glob("*.xml") if p.name != "lstm.xml")]
TENSORRT = sorted(f"trt/{p.name}" for p in (SAMPLES / "trt").glob("*.py"))
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
    same(loopdbg.load(SAMPLES / name).run(inputs_of(name)), onnxruntime_peer.run(SAMPLES / name, inputs_of(name)))


@pytest.mark.parametrize("name", [name for name in IR if name != ENDLESS])
def test_ir_samples_give_what_openvino_gives(name: str) -> None:
    same(loopdbg.load(SAMPLES / name).run(inputs_of(name)), openvino_peer.run_by_name(SAMPLES / name, inputs_of(name)))


def test_the_endless_sample_is_refused_and_runs_with_a_limit() -> None:
    # Leibniz' series, pi = 4 (1 - 1/3 + 1/5 ...). No peer can run the file as it is, so the series is the oracle.
    model = loopdbg.load(SAMPLES / ENDLESS)
    with raises_error(loopdbg.LimitError, loop="leibniz", iteration=None):
        model.run(inputs_of(ENDLESS))
    session = loopdbg.debug(model, inputs_of(ENDLESS), max_iterations=20)
    assert session.continue_().reason == "limit"
    pi = sum(4 * (-1) ** k / (2 * k + 1) for k in range(20))
    assert any(np.allclose(value, pi, rtol=1e-6) for value in session.frame.carried.values())


def test_tensorrt_samples_give_what_python_gives() -> None:
    def outputs(name: str) -> dict[str, Any]:
        return loopdbg.load(SAMPLES / name).run(inputs_of(name))

    result = outputs("trt/counted.py")
    start = np.array([1, -2, 0.5], np.float32)
    rows = np.array([start * 2**k for k in range(5)] + [start * 0] * 3)
    np.testing.assert_array_equal(result["before"], rows)
    np.testing.assert_array_equal(result["after"], rows * 2)
    np.testing.assert_array_equal(result["x_last"], start * 32)

    result = outputs("trt/halving.py")
    xs = [1000 / 2**k for k in range(10)]
    np.testing.assert_array_equal(
        result["xs"], [*xs[:9], *[0] * 7]
    )  # the first one that is not above 2 is no iteration
    assert result["x_last"] == xs[9]

    assert outputs("trt/stride.py") == {"sum": sum(i * i for i in range(1, 20, 3)), "i_last": 22}

    result = outputs("trt/rows_columns.py")
    matrix = np.array([[2, 3, 5], [4, 6, 8]], np.float32)
    for axis, name in ((0, "rows"), (1, "columns")):
        for order, ending in ((1, ""), (-1, "_backwards")):
            index = (slice(None),) * axis + (slice(None, None, order),)
            added = np.cumsum(matrix[index], axis)
            np.testing.assert_array_equal(result[f"{name}{ending}_in_order"], added)
            np.testing.assert_array_equal(result[f"{name}{ending}_reversed"], np.flip(added, axis))

    assert outputs("trt/nested.py")["all_taken"].tolist() == [_steps(n) for n in (7, 1, 12, 27)]

    result = outputs("trt/greedy.py")
    tokens = result["tokens"].reshape(-1).tolist()
    assert tokens.index(10) == 12 and not any(tokens[13:])


def _steps(n: int) -> int:
    """How often 3n + 1 and n / 2 are taken until 1."""
    return 0 if n == 1 else 1 + _steps(3 * n + 1 if n % 2 else n // 2)


def test_the_character_sample_gives_what_numpy_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", MagicMock())  # only its weights are asked for here
    w = runpy.run_path(str(SAMPLES / "trt/char_rnn.py"))["weights"]()
    monkeypatch.undo()
    h, c, predicted = np.zeros((2, 1, 16)), np.zeros((2, 1, 16)), []

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    for character in inputs_of("trt/char_rnn.py")["text"]:
        x = w["embedding"][character][None].astype(float)
        for layer in range(2):
            gates = x @ w[f"W{layer}"] + h[layer] @ w[f"R{layer}"] + w[f"B{layer}"]
            i, new, f, o = np.split(gates, 4, axis=1)
            c[layer] = sigmoid(f) * c[layer] + sigmoid(i) * np.tanh(new)
            x = h[layer] = sigmoid(o) * np.tanh(c[layer])
        predicted.append(int(np.argmax(x @ w["project"] + w["offset"])))
    result = loopdbg.load(SAMPLES / "trt/char_rnn.py").run(inputs_of("trt/char_rnn.py"))
    assert result["predicted"].tolist() == predicted
    for layer in range(2):
        np.testing.assert_allclose(result[f"h{layer}_last"], h[layer], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ONNX + IR + TENSORRT)
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
    written = {
        str(p.relative_to(tmp_path)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in tmp_path.rglob("*")
        if p.is_file()
    }
    assert set(ONNX) | set(IR) <= set(written)
    for name, digest in written.items():
        assert hashlib.sha256((SAMPLES / name).read_bytes()).hexdigest() == digest, (
            f"{name} differs from the committed one"
        )
