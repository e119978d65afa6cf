"""Loops whose shapes change: an append costs what is appended."""

from __future__ import annotations

import ctypes
import tracemalloc
from typing import Any

import numpy as np
import pytest

from engine_state import CHook
from loopdbg.runtime.plan.plan import Opcode
from optimizer_access import requires_optimizer, requires_unchecked_build, start_engine
from text_models import model

from .growing_loops import CASES, ROWS, F, Inputs, inputs_of, loop

pytestmark = requires_optimizer


def addresses(text: str, inputs: Inputs, edge: int = 0) -> list[int]:
    """Where a carried value was at each boundary."""
    seen: list[int] = []

    @CHook
    def hook(context: int, view: Any) -> int:
        seen.append(view.contents.carried[edge])
        return 0

    m = model(text)
    engine = start_engine(m, inputs)
    engine.set_c_hook(ctypes.cast(hook, ctypes.c_void_p).value or 0)
    assert engine.resume() == ("end", -1)
    engine.set_c_hook(0)
    return seen


@pytest.mark.parametrize(
    ("case", "width", "shift"), [("append", 1, 0), ("rows", 3, 0), ("tokens", 1, 0), ("prepend", 1, -4)]
)
def test_appends_copy_no_more_than_a_few_times_the_result(case: str, width: int, shift: int) -> None:
    """A value whose end (``shift`` bytes: whose beginning) stays where it is was not copied."""
    trips = 5000
    seen = addresses(CASES[case][0], inputs_of(case, trips))
    assert len(seen) == trips + 1
    moved = [k for k in range(1, trips + 1) if seen[k] != seen[k - 1] + shift]
    assert sum(moved) * width < 4 * trips * width
    assert len(moved) < 60


@pytest.mark.parametrize("case", ["sometimes", "deep"])
def test_what_grows_in_a_branch_gets_memory_a_few_times(case: str) -> None:
    trips = 5000
    seen = addresses(CASES[case][0], inputs_of(case, trips))
    assert len(seen) == trips + 1
    assert len(set(seen)) < 60


def test_nodes_stay_bound_while_shapes_grow() -> None:
    for case in ("append", "rows", "cache", "attention", "tokens", "twice", "prepend", "mean", "shrink"):
        m = model(CASES[case][0], 23)
        inputs = inputs_of(case)
        m.run(inputs)
        m.run(inputs)
        engine = m._engine
        assert engine is not None
        unbound = [
            i.node for pc, i in enumerate(m.plan.code) if i.kind is Opcode.NODE and not engine.binder.is_native(pc)
        ]
        assert not unbound, case


def test_short_runs_do_not_end_the_binding_of_longer_ones() -> None:
    """Each run is short, and its first shape another one, so that none of them shows how shapes vary."""
    m = model(CASES["append"][0], 23)
    random = np.random.default_rng(0)
    for trips, size in random.integers((0, 0), (6, 8), (100, 2)):
        m.run({**inputs_of("append", int(trips)), "v0": np.ones(size, F)})
    for _ in range(3):
        m.run(inputs_of("append", 300))
    assert m._engine is not None
    concats = [pc for pc, i in enumerate(m.plan.code) if i.node is not None and i.node.op_type == "Concat"]
    assert concats and all(m._engine.binder.is_native(pc) for pc in concats)


def test_memory_stays_near_what_the_result_needs() -> None:
    trips, width = 4000, 512
    m = model(ROWS.replace(",3]", f",{width}]").replace("[3]", f"[{width}]"))
    inputs = {"M": np.int64(trips), "v0": np.ones((1, width), F), "e": np.ones((1, width), F)}
    engine = start_engine(m, inputs)
    engine.stop_at_end(0)
    tracemalloc.start()
    try:
        assert engine.resume() == ("boundary", 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    grown = (trips + 1) * width * 4
    scanned = trips * width * 4
    # While it moves to a buffer of 1.5 times its size, both are there.
    assert peak < 2.6 * grown + scanned + 1_000_000


def test_thousands_of_shapes_take_no_memory() -> None:
    trips = 100_000
    text = loop("y = Concat <axis = 0> (x, e)", "float[n] x", "float[m] y", "float[k] v0; float[1] e", "float[a] o0")
    m = model(text)
    inputs = {"M": np.int64(trips), "v0": np.ones(1, F), "e": np.ones(1, F)}
    engine = start_engine(m, inputs)
    tracemalloc.start()
    try:
        assert engine.resume() == ("end", -1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * 4 * trips


@requires_unchecked_build
@pytest.mark.parametrize("case", ["append", "cache", "found", "kept", "chosen", "different", "branches"])
def test_bindings_are_kept_for_when_a_loop_starts_small_again(case: str) -> None:
    """After two runs of every length a third one binds nothing: the operators' own functions are not called."""
    m = model(CASES[case][0], 23)
    inputs = inputs_of(case, 200)
    calls = 0
    for instruction in m.plan.code:
        op = instruction.op
        if op is not None:
            function = op.function

            def counted(*args: Any, _function: Any = function, **keywords: Any) -> Any:
                nonlocal calls
                calls += 1
                return _function(*args, **keywords)

            object.__setattr__(op, "function", counted)
    m.run(inputs)
    m.run(inputs)
    assert calls > 0
    calls = 0
    for _ in range(20):
        m.run(inputs)
    assert calls == 0
