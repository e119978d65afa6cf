"""Large tensors in a snapshot are references: read in place, and invalid once the session continues."""

from __future__ import annotations

import threading
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest

from loopdbg import Model, Session, load
from loopdbg.debugger.session import timeline
from loopdbg.debugger.session.stop_state import read_stop
from loopdbg.debugger.statistics.tensor_statistics import REFERENCE_MIN_BYTES, StaleReferenceError, TensorRef
from loopdbg.tui.render.formatting import delta_text
from loopdbg.tui.render.value_cells import short_value, short_value_with_norm

HALVES = """
<ir_version: 10, opset_import: ["" : 21]>
main (int64 m, float[N] x0, float[K, N] xs) => (float[N] x_last, float[K, N] rows) {
  x_last, rows = Loop <body = body (int64 i, bool c, float[N] x) => (bool go, float[N] y, float[N] row) {
    go = Identity (c)
    half = Constant <value_float: float = 0.5> ()
    part = Gather (xs, i)
    y = Mul (x, half)
    row = Add (y, part)
  }> (m, , x0)
}
"""
N = REFERENCE_MIN_BYTES


@pytest.fixture
def model(tmp_path) -> Model:  # type: ignore[no-untyped-def]
    path = tmp_path / "halves.onnxtxt"
    path.write_text(HALVES)
    onnx.checker.check_model(onnx.parser.parse_model(HALVES))
    return load(path)


def inputs() -> dict[str, object]:
    random = np.random.default_rng(0)
    return {
        "m": 3,
        "x0": random.standard_normal(N).astype(np.float32),
        "xs": random.standard_normal((3, N)).astype(np.float32),
    }


def test_large_value_is_a_reference_with_the_same_elements(model: Model) -> None:
    feeds = inputs()
    session = Session(model, feeds)
    session.step()
    session.next_node()
    for _ in range(4):
        frame = read_stop(session).frame
        large = {name: value for name, value in frame.values.items() if isinstance(value, TensorRef)}
        assert {"x", "xs"} <= large.keys()
        for name, value in large.items():
            expected = session.frame.values[name] if name != "x" or not frame.at_boundary else None
            if expected is not None:
                assert np.array_equal(np.asarray(value), expected)
        edge, copied = frame.back_edges[0], session.frame.back_edges[0]
        assert np.array_equal(np.asarray(edge.previous), copied.previous)
        assert edge.previous.statistics.norm == pytest.approx(np.linalg.norm(copied.previous.astype(np.float64)))
        whole = frame.scans[0].full_value
        assert np.array_equal(np.asarray(whole), session.frame.scan_outputs["rows"])
        assert np.array_equal(np.asarray(frame.scans[0].tail[-1]), np.asarray(whole)[-1])
        session.next_node()


def test_boundary_shows_what_the_previous_iteration_received(model: Model) -> None:
    feeds = inputs()
    session = Session(model, feeds)
    session.step(2)
    frame = read_stop(session).frame
    assert frame.at_boundary and frame.iteration == 2
    assert np.array_equal(np.asarray(frame.values["x"]), np.asarray(feeds["x0"]) * np.float32(0.5))
    assert np.array_equal(np.asarray(frame.values["y"]), np.asarray(feeds["x0"]) * np.float32(0.25))


def test_reference_is_invalid_after_the_session_continues(model: Model) -> None:
    session = Session(model, inputs())
    session.step()
    frame = read_stop(session).frame
    edge = frame.back_edges[0]
    text = short_value_with_norm(edge.value, 40)
    assert text.startswith("norm ")
    apart = np.abs(np.asarray(edge.value) - np.asarray(edge.previous)).max()
    changed = f"±{apart:.2g}"
    session.step()
    with pytest.raises(StaleReferenceError, match="gone on"):
        edge.value.copy_range(0, 1)
    # Statistics that were read stay known, with those of the same pass; others are not made up.
    assert short_value_with_norm(edge.value, 40) == text
    assert delta_text(edge.previous, edge.value) == changed
    assert short_value(frame.values["xs"], 20) == "…"


def test_no_reads_while_session_moves(model: Model) -> None:
    session = Session(model, inputs())
    session.step()
    value = read_stop(session).frame.back_edges[0].value
    results: list[object] = []
    reading, moved = threading.Event(), threading.Event()

    def observe(whole: np.ndarray) -> float:  # type: ignore[type-arg]
        reading.set()
        results.append(moved.wait(0.2))
        return float(whole[0])

    reader = threading.Thread(target=lambda: results.append(value.with_array(observe)))
    reader.start()
    assert reading.wait(5)
    first = float(session.frame.values["x"][0])
    session.step()
    moved.set()
    reader.join()
    # The step waited for the reader, who saw the earlier value.
    assert results == [False, first]


def test_snapshot_copies_no_large_value(model: Model) -> None:
    session = Session(model, inputs())
    session.step()
    tracemalloc.start()
    try:
        read_stop(session)
        assert tracemalloc.get_traced_memory()[1] < 4 * N
    finally:
        tracemalloc.stop()


HALVES_ALONE = """
<ir_version: 10, opset_import: ["" : 21]>
main (int64 m, float[N] x0) => (float[N] x_last) {
  x_last = Loop <body = body (int64 i, bool c, float[N] x) => (bool go, float[N] y) {
    go = Identity (c)
    half = Constant <value_float: float = 0.5> ()
    y = Mul (x, half)
  }> (m, , x0)
}
"""


def test_session_memory_is_that_of_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a read-only input nor a carried value that is quick to recompute is copied."""
    monkeypatch.setattr(timeline, "time", SimpleNamespace(monotonic=lambda: 0.0))  # on a busy machine too
    path = tmp_path / "halves.onnxtxt"
    path.write_text(HALVES_ALONE)
    model, x0 = load(path), np.arange(1 << 23, dtype=np.float32)
    x0.flags.writeable = False
    _ = model.plan
    tracemalloc.start()
    try:
        session = Session(model, {"m": np.array(9), "x0": x0})
        opened = tracemalloc.get_traced_memory()[1] / x0.nbytes
        session.step()
        stepped = tracemalloc.get_traced_memory()[1] / x0.nbytes
        session.step()
        session.back()
    finally:
        tracemalloc.stop()
    assert session.frame.iteration == 1 and session.frame.values["x"][-1] == x0[-1] / 2
    # What iteration 0 receives; then what it yields.
    assert opened < 1.1 and stepped < 2.1, (opened, stepped)


def test_writable_inputs_are_copied(tmp_path: Path) -> None:
    path = tmp_path / "halves.onnxtxt"
    path.write_text(HALVES_ALONE)
    x0 = np.ones(4, np.float32)
    view = x0[:]
    view.flags.writeable = False
    session = Session(load(path), {"m": 3, "x0": view})
    x0[:] = 7
    session.restart()
    session.step()
    assert session.frame["x"].tolist() == [0.5] * 4
