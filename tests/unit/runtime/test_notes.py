"""Notes that depend on the numbers of a run: where OpenVINO would have done something else."""

from __future__ import annotations

import numpy as np
import pytest

import in_openvino
from models import COUNT, model, proto
from networks import Net


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
    assert in_openvino.named(source, {k: np.asarray(v) for k, v in feed.items()})["v"] != 2**33


@pytest.mark.parametrize(
    ("trips", "text"),
    [(-1, "-1 for no limit"), (-7, "uninitialised memory"), (2**32 + 2, "would run 2 trips at most"), (5, None)],
)
def test_trip_counts_that_openvino_reads_otherwise(trips: int, text: str | None) -> None:
    found = notes(COUNT, M=trips, v0=2**62 - 4)
    assert [text in note for note in found if "trip" in note] == ([True] if text else [])


def test_networks_of_tensorrt_are_not_told_what_openvino_does() -> None:
    net = Net()
    loop = net.counted(net.k(40, "int32"))
    r, _ = net.carry(loop, net.given("x", "int64"), lambda r: net.ew(r, r))
    net.last(loop, r, "last")
    result = net.model().execute({"x": np.int64(1)})
    assert not any("OpenVINO" in note for note in result.loops[0].notes)
