"""Notes that depend on the numbers of a run: where OpenVINO would have done something else."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import openvino_peer
from loopdbg.runtime.runtime_deviation_notes import notes_for_run
from optimizer_access import start_engine
from tensorrt_networks import NetworkBuilder
from text_models import COUNT, model, proto


def notes(text: str, **inputs: object) -> list[str]:
    result = model(text).execute({"cond": True, "bound": 2**62, **inputs})
    return [note for loop in result.loops for note in loop.notes]


def test_carried_values_beyond_32_bits_are_noted() -> None:
    double = COUNT.replace("Add (v_in, one)", "Add (v_in, v_in)")
    assert notes(double, M=3, v0=2**20) == []
    (note,) = notes(double, M=3, v0=2**30)
    assert "computes 'v_in' in 32 bits" in note


def test_openvino_gets_that_wrong_indeed() -> None:
    source = proto(COUNT.replace("Add (v_in, one)", "Add (v_in, v_in)")).SerializeToString()
    feed = {"M": np.int64(3), "cond": np.array(True), "v0": np.int64(2**30), "bound": np.int64(2**62)}
    assert openvino_peer.run_by_name(source, {k: np.asarray(v) for k, v in feed.items()})["v"] != 2**33


@pytest.mark.parametrize(
    ("trips", "text"),
    [(-1, "-1 for no limit"), (-7, "uninitialised memory"), (2**32 + 2, "would run 2 trips at most"), (5, None)],
)
def test_trip_counts_openvino_reads_differently(trips: int, text: str | None) -> None:
    result = notes(COUNT, M=trips, v0=2**62 - 4)
    assert [text in note for note in result if "trip" in note] == ([True] if text else [])


def test_no_openvino_notes_for_tensorrt() -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(net.const(40, "int32"))
    r, _ = net.add_carried(loop, net.input_tensor("x", "int64"), lambda r: net.elementwise(r, r))
    net.last(loop, r, "last")
    result = net.model().execute({"x": np.int64(1)})
    assert not any("OpenVINO" in note for note in result.loops[0].notes)


def test_large_carried_values_are_not_copied_for_notes() -> None:
    text = """g (int64 M, float[n] x0, int64[m] k0) => (float[p] x, int64[q] k) {
        x, k = Loop <body = b (int64 i, bool c, float[n] x_in, int64[m] k_in)
                => (bool go, float[n] x_out, int64[m] k_out) {
            go = Identity (c)
            x_out = Neg (x_in)
            k_out = Neg (k_in)
        }> (M, , x0, k0)
    }"""
    size = 1 << 20
    inputs = {"M": np.int64(3), "x0": np.zeros(size, np.float32), "k0": np.full(size, 2**40)}
    engine = start_engine(model(text), inputs)
    assert engine.resume() == ("end", -1)
    tracemalloc.start()
    try:
        (note,) = notes_for_run(engine.plan.loops[0], engine)
        assert "computes 'k_in' in 32 bits" in note
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()
