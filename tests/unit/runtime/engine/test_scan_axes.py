"""Sliced inputs and scan outputs along any axis, in either order, entered again and again: memory is used again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from loopdbg.runtime.frame import Frame
from optimizer_access import start_engine
from text_models import model

# The inner loop runs once for each row of x, on a tensor that the outer loop changes.
TEXT = """
g (float[2] offsets, float[A, B, C] x) => (float[N, D, E, F] out, float[N, G, H] last) {
  out, last = Scan <num_scan_inputs = 1, body = outer (float offset) => (float[D, E, F] y, float[G, H] z) {
    moved = Add (x, offset)
    y, z = Scan <num_scan_inputs = 1, scan_input_axes = [AXIS], scan_input_directions = [BACK],
        scan_output_axes = [OUT, 1], scan_output_directions = [REVERSE, REVERSE],
        body = inner (float[P, Q] part) => (float[P, Q] same, float[P] sum) {
      same = Add (part, part)
      axes = Constant <value = int64[1] {1}> ()
      sum = ReduceSum <keepdims = 0> (part, axes)
    }> (moved)
  }> (offsets)
}
"""


def expected(offsets: np.ndarray, x: np.ndarray, axis: int, back: int, out: int, reverse: int) -> list[np.ndarray]:
    rows, sums = [], []
    for offset in offsets:
        parts = np.moveaxis(x + offset, axis, 0)
        parts = parts[::-1] if back else parts
        inputs = parts[::-1] if reverse else parts
        rows.append(np.moveaxis(inputs + inputs, 0, out))
        sums.append(np.stack([part.sum(axis=1, dtype=np.float32) for part in inputs], axis=1))
    return [np.stack(rows), np.stack(sums)]


@pytest.mark.parametrize(("axis", "out"), itertools.product(range(3), range(3)))
@pytest.mark.parametrize(("back", "reverse"), [(0, 0), (1, 0), (0, 1)])
def test_parts_and_elements_on_any_axis(axis: int, out: int, back: int, reverse: int) -> None:
    text = TEXT.replace("AXIS", str(axis)).replace("OUT", str(out))
    m = model(text.replace("BACK", str(back)).replace("REVERSE", str(reverse)))
    random = np.random.default_rng(0)
    for shape in [(3, 4, 5), (3, 4, 5), (2, 4, 5), (3, 4, 5), (1, 1, 5), (3, 4, 0)]:
        x = random.integers(-9, 9, shape).astype(np.float32)
        offsets = random.integers(-9, 9, 4).astype(np.float32)
        if shape[axis] == 0:
            continue
        inputs = m.run({"offsets": offsets[:2], "x": x})
        for item, wanted in zip(inputs.values(), expected(offsets[:2], x, axis, back, out, reverse), strict=True):
            np.testing.assert_array_equal(item, wanted)


def test_a_checkpoint_keeps_the_parts_of_its_entry() -> None:
    text = TEXT.replace("AXIS", "1").replace("OUT", "1").replace("BACK", "0").replace("REVERSE", "0")
    m = model(text)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    inputs = {"offsets": np.array([0, 100], np.float32), "x": x}
    engine = start_engine(m, inputs)
    engine.stop_at(1, 1)
    assert engine.resume() == ("boundary", 1)
    checkpoint = engine.checkpoints.save()
    engine.clear_stops()
    assert engine.resume() == ("end", -1)
    wanted = engine.results()
    engine.checkpoints.restore(checkpoint)
    assert engine.resume() == ("end", -1)
    for name, value in engine.results().items():
        np.testing.assert_array_equal(value, wanted[name])
    np.testing.assert_array_equal(wanted["out"], 2 * np.stack([x, x + 100]))


def test_parts_that_a_checkpoint_keeps_are_not_those_of_the_next_entry() -> None:
    text = TEXT.replace("AXIS", "1").replace("OUT", "1").replace("BACK", "0").replace("REVERSE", "0")
    m = model(text.replace("float[2] offsets", "float[4] offsets"))
    offsets = np.float32([100, 200, 300, 400])
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    engine = start_engine(m, {"offsets": offsets, "x": x})
    engine.stop_at(1, 2)
    for _ in range(4):  # boundaries 2, 3 and 4 of the first entry, and one of the second, which needed no Python
        assert engine.resume() == ("boundary", 1)
    engine.clear_stops()
    kept = engine.checkpoints.save()
    results = []
    for _ in range(2):
        np.testing.assert_array_equal(Frame(engine, 1).values["part"], (x + 200)[:, 2])
        assert engine.resume()[0] == "end"
        results.append(engine.results())
        engine.checkpoints.restore(kept)
    for name, value in results[0].items():
        np.testing.assert_array_equal(value, results[1][name])
    for value, wanted in zip(results[0].values(), expected(offsets, x, 1, 0, 1, 0), strict=True):
        np.testing.assert_array_equal(value, wanted)
