"""``run --as``: our engine with the rules of a runtime gives the outputs of that runtime; without them it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli, save_text_model
from ir_builder import IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry
from loopdbg.debugger.compare.live_peer.peer_emulation import as_runtime
from loopdbg.debugger.peers.jobs import IrJob, OnnxJob
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.errors import UsageError
from loopdbg.runtime.graph import Loop, walk
from loopdbg.runtime.model import Model
from text_models import SAMPLES

PATIENCE = 300


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, Peer]]:
    with Peer("onnxruntime", PATIENCE) as onnxruntime, Peer("openvino", PATIENCE) as openvino:
        yield {"onnxruntime": onnxruntime, "openvino": openvino}


#: Stops in the body, and the loop's cond is absent: B1.
NO_CONDITION = """g (int64 m, float[2] v) => (float[2] y, float[k, 2] ys) {
    y, ys = Loop <body: graph = b (int64 i, bool ci, float[2] c) => (bool co, float[2] n, float[2] s) {
        two = Constant <value = int64 {2}> () co = Less (i, two) n = Add (c, c) s = Neg (n)
    }> (m, , v)
}"""
#: The same in an inner loop, which runs again in each iteration.
INNER_NO_CONDITION = """g (int64 m, float v) => (float y) {
    t = Constant <value = bool {1}> ()
    y = Loop <body: graph = b (int64 i, bool ci, float c) => (bool co, float n) {
        co = Identity (ci) k = Constant <value = int64 {6}> ()
        n = Loop <body: graph = d (int64 j, bool cj, float e) => (bool cq, float f) {
            cq = Less (j, i) f = Add (e, v)
        }> (k, , c)
    }> (m, t, v)
}"""
#: The iteration number as a scan output: B7.
ITERATION_NUMBER = """g (int64 m, bool t) => (float[1] y, int64[n] ns) {
    s = Constant <value = float[1] {1}> ()
    y, ns = Loop <body: graph = b (int64 i, bool ci, float[1] c) => (bool co, float[1] n, int64 i) {
        three = Constant <value = int64 {3}> () co = Less (i, three) n = Add (c, c)
    }> (m, t, s)
}"""
#: A negative trip count, which is no limit for OpenVINO: B14.
NEGATIVE_COUNT = """g (float v) => (float y) {
    m = Constant <value = int64 {-1}> () t = Constant <value = bool {1}> ()
    y = Loop <body: graph = b (int64 i, bool ci, float c) => (bool co, float n) {
        hundred = Constant <value = float {100}> () n = Add (c, v) co = Less (n, hundred)
    }> (m, t, v)
}"""
#: A trip count that is given at run time, which OpenVINO takes in 32 bits: B14, B15.
COUNT_AT_RUN_TIME = """g (int64 m, float v) => (float y) {
    t = Constant <value = bool {1}> ()
    y = Loop <body: graph = b (int64 i, bool ci, float c) => (bool co, float n) {
        hundred = Constant <value = float {100}> () n = Add (c, v) co = Less (n, hundred)
    }> (m, t, v)
}"""
#: Softmax of opset 12 in a loop, along an axis that is not the last: B35.
SOFTMAX = """g (int64 m, bool t, float[2, 3, 4] v) => (float[2, 3, 4] y) {
    y = Loop <body: graph = b (int64 i, bool ci, float[2, 3, 4] c) => (bool co, float[2, 3, 4] n) {
        co = Identity (ci) n = Softmax <axis = 1> (c)
    }> (m, t, v)
}"""
X = np.random.default_rng(3).standard_normal((2, 3, 4)).astype(np.float32)
TRUE = np.array(True)

#: The model, its opset, the inputs, and the runtimes whose rule it shows.
ONNX_CASES: dict[str, tuple[str, int, Mapping[str, Any], tuple[str, ...]]] = {
    "B1": (NO_CONDITION, 21, {"m": np.array(9), "v": np.float32([1, -2])}, ("onnxruntime", "openvino")),
    "B1 inside": (INNER_NO_CONDITION, 21, {"m": np.array(4), "v": np.float32(0.5)}, ("onnxruntime", "openvino")),
    "B7": (ITERATION_NUMBER, 21, {"m": np.array(3), "t": TRUE}, ("onnxruntime",)),
    "B7 by its condition": (ITERATION_NUMBER, 21, {"m": np.array(50), "t": TRUE}, ("onnxruntime",)),
    "B14": (NEGATIVE_COUNT, 21, {"v": np.float32(7)}, ("openvino",)),
    "B14 at run time": (COUNT_AT_RUN_TIME, 21, {"m": np.array(-3), "v": np.float32(7)}, ("openvino",)),
    "B15": (COUNT_AT_RUN_TIME, 21, {"m": np.array(2**32 + 2), "v": np.float32(7)}, ("openvino",)),
    "B35": (SOFTMAX, 12, {"m": np.array(2), "t": TRUE, "v": X}, ("openvino",)),
}


def outputs_of(model: Model, inputs: Mapping[str, Any]) -> list[Any]:
    return [np.asarray(value) for value in model.run(inputs, max_iterations=1000).values()]


def equal(ours: list[Any], theirs: list[Any]) -> bool:
    pairs = zip(ours, theirs, strict=True)
    return all(a.shape == np.shape(b) and np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True) for a, b in pairs)


@pytest.mark.parametrize(("name", "runtime"), [(name, who) for name, case in ONNX_CASES.items() for who in case[3]])
def test_rule_gives_the_outputs_of_the_runtime(tmp_path: Path, peers: dict[str, Peer], name: str, runtime: str) -> None:
    text, opset, inputs, _ = ONNX_CASES[name]
    path = save_text_model(tmp_path, text, opset=opset)
    theirs = peers[runtime].open(OnnxJob(str(path))).run({name: np.asarray(v) for name, v in inputs.items()})
    model = loopdbg.load(path)
    assert not equal(outputs_of(model, inputs), theirs)
    changed = as_runtime(model, runtime)
    assert equal(outputs_of(changed.model, inputs), theirs)
    assert changed.followed and not changed.unfollowed
    # The model itself is as before.
    assert not equal(outputs_of(model, inputs), theirs)


def write_ir(folder: Path, kind: str) -> Path:
    """A TensorIterator with a cell that reads the rows of X backwards (B34), or a Divide of integers."""
    import openvino as ov
    from openvino import opset13 as op

    if kind == "B34":
        x, part = op.parameter([1, 5, 3], np.float32, name="X"), op.parameter([1, 1, 3], np.float32)
        loop = op.tensor_iterator()
        h0, h = op.parameter([1, 4], np.float32, name="h0"), op.parameter([1, 4], np.float32)
        random = np.random.default_rng(1)
        w, r, b = (op.constant(random.standard_normal(shape).astype(np.float32)) for shape in ((12, 3), (12, 4), (12,)))
        cell = op.gru_cell(op.squeeze(part, op.constant([1])), h, w, r, b, 4)
        last, row = op.result(cell), op.result(op.unsqueeze(cell, op.constant([1])))
        loop.set_body(ov.Model([last, row], [part, h]))
        loop.set_sliced_input(part, x.output(0), -1, -1, 1, 0, 1)
        loop.set_merged_input(h, h0.output(0), last.output(0))
        y = loop.get_concatenated_slices(row.output(0), 0, 1, 1, -1, 1)
        model = ov.Model([op.result(y)], [x, h0], "m")
    else:
        x = op.parameter([1, 4], np.int32, name="X")
        model = ov.Model([op.result(op.divide(x, op.constant(np.array(-2, np.int32))))], [x], "m")
    path = folder / "m.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    return path


def sliced_and_carried(folder: Path) -> Path:
    """A TensorIterator whose body Parameter has a slice and a back edge: B39."""
    net = IrNetBuilder()
    x, y = net.parameter("4,2", name="x"), net.parameter("4,2", name="y")
    body = net.body_builder()
    p, q = body.parameter("1,2", name="p"), body.parameter("1,2", name="q")
    r = body.result(body.layer("Add", [p, q], shape="1,2"))
    entries = [input_map_entry(0, p, 'axis="0"'), input_map_entry(1, q, 'axis="0"'), output_map_entry(2, r, 'axis="0"')]
    sections = loop_sections(body, entries, back_edges((r, p)))
    net.result((net.layer("TensorIterator", [x, y], shape="4,2", extra=sections), 2))
    return net.save(folder)


@pytest.mark.parametrize("kind", ["B34", "B39", "Divide"])
def test_rule_of_an_ir_gives_the_outputs_of_openvino(tmp_path: Path, peers: dict[str, Peer], kind: str) -> None:
    path = sliced_and_carried(tmp_path) if kind == "B39" else write_ir(tmp_path, kind)
    model = loopdbg.load(path)
    random = np.random.default_rng(5)
    inputs = {
        port.name: random.standard_normal(port.shape).astype(np.float32)
        if port.dtype == np.float32
        else np.int32([[7, -7, 3, 8]])
        for port in model.inputs
    }
    theirs = peers["openvino"].open(IrJob(str(path))).run({str(k): inputs[p.name] for k, p in enumerate(model.inputs)})
    assert not equal(outputs_of(model, inputs), theirs)
    assert equal(outputs_of(as_runtime(model, "openvino").model, inputs), theirs)


def test_model_without_a_difference_is_refused() -> None:
    model = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    for runtime in ("onnxruntime", "openvino"):
        with pytest.raises(UsageError) as raised:
            as_runtime(model, runtime)
        assert runtime in str(raised.value) and "\n" not in str(raised.value)


def test_copy_shares_no_node_with_the_model(tmp_path: Path) -> None:
    model = loopdbg.load(save_text_model(tmp_path, INNER_NO_CONDITION))
    changed = as_runtime(model, "onnxruntime").model
    assert not set(walk(model.graph)) & set(walk(changed.graph))
    assert [node.condition is None for node in walk(model.graph) if isinstance(node, Loop)] == [False, True]


def test_run_as_steps_by_the_rule(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_text_model(tmp_path, NO_CONDITION)
    inputs = ("--input", "m=9", "--input", "v=[1,-2]")
    result = run_cli(capsys, "run", path, *inputs, "--as", "onnxruntime", "-ex", "continue", "-ex", "why", "--batch")
    assert result.status == 0, result
    assert "as onnxruntime: loop 'Loop_0' stops once 'co' is false" in result.err
    assert "after 3 iterations" in result.out
    plain = run_cli(capsys, "run", path, *inputs, "-ex", "continue", "-ex", "why", "--batch")
    assert "after 9 iterations" in plain.out


def test_run_as_refuses_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sample = SAMPLES / "newton_sqrt.onnx"
    assert run_cli(capsys, "run", sample, "--as", "openvino").status == 2
    path = save_text_model(tmp_path, NO_CONDITION)
    result = run_cli(capsys, "run", path, "--as", "openvino", "--record", tmp_path / "r.loopdb")
    assert result.status == 2 and "--record" in result.error_line
