"""A model that is written from its loop graph computes what the model computes: all node tests of ONNX."""

from __future__ import annotations

import onnx
import pytest

import loopdbg
from loopdbg.debugger.compare.running.value_comparison import Tolerance, compare
from loopdbg.debugger.peers.onnx_writer import model_with_trajectories
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.modelfile.onnx_storage import serialize_model
from onnx_node_tests import load_node_tests

from .single_node_tests import as_loopdbg_value

#: What they give is drawn.
RANDOM = ("random", "bernoulli", "dropout", "multinomial")


@pytest.mark.slow
def test_a_model_written_from_its_graph_is_the_model() -> None:
    compared = 0
    cases = list(load_node_tests())
    for case in cases:
        inputs, _ = case.data_sets[0]
        try:
            model = loopdbg.Model(frontend.from_proto(case.model, case.name))
            feeds = {port.name: as_loopdbg_value(value) for port, value in zip(model.inputs, inputs, strict=True)}
            expected = model.run(feeds)
        except (LoopdbgError, ValueError):
            continue  # what does not run at all is for other tests
        written = onnx.ModelProto.FromString(serialize_model(model_with_trajectories(model.graph, {})))
        again = loopdbg.Model(frontend.from_proto(written, case.name)).run(feeds)
        assert list(again) == list(expected), case.name
        if any(word in case.name for word in RANDOM):
            continue
        for name, value in expected.items():
            result = compare(value, again[name], Tolerance(0, 0))
            assert not result.kind, (case.name, name, result)
        compared += 1
    assert compared > 0.9 * len(cases)
