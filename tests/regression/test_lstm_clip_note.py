"""The text on LSTM can be read so that ``clip`` bounds the cell state in h too; no run reported where that matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import openvino
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from openvino import opset13 as ops

import loopdbg
from text_models import load_proto

STEPS, BATCH, SIZE, HIDDEN = 6, 2, 3, 4
RNG = np.random.default_rng(7)
W, R = (np.abs(RNG.standard_normal((1, 4 * HIDDEN, n))).astype(np.float32) * 2 for n in (SIZE, HIDDEN))
#: Positive inputs and weights: the gates saturate, and the cell state grows by less than 1 a step.
FEEDS = {"X": np.ones((STEPS, BATCH, SIZE), np.float32)}


def lstm(clip: float, direction: str = "forward", sign: float = 1.0) -> ModelProto:
    count = 1 + (direction == "bidirectional")
    node = helper.make_node("LSTM", ["X", "W", "R"], ["Y"], "lstm", hidden_size=HIDDEN, clip=clip, direction=direction)
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, BATCH, SIZE])]
    outputs = [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)]
    weights = [numpy_helper.from_array(np.concatenate([x * sign] * count), name) for x, name in ((W, "W"), (R, "R"))]
    graph = helper.make_graph([node], "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def notes_of(model: loopdbg.Model, feeds: dict[str, Any]) -> list[str]:
    run = model.execute(feeds)
    return [note for loop in run.loops for note in loop.notes if "clip" in note]


def lstm_reference(clip: float, clip_cell: bool) -> Any:
    """The last h, with the cell state bounded in it or not."""

    def cut(x: Any) -> Any:
        return np.clip(x, -clip, clip)

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-cut(x)))

    h = c = np.zeros((BATCH, HIDDEN), np.float32)
    for x in FEEDS["X"]:
        i, o, f, g = np.split(x @ W[0].T + h @ R[0].T, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(cut(g))
        h = sigmoid(o) * np.tanh(cut(c) if clip_cell else c)
    return h


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_a_cell_state_outside_of_clip_has_a_note(direction: str) -> None:
    result = notes_of(load_proto(lstm(0.2, direction)), FEEDS)
    assert len(result) == 1 + (direction == "bidirectional")
    for note in result:
        assert "'c_next' of LSTM 'lstm' (opset 17) is outside [-0.2, 0.2]" in note
        assert getattr(note, "rule", "") == "B45"


@pytest.mark.parametrize(
    ("clip", "sign", "feeds"),
    [
        (0.0, 1.0, FEEDS),  # no bound
        (6.5, 1.0, FEEDS),
        (0.2, 0.0, FEEDS),  # the cell state stays 0
        (0.2, 1.0, {"X": np.ones((0, BATCH, SIZE), np.float32)}),  # no step
    ],
)
def test_a_cell_state_inside_of_clip_has_none(clip: float, sign: float, feeds: dict[str, Any]) -> None:
    assert not notes_of(load_proto(lstm(clip, sign=sign)), feeds)


def test_onnxruntime_does_not_bound_the_cell_state_either() -> None:
    source = lstm(0.2)
    (theirs,) = onnxruntime.InferenceSession(source.SerializeToString()).run(None, FEEDS)
    ours = load_proto(source).run(FEEDS)["Y"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_allclose(ours[-1, 0], lstm_reference(0.2, clip_cell=False), rtol=1e-5)
    assert not np.allclose(ours[-1, 0], lstm_reference(0.2, clip_cell=True), rtol=1e-3)


def ir(path: Path, clip: float, cell: bool) -> loopdbg.Model:
    """An LSTMSequence, or a TensorIterator with an LSTMCell."""
    x = ops.parameter([BATCH, STEPS, SIZE], np.float32, name="X")
    zeros = np.zeros((BATCH, 1, HIDDEN), np.float32)
    bias = np.zeros((1, 4 * HIDDEN), np.float32)
    if not cell:
        lengths = np.full(BATCH, STEPS, np.int32)
        out = ops.lstm_sequence(x, zeros, zeros, lengths, W, R, bias, HIDDEN, "forward", clip=clip).output(0)
    else:
        part = ops.parameter([BATCH, 1, SIZE], np.float32, name="part")
        h, c = (ops.parameter([BATCH, HIDDEN], np.float32, name=name) for name in "hc")
        row = ops.squeeze(part, ops.constant(np.array([1])))
        outcome = ops.lstm_cell(row, h, c, W[0], R[0], bias[0], HIDDEN, clip=clip)
        results = [ops.result(outcome.output(k)) for k in range(2)]
        iterator = ops.tensor_iterator()
        iterator.set_body(openvino.Model(results, [part, h, c], "body"))
        iterator.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 1)
        for state, result in zip((h, c), results, strict=True):
            iterator.set_merged_input(state, ops.constant(zeros[:, 0]).output(0), result.output(0))
        out = iterator.get_iter_value(results[0].output(0), -1)
    openvino.save_model(openvino.Model([out], [x]), path, compress_to_fp16=False)
    return loopdbg.load(path)


@pytest.mark.parametrize("cell", [False, True])
def test_in_an_ir(cell: bool, tmp_path: Path) -> None:
    feeds = {"X": np.moveaxis(FEEDS["X"], 0, 1)}
    (note,) = notes_of(ir(tmp_path / "small.xml", 0.2, cell), feeds)
    assert ("LSTMCell" if cell else "LSTMSequence") in note and "outside [-0.2, 0.2]" in note
    path = tmp_path / "small.xml"
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    theirs = next(iter(compiled(feeds).values()))
    ours = next(iter(loopdbg.load(path).run(feeds).values()))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    assert not notes_of(ir(tmp_path / "large.xml", 6.5, cell), feeds)
