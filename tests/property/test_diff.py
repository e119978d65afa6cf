"""Random loops, iteration by iteration and free-running against ONNX Runtime: the same to the bit."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import pytest
from hypothesis import HealthCheck, given, settings

import loopdbg
from loopdbg.debugger.diff.live import compare_live
from loopdbg.debugger.diff.sides import ModelSide
from loopdbg.debugger.diff.streams import Options, compare_sides
from loopdbg.debugger.diff.values import Tolerance
from loopdbg.debugger.peers.onnx_writer import with_trajectories
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.frontends import onnx as frontend
from models import proto

from .test_random_loops import Program, programs

EXACT = Options(Tolerance(0, 0))


@pytest.fixture(scope="module")
def onnxruntime() -> Iterator[Peer]:
    with Peer("onnxruntime") as peer:
        yield peer


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(program=programs())
def test_random_loops_are_the_same(onnxruntime: Peer, program: Program) -> None:
    model = loopdbg.Model(frontend.from_proto(proto(program.text), "random"))
    found = compare_live(model, program.inputs, onnxruntime, EXACT)
    assert found.same, (program.text, found)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(program=programs())
def test_random_loops_written_and_read_again(program: Program) -> None:
    model = loopdbg.Model(frontend.from_proto(proto(program.text), "random"))
    written = onnx.ModelProto.FromString(with_trajectories(model.graph, {}).SerializeToString())
    again = loopdbg.Model(frontend.from_proto(written, "again"))
    found = compare_sides(ModelSide(model, program.inputs), ModelSide(again, program.inputs), EXACT)
    assert found.same and found.loops, (program.text, found)
    assert {loop.matched for loop in found.loops} == {"path"}
