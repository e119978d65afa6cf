"""States and gates of DynamicQuantizeLSTM were declared with the type of its weights, int8, where nothing declares X,
and computed weights were declared float32: notes and bodies written for peers were wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.graph import TensorType, loops
from text_models import load_proto

STEPS, BATCH, SIZE, HIDDEN = 3, 2, 5, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1, "DynamicQuantizeLSTM": 4}
RNG = np.random.default_rng(0)


def weights(op: str, layer: int, size: int, directions: int, dtype: Any) -> dict[str, Any]:
    """The inputs behind X by name."""
    gates = GATES[op] * HIDDEN
    if op != "DynamicQuantizeLSTM":
        shapes = ((directions, gates, size), (directions, gates, HIDDEN), (directions, 2 * gates))
        return {f"{name}{layer}": RNG.standard_normal(s).astype(dtype) for name, s in zip("WRB", shapes, strict=True)}
    whole = {
        f"{name}{layer}": RNG.integers(-127, 128, (directions, rows, gates)).astype(np.int8)
        for name, rows in (("W", size), ("R", HIDDEN))
    }
    scale, zero = np.full(directions, 0.01, np.float32), np.zeros(directions, np.int8)
    rest = {f"{name}_{what}{layer}": x for name in "WR" for what, x in (("scale", scale), ("zero", zero))}
    return {**whole, f"B{layer}": np.zeros((directions, 2 * gates), np.float32), **rest}


def stack(op: str, layers: int, directions: int, dtype: Any, constant: bool) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """Layers one after the other, of whose results nothing is declared, and feeds."""
    feeds: dict[str, Any] = {"X": RNG.standard_normal((STEPS, BATCH, SIZE)).astype(dtype)}
    initializers = {"shape": np.array([0, 0, -1], np.int64)}
    nodes = [helper.make_node("Neg", ["X"], ["x0"])]
    size = SIZE
    for k in range(layers):
        own = weights(op, k, size, directions, dtype)
        (initializers if constant else feeds).update(own)
        w, r, b, *rest = own
        quantized = op == "DynamicQuantizeLSTM"
        inputs = [f"x{k}", w, r, b, *(["", "", "", ""] if quantized else []), *rest]
        direction = "bidirectional" if directions == 2 else "forward"
        domain = "com.microsoft" if quantized else ""
        nodes += [
            helper.make_node(op, inputs, [f"Y{k}"], f"rnn{k}", domain=domain, hidden_size=HIDDEN, direction=direction),
            helper.make_node("Transpose", [f"Y{k}"], [f"T{k}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"T{k}", "shape"], [f"x{k + 1}"]),
        ]
        size = directions * HIDDEN
    kind = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind(x.dtype), x.shape) for name, x in feeds.items()],
        [helper.make_tensor_value_info(f"x{layers}", kind(np.dtype(dtype)), None)],
        [numpy_helper.from_array(x, name) for name, x in initializers.items()],
    )
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


CASES = [(op, dtype) for op in ("LSTM", "GRU", "RNN") for dtype in (np.float32, np.float16, np.float64)]
CASES.append(("DynamicQuantizeLSTM", np.float32))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_declared_types_are_those_of_a_run(op: str, dtype: Any, directions: int, constant: bool) -> None:
    source, feeds = stack(op, 2, directions, dtype, constant)
    model = load_proto(source)
    run = model.execute(feeds)
    notes = [*run.notes, *(note for loop in run.loops for note in loop.notes)]
    assert not [note for note in notes if "declared" in note]
    results = list(loops(model.graph))
    assert len(results) == 2 * directions
    for loop in results:
        kinds = [edge.param.type for edge in loop.back_edges]
        assert [kind.dtype for kind in kinds if isinstance(kind, TensorType)] == [dtype] * len(kinds)


@pytest.mark.parametrize("op", ["LSTM", "DynamicQuantizeLSTM"])
def test_onnxruntime_takes_the_bodies(op: str) -> None:
    source, feeds = stack(op, 2, 1, np.float32, constant=True)
    with Peer("onnxruntime") as peer:
        result = compare_with_peer(load_proto(source), feeds, peer, ComparisonOptions())
    assert result.same
    assert [loop.iterations for loop in result.comparisons[0].loops] == [STEPS, STEPS]
