"""OpenVINO saves an RNNCell with version="opset1", which was not found: its page has it from opset 3 on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from ir_builder import IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry

STEPS, SIZE, HIDDEN = 5, 3, 4


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_rnncell_in_a_tensor_iterator(activation: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w, r, b = (rng.normal(size=s).astype(np.float32) for s in ((HIDDEN, SIZE), (HIDDEN, HIDDEN), (HIDDEN,)))
    net = IrNetBuilder()
    x, start = net.parameter(f"2,{STEPS},{SIZE}", name="x"), net.parameter(f"2,{HIDDEN}", name="h0")
    body = net.body_builder()
    part, h = body.parameter(f"2,1,{SIZE}", name="part"), body.parameter(f"2,{HIDDEN}", name="h")
    row = body.layer("Squeeze", [part, body.constant(np.array([1]))], shape=f"2,{SIZE}")
    data = f'hidden_size="{HIDDEN}" activations="{activation}" activations_alpha="" activations_beta="" clip="0"'
    inputs = [row, h, *(body.constant(array) for array in (w, r, b))]
    last = body.result(body.layer("RNNCell", inputs, version="opset1", data=data, shape=f"2,{HIDDEN}"))
    parts = loop_sections(
        body,
        [input_map_entry(0, part, 'axis="1"'), input_map_entry(1, h), output_map_entry(2, last)],
        back_edges((last, h)),
    )
    net.result(net.layer("TensorIterator", [x, start], shape=f"2,{HIDDEN}", extra=parts))
    feed = {"x": rng.normal(size=(2, STEPS, SIZE)).astype(np.float32), "h0": np.zeros((2, HIDDEN), np.float32)}
    [result] = loopdbg.load(net.save(tmp_path)).run(feed).values()
    state = feed["h0"]
    for step in range(STEPS):
        total = feed["x"][:, step] @ w.T + state @ r.T + b
        state = np.tanh(total) if activation == "tanh" else np.maximum(total, 0)
    np.testing.assert_allclose(result, state, atol=1e-5)
