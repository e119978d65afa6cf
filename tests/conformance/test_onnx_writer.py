"""A model that is written from its loop graph computes what the model computes: all node tests of ONNX."""

from __future__ import annotations

import onnx
import pytest

import loopdbg
from loopdbg.debugger.diff.values import Tolerance, compare
from loopdbg.debugger.peers.onnx_writer import with_trajectories
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.frontends.onnx.model_file import serialized
from node_tests import collected

from .node_cases import plain

#: What they give is drawn.
RANDOM = ("random", "bernoulli", "dropout", "multinomial")


@pytest.mark.slow
def test_a_model_written_from_its_graph_is_the_model() -> None:
    compared = 0
    for case in collected():
        inputs, _ = case.data_sets[0]
        try:
            model = loopdbg.Model(frontend.from_proto(case.model, case.name))
            given = {port.name: plain(value) for port, value in zip(model.inputs, inputs, strict=True)}
            expected = model.run(given)
        except (LoopdbgError, ValueError):
            continue  # what does not run at all is for other tests
        written = onnx.ModelProto.FromString(serialized(with_trajectories(model.graph, {})))
        again = loopdbg.Model(frontend.from_proto(written, case.name)).run(given)
        assert list(again) == list(expected), case.name
        if any(word in case.name for word in RANDOM):
            continue
        for name, value in expected.items():
            found = compare(value, again[name], Tolerance(0, 0))
            assert not found.kind, (case.name, name, found)
        compared += 1
    assert compared > 1700
