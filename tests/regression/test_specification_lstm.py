"""TensorIterator-1's own example as printed: its Reshapes do not say special_zero."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import loopdbg
from ir_builder import save_net, specification_example

STEPS, SIZE, HIDDEN = 5, 8, 4


def test_it_computes_an_lstm(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4 * HIDDEN, SIZE + HIDDEN)).astype(np.float32)
    bias = rng.normal(size=4 * HIDDEN).astype(np.float32)
    shapes = np.array([1, SIZE], np.int64), np.array([1, 1, HIDDEN], np.int64)
    blob = shapes[0].tobytes() + weights.tobytes() + bias.tobytes() + shapes[1].tobytes()
    model = loopdbg.load(save_net(tmp_path, specification_example(STEPS, SIZE, HIDDEN), blob=blob))
    x, h, c = (rng.normal(size=s).astype(np.float32) for s in ((1, STEPS, SIZE), (1, HIDDEN), (1, HIDDEN)))
    [rows] = model.run(dict(zip([port.name for port in model.inputs], (x, h, c), strict=True))).values()
    expected = []
    for step in range(STEPS):
        f, i, g, o = np.split(np.concatenate([x[:, step], h], 1) @ weights.T + bias, 4, axis=1)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        expected.append(h)
    np.testing.assert_allclose(rows, np.stack(expected, 1), atol=1e-5)
