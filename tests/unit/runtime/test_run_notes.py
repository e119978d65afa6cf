"""Notes that depend on the numbers of a run: where OpenVINO would have done something else."""

from __future__ import annotations

import numpy as np
import pytest

import openvino_peer
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
