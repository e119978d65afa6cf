"""What a loop's own system rejects when it is entered is an error in every run, not only in the first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from ir_builder import IrNetBuilder, input_map_entry, loop_sections, output_map_entry
from text_models import model

TYPED = """
g ({limit} n, {cond} yes, float v0) => (float v) {{
  v = Loop (n, yes, v0) <body = b (int64 i, bool c, float w) => (bool c2, float w2) {{
    c2 = Identity (c)
    one = Constant <value = float {{1}}> ()
    w2 = Add (w, one)
  }}>
}}
"""

SLICES = """
g (float s0, float[n] a, float[m] b) => (float s) {
  s = Scan <num_scan_inputs = 2, body = body (float t, float p, float q) => (float t2) {
    u = Add (t, p)
    t2 = Add (u, q)
  }> (s0, a, b)
}
"""


def strings(text: str) -> Any:
    return np.array(text, object)


def three_times(run: Callable[[], object], says: str) -> None:
    for _ in range(3):
        with pytest.raises(loopdbg.ExecutionError, match=says):
            run()


def test_trip_count_of_strings() -> None:
    m = model(TYPED.format(limit="string", cond="bool"))
    feed = {"n": strings("3"), "yes": np.array(True), "v0": np.float32(0)}
    three_times(lambda: m.run(feed), "its trip count 'n' is string")


def test_condition_of_strings() -> None:
    m = model(TYPED.format(limit="int64", cond="string"))
    feed = {"n": np.int64(3), "yes": strings("yes"), "v0": np.float32(0)}
    three_times(lambda: m.run(feed), "its condition 'yes' is string")


def test_sliced_inputs_that_disagree() -> None:
    m = model(SLICES)
    good = {"s0": np.float32(0), "a": np.ones(4, np.float32), "b": np.ones(4, np.float32)}
    bad = {**good, "b": np.ones(2, np.float32)}
    three_times(lambda: m.run(bad), "'a' has 4, 'b' has 2")
    assert m.run(good)["s"] == 8
    three_times(lambda: m.run(bad), "'a' has 4, 'b' has 2")
    assert m.run(good)["s"] == 8


def test_sliced_inputs_that_disagree_in_a_session() -> None:
    m = model(SLICES)
    feed = {"s0": np.float32(0), "a": np.ones(4, np.float32), "b": np.ones(2, np.float32)}
    three_times(lambda: loopdbg.debug(m, feed), "'a' has 4, 'b' has 2")


@pytest.mark.parametrize("axis", [127, 2, -3])
def test_a_concatenation_axis_outside_the_rank(tmp_path: Path, axis: int) -> None:
    net = IrNetBuilder()
    x = net.parameter("3,2", name="x")
    body = net.body_builder()
    part = body.parameter("?,?", name="part")
    same = body.result(body.layer("Relu", [part], shape="?,?"))
    ports = [input_map_entry(0, part, 'axis="0"'), output_map_entry(1, same, f'axis="{axis}"')]
    net.result(net.layer("TensorIterator", [x], 1, name="ti", extra=loop_sections(body, ports)))
    path = tmp_path / "model.xml"
    path.write_text(f'<?xml version="1.0"?>\n<net name="net" version="11">{net.text()}</net>\n')
    m = loopdbg.load(path)
    three_times(lambda: m.run({"x": np.ones((3, 2), np.float32)}), f"scan output .* has axis {axis}, but its rank is 2")


def test_a_trip_count_of_another_width() -> None:
    """A good entry after one of another type is read as what it is."""
    m = model(TYPED.format(limit="int8", cond="bool"))
    for n in (3, 100, 5):
        assert m.run({"n": np.int8(n), "yes": np.array(True), "v0": np.float32(0)})["v"] == n
