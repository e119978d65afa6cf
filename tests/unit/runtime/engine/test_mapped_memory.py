"""Buffers that grow by moving their pages: the same results in every way of running, and views that stay readable."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from comparable_values import all_exact_bits
from differential_testing import check_all_modes
from loopdbg.debugger.sweep.case_limits import resident_bytes
from loopdbg.runtime.engine.baseline import memory
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.graph import StoppedBy
from optimizer_access import requires_optimizer, start_engine
from strategies.draws import SeededChoices
from text_models import model

from .growing_loops import APPEND, CASES, PREPEND, TRIPS, F, inputs_of

requires_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux moves pages")

#: Rows of a scan output whose number is not known before.
ROWS = """
    g (bool go, float[3] v0, float limit) => (float[3] o0, float[k,3] o1)
    <float one = {1}>
    {
      o0, o1 = Loop <body = b (int64 i, bool c, float[3] x) => (bool keep, float[3] y, float[3] z) {
        y = Add (x, one)
        z = Mul (y, y)
        largest = ReduceMax <keepdims = 0> (y)
        keep = Less (largest, limit)
      }> (, go, v0)
    }"""


@pytest.fixture(autouse=True)
def small_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "min_mapped_bytes", 0)


@pytest.mark.parametrize("case", CASES)
def test_mapped_growing_value_matches_in_every_mode(case: str) -> None:
    text, inputs = CASES[case][0], inputs_of(case)
    fewer = inputs_of(case, int(inputs["M"]) // 2)
    check_all_modes(lambda: model(text, 23), inputs, fewer, SeededChoices(case))


@pytest.mark.parametrize("case", ["append", "rows"])
def test_mapped_growing_value_matches_malloc(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, inputs = CASES[case][0], inputs_of(case, 20 * TRIPS.get(case, 12))
    mapped = all_exact_bits(model(text, 23).run(inputs))
    monkeypatch.setattr(memory, "min_mapped_bytes", 1 << 40)
    assert all_exact_bits(model(text, 23).run(inputs)) == mapped


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 200])
def test_mapped_scan_output_matches_in_every_mode(rows: int) -> None:
    inputs = {"go": np.array(True), "v0": np.zeros(3, F), "limit": F(rows)}
    check_all_modes(lambda: model(ROWS), inputs, inputs | {"limit": F(7)}, SeededChoices(rows))
    expected = np.arange(1, rows + 1, dtype=F) ** 2
    np.testing.assert_array_equal(model(ROWS).run(inputs)["o1"], np.stack([expected] * 3, 1))


@requires_optimizer
@requires_linux
def test_growing_buffer_is_extended_not_copied() -> None:
    engine = _start(6000)
    param = engine.plan.loops[0].edges[0].param
    mappings: list[Any] = []
    while engine.resume()[0] == "boundary":
        mappings.append(_mapping(engine.peek(param)))
        engine.stop_at(0, engine.loop_state(0)[0] + 100)
    # Without an extension there is another one for each of the ten times that the buffer was full.
    assert len(mappings) > 50
    assert len(set(map(id, mappings))) < 4


@requires_optimizer
@requires_linux
def test_buffer_that_grows_in_front_gets_memory_there() -> None:
    """A megabyte in each iteration: more than is allocated at first."""
    trips, e = 60, np.arange(1 << 18, dtype=F)
    text = PREPEND.replace("float[1] e", "float[p] e")
    engine = start_engine(model(text), {"M": trips, "v0": np.zeros(1, F), "e": e})
    param = engine.plan.loops[0].edges[0].param
    mappings: dict[int, Any] = {}
    engine.stop_at(0, 1)
    while engine.resume()[0] == "boundary":
        engine.stop_at(0, engine.loop_state(0)[0] + 1)
        value = engine.peek(param)
        np.testing.assert_array_equal(value[: len(e)], e)
        mapping = _mapping(value)
        mappings[id(mapping)] = mapping
    assert len(mappings) < 6
    np.testing.assert_array_equal(engine.results()["o0"], np.append(np.tile(e, trips), F(0)))


@requires_optimizer
def test_view_of_growing_value_stays_readable() -> None:
    engine = _start(6000)
    param = engine.plan.loops[0].edges[0].param
    views = []
    while engine.resume()[0] == "boundary":
        views.append(engine.peek(param))
        engine.stop_at(0, engine.loop_state(0)[0] + 100)
    assert len(views) > 50
    for view in views:
        if view.base is not None:
            np.testing.assert_array_equal(view, np.append(F(0), np.ones(len(view) - 1, F)))


def _start(trips: int) -> Engine:
    engine = start_engine(model(APPEND), {"M": trips, "v0": np.zeros(1, F), "v1": F(0), "e": np.ones(1, F)})
    engine.stop_at(0, 100)
    return engine


def _mapping(array: Any) -> Any:
    while isinstance(array, np.ndarray):
        array = array.base
    return array


@requires_linux
def test_a_run_that_did_not_end_keeps_no_large_buffer() -> None:
    m = model("""g (int64 n, float[1024] x) => (float[m,1024] xs) <bool go = {1}> {
      y, xs = Loop (n, go, x) <body = b (int64 i, bool c, float[1024] h) => (bool c2, float[1024] k, float[1024] s) {
        c2 = Identity (c)
        k = Neg (h)
        s = Identity (k)
      }>
    }""")
    inputs = {"n": np.int64(1 << 40), "x": np.ones(1024, np.float32)}
    assert m.execute(inputs, max_iterations=50_000).stopped_by is StoppedBy.LIMIT
    collected = resident_bytes()
    assert m.execute(inputs, max_iterations=2).stopped_by is StoppedBy.LIMIT
    assert collected - resident_bytes() > 150_000_000  # of 204 MB
