"""Queries of a session's history over all iterations, by name."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.describe.condition_analysis import deciding_comparison
from loopdbg.debugger.frame_state import FrameState
from loopdbg.debugger.session.live_controller import AnyBoundaryDestination
from loopdbg.debugger.session.session import Reason, Session
from loopdbg.debugger.session.stop_state import read_stop
from loopdbg.debugger.statistics.value_history import Evolution
from loopdbg.debugger.trace.replay import Replay
from recordings import record_run
from text_models import SAMPLES, model

SAMPLE_MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))


def open_session(name: str) -> Session:
    path = SAMPLES / name
    inputs = path.with_suffix(".inputs.npz")
    return Session(loopdbg.load(path), dict(np.load(inputs)) if inputs.exists() else {}, max_iterations=300)


def number(value: Any) -> float:
    array = np.asarray(value, np.float64).reshape(-1)
    return float(array[0]) if array.size == 1 else float(np.linalg.norm(array))


class CollectedHistory:
    """The values seen at each boundary of each entry."""

    def __init__(self) -> None:
        self.carried: dict[tuple[str, tuple[int, ...], str], list[float]] = {}
        self.sides: dict[tuple[str, tuple[int, ...]], list[tuple[float, ...]]] = {}

    def observe(self, frame: FrameState) -> None:
        loop = frame.loop
        if loop is None or not frame.at_boundary:
            return
        for edge in frame.back_edges:
            self.carried.setdefault((frame.path, frame.entry, edge.param), []).append(number(edge.value))
        result = deciding_comparison(loop)
        if result is not None and frame.iteration:
            both = [frame.values.get(v.name) if v.constant is None else v.constant for v in (result.left, result.right)]
            self.sides.setdefault((frame.path, frame.entry), []).append(tuple(map(number, both)))


def check(evolution: Evolution, path: str, entry: tuple[int, ...], seen: CollectedHistory) -> int:
    """Compare an evolution with the collected values; returns how many there were."""
    looked = 0
    for (where, which, name), wanted in seen.carried.items():
        if (where, which) == (path, entry):
            history = evolution[name]
            assert list(history.iterations) == list(range(0, len(wanted), history.bucket))
            ends = [min(k + history.bucket, len(wanted)) - 1 for k in history.iterations]
            np.testing.assert_allclose(history.values, np.array(wanted)[ends], rtol=1e-6)
            looked += 1
    if (path, entry) in seen.sides:
        assert evolution.sides is not None
        for side, item in zip(evolution.sides, np.array(seen.sides[path, entry]).T, strict=True):
            np.testing.assert_allclose(side.values, item, rtol=1e-6)
            assert list(side.iterations) == list(range(len(item)))
    return looked


@pytest.mark.parametrize("name", SAMPLE_MODELS)
def test_history_of_one_command_equals_that_of_single_steps(name: str) -> None:
    stepped, seen = open_session(name), CollectedHistory()
    for _ in range(5000):
        seen.observe(read_stop(stepped).frames[-1])
        if stepped.controller.run_to(AnyBoundaryDestination()).reason in (Reason.DONE, Reason.LIMIT):
            break
    session = open_session(name)
    session.continue_()
    frame = read_stop(session).frame
    assert frame.loop is not None
    looked = check(frame.history, frame.path, frame.entry, seen)
    assert looked == len(frame.back_edges)
    if frame.back_edges == ():
        # The inner loop has ended as well: its last entry.
        index = len(session.controller.symbols.loops) - 1
        last = max(entry for path, entry, _ in seen.carried if path == session.controller.symbols.loops[index].path)
        assert check(
            session.controller.timeline.histories.entry_history(index),
            session.controller.symbols.loops[index].path,
            last,
            seen,
        )


def test_each_entry_of_an_inner_loop_has_its_own_history() -> None:
    session = open_session("mandelbrot.onnx")
    session.until(3)
    assert session.history("count", entry=0).values[0] == 0
    first, second = session.history("count", entry=0), session.history("count", entry=2)
    assert len(first) > 1
    assert len(second) > 1
    with raises_error(loopdbg.UsageError, loop="escape", name="entry 7"):
        session.history("count", entry=7)


def test_going_back_truncates_the_history_and_a_branch_has_its_own() -> None:
    session = open_session("counter.onnx")
    session.finish()
    assert list(session.history("count").values) == [0, 3, 6, 9, 12, 15, 18, 21]
    session.goto(3)
    assert list(session.history("count").values) == [0, 3, 6, 9]
    session.set("count", 1)
    assert list(session.history("count").values) == [0, 3, 6, 1]
    session.finish()
    assert list(session.history("count").values) == [0, 3, 6, 1, 4, 7, 10, 13, 16, 19, 22]
    session.switch(1)
    assert list(session.history("count").values) == [0, 3, 6, 9, 12, 15, 18, 21]


def test_edited_limit_keeps_its_earlier_value_in_the_history() -> None:
    session = open_session("counter.onnx")
    session.goto(3)
    session.set("limit", 14)
    session.finish()
    sides = session.frame.evolution.sides
    assert sides is not None
    assert list(sides[1].values) == [20, 20, 20, 14, 14]
    assert list(sides[0].values) == [3, 6, 9, 12, 15]


LONG = """
g (int64 M, float v0, float a, float[3] w0) => (float v, float[3] w) {
  v, w = Loop (M, , v0, w0) <body = body (int64 i, bool c, float x, float[3] y) =>
    (bool k, float z, float[3] u) {
      k = Identity (c)
      s = Mul (x, a)
      nan = Div (x, x)
      peak = Constant <value_int = 1000> ()
      here = Equal (i, peak)
      spike = Constant <value_float = 1000.0> ()
      one = Constant <value_float = 0.0> ()
      more = Where (here, spike, one)
      z = Add (s, more)
      u = Add (y, more)
  }>
}
"""


def test_spike_is_never_lost() -> None:
    session = Session(
        model(LONG),
        {"M": np.array(20_000), "v0": np.float32(1), "a": np.float32(0.5), "w0": np.zeros(3, np.float32)},
    )
    session.continue_()
    history = session.history("x")
    assert history.bucket == 64
    assert 256 < len(history) <= 512
    assert history.value.high.max() == np.float32(1000)
    assert history.extremes.max() == np.float32(1000)
    assert list(history.iterations[:3]) == [0, 64, 128]
    tensor = session.history("y")
    assert tensor.is_tensor
    assert tensor.max is not None
    assert tensor.max.high[-1] == np.float32(1000)
    assert session.frame["max(history(x))"] == 1000


def test_all_elements_of_large_tensors_count() -> None:
    text = """g (float[100,100] a) => (float[100,100] b) {
      n = Constant <value_int = 3> ()
      b = Loop (n, , a) <body = body (int64 i, bool c, float[100,100] x) => (bool k, float[100,100] y) {
        k = Identity (c)
        y = Neg (x)
      }>
    }"""
    session = Session(model(text), {"a": np.full((100, 100), 2, np.float32)})
    session.continue_()
    history = session.history("x")
    assert list(history.values) == [200, 200, 200, 200]
    assert history.min is not None
    assert list(history.min.low) == [2, -2, 2, -2]


def test_unknown_name_lists_the_known_ones() -> None:
    session = open_session("counter.onnx")
    with raises_error(loopdbg.UsageError, name="nothing"):
        session.history("nothing")


@pytest.mark.parametrize("name", ["newton_sqrt.onnx", "lstm.xml", "counter.onnx", "greedy_decoder.onnx"])
def test_recording_has_the_same_history(name: str, tmp_path: Path) -> None:
    path = SAMPLES / name
    m = loopdbg.load(path)
    inputs = dict(np.load(path.with_suffix(".inputs.npz")))
    trace, _, _ = record_run(tmp_path / "run", m, inputs, nodes=True)
    with trace:
        replay, session = Replay(trace), open_session(name)
        for move in (lambda entry: entry.goto(3), lambda element: element.finish()):
            for item in (replay, session):
                move(item)
            is_present, here = replay.frame.evolution, session.frame.evolution
            assert set(is_present) == set(here)
            for key, history in here.items():
                np.testing.assert_allclose(is_present[key].values, history.values, rtol=1e-6)
                assert list(is_present[key].iterations) == list(history.iterations)
                assert is_present[key].is_tensor == history.is_tensor


def test_history_can_be_read_while_the_loop_runs() -> None:
    session = open_session("loop_infinite.xml")
    session.max_iterations = None
    session.controller.engine.set_limits(None)
    thread = threading.Thread(target=session.finish)
    thread.start()
    results: list[int] = []
    deadline = time.monotonic() + 200
    try:
        while len(set(results)) < 4 and time.monotonic() < deadline:
            evolution = session.lately.get("main ▸ leibniz")
            if evolution:
                history = evolution["estimate"]
                results.append(int(history.iterations[-1]))
                last = history.value.last[-1]
                assert results[-1] < 100 or abs(last - np.pi / 4) < 0.1 or abs(last - np.pi) < 0.1
            time.sleep(0.02)
    finally:
        session.interrupt()
        thread.join(200)
    assert len(set(results)) >= 4
    assert results == sorted(results)
