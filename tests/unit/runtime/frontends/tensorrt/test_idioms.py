"""Scripts in the ways that TensorRT loops are written: they open unchanged, and give what NumPy gives."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import loop_idioms
from .network_scripts import load_script

random = np.random.default_rng(11)


def run(folder: Path, script: str, **inputs: Any) -> dict[str, Any]:
    model = load_script(folder, script)
    return model.run({name: np.asarray(value) for name, value in inputs.items()})


def f(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def test_tensorrt_itself_is_not_there() -> None:
    assert importlib.util.find_spec("tensorrt") is None


def test_counted(tmp_path: Path) -> None:
    got = run(tmp_path, loop_idioms.COUNTED, inputT0=np.ones((1, 2), np.float32))
    assert got["last"].tolist() == [[32, 32]]
    assert got["all"][:, 0, 0].tolist() == [2, 4, 8, 16, 32, 0]


def test_count_from_an_input(tmp_path: Path) -> None:
    got = run(tmp_path, loop_idioms.COUNT_FROM_INPUT, x=np.zeros(2, np.float32), n=np.array([3], np.int32))
    assert got["rows"].tolist() == [[1, 1], [2, 2], [3, 3]]


def test_while_on_a_float_state(tmp_path: Path) -> None:
    got = run(tmp_path, loop_idioms.WHILE_ON_STATE, x=np.ones((1, 3), np.float32))
    assert got["rows"][:, 0, 0].tolist() == [1, 2, 4, 8, 16, 0, 0]
    assert got["last"].tolist() == [[32, 32, 32]]


def test_while_on_a_counter(tmp_path: Path) -> None:
    x = f(9, 2)
    got = run(tmp_path, loop_idioms.WHILE_ON_COUNTER, x=x)
    assert np.array_equal(got["rows"], np.concatenate([x[[1, 4, 7]], np.zeros((1, 2), np.float32)]))


def test_iterate_and_accumulate(tmp_path: Path) -> None:
    x = f(4, 3)
    got = run(tmp_path, loop_idioms.ACCUMULATE, x=x)
    assert np.array_equal(got["sums"], np.cumsum(x, 0))
    assert np.array_equal(got["total"], np.cumsum(x, 0)[-1])


def test_reversal(tmp_path: Path) -> None:
    x = f(2, 3)
    got = run(tmp_path, loop_idioms.REVERSAL, x=x)
    assert np.array_equal(got["flipped"], x[::-1, ::-1])
    assert np.array_equal(got["reverse"], x[:, ::-1])


def test_lstm(tmp_path: Path) -> None:
    x = f(2, 4, 3)
    weights = np.random.default_rng(1)
    w, r, b = (weights.standard_normal(shape).astype(np.float32) for shape in ((3, 20), (5, 20), (1, 20)))
    h = c = np.zeros((2, 5), np.float32)
    rows = []
    for t in range(4):
        i, fo, z, o = np.split(x[:, t] @ w + h @ r + b, 4, 1)
        c = sigmoid(fo) * c + sigmoid(i) * np.tanh(z)
        h = sigmoid(o) * np.tanh(c)
        rows.append(h)
    model = load_script(tmp_path, loop_idioms.LSTM)
    assert [loop.name for loop in model.loops] == ["lstm"]
    got = model.run({"x": x})
    np.testing.assert_allclose(got["y"], np.stack(rows, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got["h"], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got["c"], c, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_rnn_of_dynamic_sizes(length: int, tmp_path: Path) -> None:
    x, h = f(2, length, 3), f(2, 4)
    got = run(tmp_path, loop_idioms.DYNAMIC_RNN, x=x, h0=h)
    rows = []
    for t in range(length):
        h = np.tanh(x[:, t] @ (np.arange(12).reshape(3, 4) / 10).astype(np.float32) + h / 2)
        rows.append(h)
    if not rows:  # Sizes that the network does not tell are 0 then.
        assert got["y"].shape == (0, 0, 4)
        return
    want = np.stack(rows, 1)
    assert got["y"].shape == want.shape
    np.testing.assert_allclose(got["y"], want, rtol=1e-5, atol=1e-6)


def test_cumulative_sum(tmp_path: Path) -> None:
    x = f(2, 5, 3)
    assert np.array_equal(run(tmp_path, loop_idioms.CUMULATIVE_SUM, x=x)["y"], np.cumsum(x, 1))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_index_pairs(n: int, tmp_path: Path) -> None:
    got = run(tmp_path, loop_idioms.INDEX_PAIRS, n=np.array(n, np.int32))["pairs"]
    assert got.tolist() == [[row, column] for row in range(n) for column in range(row + 1, n)]


@pytest.mark.parametrize("offsets", [[0, 2, 2, 6], [1, 3, 4, 5]])
def test_bags(offsets: list[int], tmp_path: Path) -> None:
    x = f(6, 2)
    got = run(tmp_path, loop_idioms.BAGS, x=x, offsets=np.array(offsets, np.int32))["sums"]
    bags = [x[a:b].sum(0) if a < b else [-1, -1] for a, b in itertools.pairwise(offsets)]
    np.testing.assert_allclose(got, np.array(bags), rtol=1e-5, atol=1e-6)


def test_chunks(tmp_path: Path) -> None:
    x = f(6, 2)
    got = run(tmp_path, loop_idioms.CHUNKS, x=x)["y"]
    grown = np.exp(x.reshape(3, 2, 2))
    np.testing.assert_allclose(got, (grown / grown.sum(1, keepdims=True)).reshape(6, 2), rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 4, 6, 9])
def test_online_softmax(rows: int, tmp_path: Path) -> None:
    q, k, v = f(2, 3), f(rows, 3), f(rows, 3)
    got = run(tmp_path, loop_idioms.ONLINE_SOFTMAX, q=q, k=k, v=v)["y"]
    scores = np.exp(q @ k.T)
    np.testing.assert_allclose(got, scores / scores.sum(1, keepdims=True) @ v, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [1, 4, 6])
def test_characters(length: int, tmp_path: Path) -> None:
    x = f(6, 4)
    got = run(tmp_path, loop_idioms.CHARACTERS, data=x, seq_len=np.array(length, np.int32))
    weights = np.random.default_rng(2)
    states = weights.standard_normal((2, 4)).astype(np.float32)
    rows, finals = x, []
    for layer in range(2):
        w, r = (weights.standard_normal((4, 4)).astype(np.float32) for _ in range(2))
        h, result = states[layer], np.zeros((6, 4), np.float32)
        for t in range(length):
            result[t] = h = np.tanh(w @ rows[t] + r @ h)
        rows = result
        finals.append(h)
    np.testing.assert_allclose(got["states"], np.stack(finals), rtol=1e-5, atol=1e-6)
    p = weights.standard_normal((5, 4)).astype(np.float32)
    assert got["characters"].tolist() == np.argmax(rows @ p.T, 1, keepdims=True).tolist()
    assert got["characters"].dtype == np.int32


def test_before_the_update_and_both_directions(tmp_path: Path) -> None:
    x = f(3, 2)
    got = run(tmp_path, loop_idioms.BOTH_DIRECTIONS, x=x)
    start = np.array([[10, 20]], np.float32)
    forward = np.cumsum(np.concatenate([start, x]), 0)
    backward = np.cumsum(np.concatenate([start, x[::-1]]), 0)
    assert np.array_equal(got["before"], forward[:-1])
    assert np.array_equal(got["both"], np.concatenate([forward[1:], backward[1:][::-1]], 1))
