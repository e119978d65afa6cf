"""The live status of a running loop equals what a stop at that moment shows, and changes nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.session import live_status
from loopdbg.debugger.session.live_status import LiveStatus, LiveStatusSampler
from loopdbg.runtime.graph.slicing import split_scan_output
from text_models import SAMPLES, model, sample

NAMES = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))


@pytest.mark.parametrize("name", NAMES)
def test_live_status_equals_the_state_at_a_stop(name: str) -> None:
    run = loopdbg.Session(*sample(name), max_iterations=12)
    looked = 0
    for _ in range(40):
        if run.done or run.stop.reason == "limit":
            break
        message = LiveStatusSampler(run.controller.engine, run.controller.timeline.histories)._sample()
        assert list(message) == [frame.path for frame in run.frames[1:]]
        for frame in run.frames[1:]:
            now = message[frame.path]
            assert (now.entry, now.iteration, now.trip_count) == (frame.entry, frame.iteration, frame.trip_count)
            for item, (port, edge) in zip(
                now.carried, zip(frame.loop.back_edges, frame.back_edges, strict=True), strict=True
            ):
                shown = edge.value if frame.at_boundary else edge.previous
                assert item is not None and item.value is not None, port.param.name
                np.testing.assert_array_equal(item.value, shown)
                if frame.at_boundary and frame.iteration:
                    np.testing.assert_array_equal(item.previous, edge.previous)
            for scan, port in zip(now.scans, frame.loop.scan_outputs, strict=True):
                whole = frame.scan_outputs[port.outer.name]
                if not scan.count:
                    assert not whole.size or not whole.shape[port.axis]
                    continue
                assert (scan.shape, scan.dtype) == (whole.shape, whole.dtype.name)
                rows = split_scan_output(whole, port, scan.count)
                np.testing.assert_array_equal(scan.newest, rows[-1])
                placed = rows[::-1] if port.reverse else rows
                assert scan.sample is not None and scan.sample.is_exhaustive
                axis = 0 if port.stack else port.axis % rows[0].ndim
                for row, element in zip(scan.sample.rows, placed, strict=True):
                    np.testing.assert_array_equal(
                        row, np.moveaxis(element, axis, 0).reshape(-1) if element.ndim else [element]
                    )
                looked += 1
        run.step()
    assert looked or not any(place.loop.scan_outputs for place in run.controller.symbols.loops)


LONG = """g (int64 M, float v0) => (float v, float[n] vs) {
  v, vs = Loop (M, , v0) <body = body (int64 i, bool c, float x) => (bool k, float z, float s) {
    k = Identity (c)
    one = Constant <value_float = 1.0> ()
    z = Add (x, one)
    s = Identity (x)
  }>
}"""


def watched(inputs: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> tuple[loopdbg.Session, list[LiveStatus]]:
    """A session that ran to its end, and the statuses that another thread read at each tick of the engine and in
    between."""
    run = loopdbg.Session(model(LONG), inputs)
    assert run.underway == {}
    done = threading.Event()
    messages: list[LiveStatus] = []

    def ask_all_the_time() -> None:
        while not done.wait(0.02):
            assert all(item.iteration for item in run.underway.values())

    tick = run.controller.timeline._on_tick
    with ThreadPoolExecutor(2) as threads:

        def ticked() -> None:
            tick()
            messages.extend(threads.submit(lambda: list(run.underway.values())).result())

        monkeypatch.setattr(run.controller.timeline, "_on_tick", ticked)
        asking = threads.submit(ask_all_the_time)
        run.continue_()
        done.set()
        asking.result()
    return run, messages


def test_status_during_run_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    # As often as it is read, however busy the machine is.
    monkeypatch.setattr(live_status, "_SAMPLE_INTERVAL_SECONDS", 0)
    monkeypatch.setattr(live_status, "_MAX_TIME_SHARE", 1)
    inputs = {"M": np.array(6_000_000), "v0": np.float32(0)}
    run, message = watched(inputs, monkeypatch)
    counts = [entry.scans[0].count for entry in message]
    assert counts == sorted(counts) and len(set(counts)) >= 3
    for item in message:
        scan = item.scans[0]
        assert item.iteration == scan.count == len(item.history["x"].iterations) or item.history["x"].bucket > 1
        # All of them in order, or the first and the last one of each part where only the ends are kept.
        assert scan.sample is not None
        rows, places = scan.sample.rows[:, 0], scan.sample.element_indices
        parted = places[:-1] == places[1:]
        assert (np.diff(rows) > 0).all() and (rows[:-1][parted] == places[:-1][parted]).all()
        assert (rows == places).all() or rows[-1] == scan.count - 1
        assert item.carried[0].value == item.iteration
    alone = model(LONG).run(inputs)
    for name, value in run.outputs.items():
        np.testing.assert_array_equal(value, alone[name])
