"""TensorRT networks written as ONNX, for peers: the same here, in ONNX Runtime, and in OpenVINO."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
import onnxruntime_peer
from cli_runner import run_cli as command
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.peers.onnx_writer import model_with_trajectories
from loopdbg.debugger.peers.process import Peer
from loopdbg.debugger.peers.tensorrt_operators_to_onnx import supported_operators
from loopdbg.debugger.peers.tensorrt_to_onnx import as_onnx
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.frontends.tensorrt.network_lowering import lower_network
from loopdbg.runtime.graph import Graph, Operation, System, TensorType, Value
from loopdbg.runtime.model import Model
from loopdbg.runtime.modelfile.onnx_storage import serialize_model
from strategies.draws import SeededChoices
from strategies.tensorrt_networks import NetworkGenerator
from text_models import SAMPLES

from .operator_cases import OperatorCase
from .test_tensorrt_operators import CASES

SCRIPTS = sorted(path.name for path in (SAMPLES / "trt").glob("*.py"))
#: What ONNX has no operator for; a network with one of them is not handed over.
REFUSED = {"RotaryEmbedding", "KVCacheUpdate", "NMS"}


def run_peer(graph: Graph, feeds: dict[str, Any]) -> list[Any]:
    """The outputs of an ONNX graph in onnxruntime."""
    inputs = {port.name: feeds[port.name] for port in graph.inputs}
    return list(onnxruntime_peer.run(serialize_model(model_with_trajectories(graph, {})), inputs).values())


def network_of(op_type: str, case: OperatorCase) -> tuple[Graph, dict[str, Any]]:
    """A network of one operator; what counts and finds its places is given, as a shape tensor may be."""
    inputs = [Value(f"in{k}", TensorType(x.dtype, x.shape)) for k, x in enumerate(case.inputs)]
    node = Operation("node", op_type, "tensorrt", 1, [*inputs], [Value("out")], case.attributes)
    graph = Graph("one", inputs, [v for v in node.outputs if v], [node], system=System.TENSORRT, opsets={"": 21})
    return graph, {value.name: x for value, x in zip(inputs, case.inputs, strict=True)}


def test_what_onnx_has_no_words_for() -> None:
    assert supported_operators() | REFUSED == CASES.keys() | {"NMS", "Assertion"}


@pytest.mark.parametrize("op_type", sorted(supported_operators() & CASES.keys()))
def test_operators_are_the_same_in_onnx(op_type: str) -> None:
    for case in CASES[op_type][:: 2 if len(CASES[op_type]) > 20 else 1]:
        graph, feeds = network_of(op_type, case)
        want = Model(copy.deepcopy(graph)).run(feeds)["out"]
        written, _ = as_onnx(graph)
        ours, theirs = Model(written).run(feeds), run_peer(written, feeds)
        for got in (*ours.values(), *theirs):
            assert got.dtype == want.dtype and got.shape == want.shape, (case, got, want)
            exact = want.dtype.kind != "f" or op_type in ("Slice", "Gather", "GatherND", "GatherElements")
            tolerance = 0 if exact else 1e-2 if want.dtype == np.float16 else 1e-5
            np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=tolerance, atol=tolerance)


def test_random_networks_are_the_same_in_onnx() -> None:
    ran = 0
    for seed in range(40):
        draw = SeededChoices(seed)
        maker = NetworkGenerator(draw)
        net = maker.network()
        feeds = maker.feeds(draw)
        try:
            want = list(Model(lower_network(net, "random")).run(feeds, max_iterations=500).values())
        except LoopdbgError:  # networks that fail do so with the same text in test_tensorrt_networks.py
            continue
        written, _ = as_onnx(lower_network(net, "random"))
        for outputs in (Model(written).run(feeds).values(), run_peer(written, feeds)):
            for got, value in zip(outputs, want, strict=True):
                assert got.dtype == value.dtype and np.array_equal(got, value, equal_nan=True), seed
        ran += 1
    assert ran > 20


@pytest.mark.parametrize("who", ["onnxruntime", "openvino"])
def test_sample_networks_are_the_same_in_peers(who: str) -> None:
    with Peer(who) as peer:
        for name in SCRIPTS:
            path = SAMPLES / "trt" / name
            with np.load(path.with_suffix(".inputs.npz")) as archive:
                inputs = dict(archive)
            model = loopdbg.load(path)
            result = compare_with_peer(model, inputs, peer, ComparisonOptions())
            lockstep, free = result.comparisons
            assert result.same, (name, result)
            ran = model.execute(inputs)
            assert {loop.left: loop.iterations for loop in lockstep.loops} == {
                loop.path: loop.iterations for loop in ran.loops
            }
            assert free.compared_outputs == len(model.outputs)


SCRIPT = """
import numpy as np
import tensorrt as trt

def build(network):
    x = network.add_input("x", trt.float32, (1, 2, 4, 8))
    cache = network.add_constant((1, 4, 4), np.ones((1, 4, 4), np.float32)).get_output(0)
    loop = network.add_loop()
    count = network.add_constant((), np.array([2], np.int32)).get_output(0)
    loop.add_trip_limit(count, trt.TripLimit.COUNT)
    h = loop.add_recurrence(x)
    turned = network.add_rotary_embedding(h.get_output(0), cache, cache, False, 0).get_output(0)
    h.set_input(1, turned)
    last = loop.add_loop_output(h.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)
    last.name = "last"
    network.mark_output(last)
"""


def test_what_has_no_words_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "turned.py"
    script.write_text(SCRIPT)
    ran = command(capsys, "diff", script, "--against", "onnxruntime")
    assert ran.status == 1 and ran.out == "" and "nothing could be compared" in ran.err
    assert "ONNX has no operator for TensorRT's RotaryEmbedding" in ran.err and "turned.py:12" in ran.err


def test_the_node_that_differs_where_the_condition_is_asked_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the condition needs is computed for the next iteration by the time that this one is compared."""
    source = (SAMPLES / "lessons" / "counter_trt.py").read_text()
    item, other = tmp_path / "one.py", tmp_path / "other.py"
    item.write_text(source)
    other.write_text(source.replace("ElementWiseOperation.SUM", "ElementWiseOperation.PROD", 1))
    ran = command(capsys, "diff", item, other, "--input", "start=2", "--input", "step=3", "--input", "limit=9")
    assert ran.status == 6
    message = " ".join(ran.out.split())
    assert "first node that differs: Add 'ElementWise_1', in its place in other.py Mul 'ElementWise_1'" in message
    assert "count = 2 step = 3 one.py count_next = 5 other.py count_next = 6" in message
