"""Nodes whose inputs stay as they are run once an entry of a loop, until something is changed by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import loopdbg
from engine_walks import WalkMove, check_stops_agree, disable_fusion
from fusion_checks import check_fused_run
from optimizer_access import optimizer_of, requires_optimizer, requires_unchecked_build, start_engine
from text_models import model

NESTED = """
g (int64 M, int64 K, float[2] w, float[2] h0) => (float[2] h, float[n,2] rows) {
  h, rows = Loop (M, , h0) <body = outer (int64 i, bool c, float[2] u) => (bool c2, float[2] u2, float[2] row) {
    c2 = Identity (c)
    u2 = Loop (K, , u) <body = inner (int64 j, bool d, float[2] v) => (bool d2, float[2] v2) {
      d2 = Identity (d)
      of_main = Erf (w)
      of_outer = Tanh (u)
      of_inner = Add (v, of_outer)
      v2 = Mul (of_inner, of_main)
    }>
    noise = RandomUniformLike (w)
    zero = Sub (noise, noise)
    row = Add (u, zero)
  }>
}
"""

# What is carried is the same each time, and so must not take the buffer of what computes it.
CARRIED = """
g (int64 M, float[2] w, float[2] h0) => (float[2] h, float[n,2] rows) {
  h, rows = Loop (M, , h0) <body = b (int64 i, bool c, float[2] u) => (bool c2, float[2] same, float[2] row) {
    c2 = Identity (c)
    same = Neg (w)
    row = Add (u, same)
  }>
}
"""

HOT = """
g (int64 M, float w, float h0) => (float h) {
  h = Loop (M, , h0) <body = b (int64 i, bool c, float u) => (bool c2, float u2) {
    c2 = Identity (c)
    half = Sigmoid (w)
    u1 = Add (u, w)
    u2 = Mul (u1, half)
  }>
}
"""


def once(m: loopdbg.Model) -> dict[str, int]:
    return {m.plan.slots[i.outputs[0]].name: i.once for i in m.plan.code if i.op is not None}


def test_how_far_out() -> None:
    result = once(model(NESTED))
    assert result["of_main"] == 0  # once in the run of the outer loop
    assert result["of_outer"] == 1  # once an entry of the inner one
    assert {result[name] for name in ("of_inner", "v2", "noise", "zero", "row")} == {-1}


@requires_unchecked_build
@requires_optimizer
def test_loop_invariant_node_runs_once_per_loop_entry() -> None:
    m = model(NESTED)
    calls: list[str] = []
    for instruction in m.plan.code:
        if instruction.op is not None:
            name = m.plan.slots[instruction.outputs[0]].name
            counted = partial(_counted, calls, name, instruction.op.function)
            instruction.op = replace(instruction.op, function=counted)
    feed = {"M": np.int64(5), "K": np.int64(4), "w": np.ones(2, np.float32), "h0": np.ones(2, np.float32)}
    engine = start_engine(m, feed, native=False)
    assert engine.resume()[0] == "end"
    assert [calls.count(name) for name in ("of_main", "of_outer", "of_inner")] == [1, 5, 20]
    np.testing.assert_array_equal(engine.results()["h"], model(NESTED).run(feed)["h"])


def _counted(calls: list[str], name: str, function: Callable[..., Any], *inputs: Any, **more: Any) -> Any:
    calls.append(name)
    return function(*inputs, **more)


def test_each_entry_recomputes() -> None:
    m = model(NESTED)
    feed = {"M": np.int64(3), "K": np.int64(2), "w": np.full(2, 0.5, np.float32), "h0": np.ones(2, np.float32)}
    session = loopdbg.debug(m, feed)
    session.continue_()
    for w in (0.5, -2.0, 0.5):
        other = {**feed, "w": np.full(2, w, np.float32)}
        np.testing.assert_array_equal(m.run(other)["h"], model(NESTED).run(other)["h"])
    np.testing.assert_array_equal(session.outputs["h"], m.run(feed)["h"])


def test_what_is_changed_by_hand_counts() -> None:
    m = model(CARRIED)
    feed = {"M": np.int64(4), "w": np.ones(2, np.float32), "h0": np.zeros(2, np.float32)}
    np.testing.assert_array_equal(m.run(feed)["rows"][:, 0], [-1, -2, -2, -2])
    session = loopdbg.debug(m, feed)
    session.step()
    session.step()
    session.set("w", np.full(2, 10, np.float32))
    session.continue_()
    np.testing.assert_array_equal(session.outputs["rows"][:, 0], [-1, -2, -11, -20])
    session.back()
    while session.frame.iteration > 1:
        session.back()


@requires_unchecked_build
def test_in_scalar_programs() -> None:
    m = model(HOT)
    for w in (0.25, 3.0, 0.25):
        feed = {"M": np.int64(1000), "w": np.float32(w), "h0": np.float32(1)}
        got = m.run(feed)["h"]
        assert m._engine is not None and optimizer_of(m._engine).program_runs == 1
        session = loopdbg.debug(m, feed)
        for _ in range(3):
            session.step()
        session.continue_()
        assert session.outputs["h"] == got
        half = np.float32(1) / (np.float32(1) + np.exp(-np.float32(w)))
        assert got == pytest.approx(w * half / (1 - half), rel=1e-3)


def test_between_nodes_that_run_in_groups() -> None:
    m = model("""
    g (int64 M, float[101,97] w, float[101,97] x0) => (float[101,97] x) {
      x = Loop (M, , x0) <body = b (int64 i, bool c, float[101,97] u) => (bool c2, float[101,97] u2) {
        c2 = Identity (c)
        a = Mul (u, w)
        once = Tanh (w)
        b = Add (a, once)
        d = Abs (b)
        u2 = Sub (d, u)
      }>
    }""")
    for w in (0.5, 2.0):
        rng = np.random.default_rng(1)
        feed = {"M": np.int64(6), "w": np.full((101, 97), w, np.float32), "x0": rng.random((101, 97), np.float32)}
        assert check_fused_run(m, feed, python=False) == [["a", "b", "d", "u2"]]
    engine = m._engine
    assert engine is not None
    ((group, _),) = optimizer_of(engine).groups
    writer = next(pc for pc, i in enumerate(m.plan.code) if i.once >= 0 and i.op is not None)
    assert group.before == [writer]
    moves = [
        WalkMove("boundary", inspects=False),
        WalkMove("on", 3),
        WalkMove("set"),
        WalkMove("on", 3, inspects=False),
        WalkMove("boundary"),
        WalkMove("save"),
        WalkMove("node", inspects=False),
        WalkMove("back"),
    ]
    check_stops_agree(m, feed, moves, disable_fusion)
