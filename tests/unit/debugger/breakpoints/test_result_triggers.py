"""``break overflow`` and ``break beyond float16``: they stop after the node that gave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from text_models import model

#: A sum of the parts of a vector: what the body gets differs from iteration to iteration.
SUM = """
g (int32[N] v, int32 s0) => (int32 s) {
    s = Scan <num_scan_inputs = 1, body = b (int32 t, int32 part) => (int32 u) { u = Add (t, part) }> (s0, v)
}"""
GROWING = """
g (int64 M, float x0) => (float x) {
    x = Loop <body = b (int64 i, bool c, float p) => (bool keep, float q) {
        keep = Identity (c)
        h = Constant <value = float {100}> ()
        r = Mul (p, h)
        q = Sub (r, p)
    }> (M, , x0)
}"""
INPUTS = {"v": np.array([2**30, 2**29, 2**29, 5], np.int32), "s0": np.int32(1)}


def session(text: str, **inputs: Any) -> loopdbg.Session:
    return loopdbg.debug(model(text), inputs)


def test_overflow_stops_after_its_node() -> None:
    debugged = session(SUM, **INPUTS)
    debugged.breakpoints.add("overflow")
    stop = debugged.continue_()
    # 1 + 2**30 + 2**29 + 2**29 is 2**31 + 1.
    assert (stop.node, stop.iteration, stop.breakpoints) == ("Add_0", 2, (1,))
    assert debugged.frame.values["u"] == -(2**31) + 1
    assert debugged.continue_().done


@pytest.mark.parametrize("place", ["overflow", "overflow in Scan_0", "overflow if iter > 2"])
def test_overflow_after_a_jump(place: str) -> None:
    debugged = session(SUM, **INPUTS)
    debugged.goto(2)
    debugged.breakpoints.add(place)
    assert debugged.continue_().breakpoints == (1,)


def test_no_overflow() -> None:
    debugged = session(SUM, v=np.array([2**30, 2**29, -(2**29)], np.int32), s0=np.int32(0))
    debugged.breakpoints.add("overflow")
    assert debugged.continue_().done


@pytest.mark.parametrize(("place", "node"), [("beyond float16", "Mul_2"), ("beyond float16 q", "Sub_3")])
def test_beyond_float16_stops_after_its_node(place: str, node: str) -> None:
    debugged = session(GROWING, M=np.int64(9), x0=np.float32(2))
    number = debugged.breakpoints.add(place)
    stop = debugged.continue_()
    # 2, 198, 19602, 1940598: the product of the third iteration is 1960200.
    assert (stop.node, stop.iteration) == (node, 2)
    assert not debugged.controller.is_tested_in_python(number)
    assert debugged.continue_().done


def test_recording(tmp_path: Path) -> None:
    debugged = session(GROWING, M=np.int64(4), x0=np.float32(2))
    debugged.record(tmp_path / "run.loopdb", nodes=True)
    with loopdbg.Trace.open(tmp_path / "run.loopdb") as trace:
        replay = loopdbg.Replay(trace)
        replay.breakpoints.add("beyond float16")
        assert "Mul_2" in replay.continue_().text
        with pytest.raises(loopdbg.UsageError):
            replay.breakpoints.add("overflow")


def test_without_loops() -> None:
    debugged = session("g (float x) => (float y) { y = Neg (x) }", x=np.float32(1))
    for place in ("overflow", "beyond float16"):
        with pytest.raises(loopdbg.UsageError, match=place):
            debugged.breakpoints.add(place)
