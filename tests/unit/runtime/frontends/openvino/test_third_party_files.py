"""IR files that others wrote: OpenVINO itself, and our sample models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ir_builder import check_consistent, only_loop
from loopdbg.runtime.frontends.openvino.reader import read
from loopdbg.runtime.graph import Graph, If, Loop, TensorType, Value, walk
from text_models import SAMPLES


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.xml")), ids=lambda path: path.stem)
def test_sample_models(path: Path) -> None:
    graph = read(path)
    assert any(isinstance(node, Loop) for node in walk(graph))
    check_consistent(graph)


@pytest.fixture(scope="module")
def ov() -> Any:
    return pytest.importorskip("openvino")


def saved(ov: Any, model: Any, tmp_path: Path) -> Graph:
    path = tmp_path / "written.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    graph = read(path)
    check_consistent(graph)
    theirs = ov.Core().read_model(path)
    assert [str(value.type) for value in graph.inputs] == [
        str(TensorType(np.dtype(port.element_type.to_dtype()), tuple(_dims(port)))) for port in theirs.inputs
    ]
    assert len(graph.outputs) == len(theirs.outputs)
    return graph


def _dims(port: Any) -> Iterator[int | None]:
    for dim in port.partial_shape:
        yield dim.get_length() if dim.is_static else None


def test_loop_written_by_openvino(ov: Any, tmp_path: Path) -> None:
    ops = ov.opset13
    x, rows = ops.parameter([2, 3], np.float32, name="x"), ops.parameter([5, 3], np.float32, name="rows")
    i, h = ops.parameter([1], np.int64, name="i"), ops.parameter([2, 3], np.float32, name="h")
    row, scale = ops.parameter([1, 3], np.float32, name="row"), ops.parameter([2, 3], np.float32, name="scale")
    new = ops.add(ops.multiply(h, scale), ops.multiply(row, ops.convert(i, "f32")), name="new")
    body = ov.Model([ops.constant(np.array([True])), new], [i, h, row, scale], "body")
    loop = ops.loop(ops.constant(np.int64(3)), ops.constant(True))
    loop.set_function(body)
    loop.set_special_body_ports([0, 0])
    loop.set_merged_input(h, x.output(0), new.output(0))
    loop.set_sliced_input(row, rows.output(0), 0, 1, 1, -1, 0)
    loop.set_invariant_input(scale, x.output(0))
    last = loop.get_iter_value(new.output(0), -1)
    joined = loop.get_concatenated_slices(new.output(0), 0, 1, 1, -1, 1)
    last.get_tensor().set_names({"last"})
    graph = saved(ov, ov.Model([ops.result(last), ops.result(joined)], [x, rows], "m"), tmp_path)
    node = only_loop(graph)
    assert [value.name for value in graph.inputs] == ["x", "rows"]
    assert graph.output_names[0] == "last"
    assert node.trip_count is not None and node.trip_count.constant == 3
    assert node.condition is not None and node.condition.constant is not None
    assert node.iteration is not None and node.iteration.name == "i"
    assert [(s.outer.name, s.inner.name, s.axis) for s in node.sliced_inputs] == [("rows", "row", 0)]
    assert [(e.initial.name, e.param.name, e.result.name) for e in node.back_edges if isinstance(e.initial, Value)] == [
        ("x", "h", "new")
    ]
    assert [(inv.outer.name, inv.inner.name) for inv in node.invariants] == [("x", "scale")]
    assert [(scan.result.name, scan.axis, scan.reverse) for scan in node.scan_outputs] == [("new", 1, False)]
    assert graph.outputs == [node.last_values[0].outer, node.scan_outputs[0].outer]
    (note,) = node.notes
    assert "part_size 1" in note and "'new' has 3 rows on axis 1" in note  # it writes what its plugin refuses


def test_tensor_iterator_written_by_openvino(ov: Any, tmp_path: Path) -> None:
    ops = ov.opset13
    x, h0 = ops.parameter([-1, 4], np.float32, name="x"), ops.parameter([1, 4], np.float32, name="h0")
    part, h = ops.parameter([1, 4], np.float32, name="part"), ops.parameter([1, 4], np.float32, name="h")
    new = ops.tanh(ops.add(part, h), name="new")
    iterator = ops.tensor_iterator()
    iterator.set_body(ov.Model([new], [part, h], "body"))
    iterator.set_sliced_input(part, x.output(0), -1, -1, 1, 0, 0)
    iterator.set_merged_input(h, h0.output(0), new.output(0))
    joined = iterator.get_concatenated_slices(new.output(0), -1, -1, 1, 0, 0)
    last = iterator.get_iter_value(new.output(0), -1)
    graph = saved(ov, ov.Model([ops.result(last), ops.result(joined)], [x, h0], "m"), tmp_path)
    node = only_loop(graph)
    [sliced] = node.sliced_inputs
    assert (sliced.start, sliced.end, sliced.stride, sliced.part_size) == (-1, 0, -1, 1)
    assert node.counted_by_slices
    assert node.scan_outputs[0].reverse
    assert graph.outputs == [node.last_values[0].outer, node.scan_outputs[0].outer]


def test_if_written_by_openvino(ov: Any, tmp_path: Path) -> None:
    ops = ov.opset13
    c = ops.parameter([], np.bool_, name="c")
    x, y = ops.parameter([2], np.float32, name="x"), ops.parameter([2], np.float32, name="y")
    a, b = ops.parameter([2], np.float32, name="a"), ops.parameter([2], np.float32, name="b")
    then = ov.Model([ops.result(ops.relu(a)), ops.result(ops.negative(a))], [a], "then")
    other = ov.Model([ops.result(ops.exp(b)), ops.result(b)], [b], "else")
    node = ops.if_op(c.output(0))
    node.set_then_body(then)
    node.set_else_body(other)
    node.set_input(x.output(0), a, None)
    node.set_input(y.output(0), None, b)
    outputs = [node.set_output(then.results[k], other.results[k]) for k in (0, 1)]
    graph = saved(ov, ov.Model([ops.result(output) for output in outputs], [c, x, y], "m"), tmp_path)
    [branching_node] = graph.nodes
    assert isinstance(branching_node, If)
    results = {value.name: value for value in graph.inputs}
    assert branching_node.inputs == [results["c"]]
    assert sorted(n.op_type for n in branching_node.then_branch.nodes) == ["Negative", "ReLU"]
    by_type = {n.op_type: n.outputs[0] for n in branching_node.then_branch.nodes}
    assert branching_node.then_branch.outputs == [by_type["ReLU"], by_type["Negative"]]
    assert all(n.inputs == [results["x"]] for n in branching_node.then_branch.nodes)
    assert branching_node.else_branch.outputs[1] is results["y"]
    assert graph.outputs == branching_node.outputs


@pytest.mark.parametrize(
    ("element", "numbers", "dtype"),
    [
        ("i4", [1, -2, 7, -8, 3], ml_dtypes.int4),
        ("u4", [1, 15, 7], ml_dtypes.uint4),
        ("f4e2m1", [0.5, -6, 1], ml_dtypes.float4_e2m1fn),
        ("bf16", [1, 2.5, -3], ml_dtypes.bfloat16),
        ("f8e4m3", [1, 2.5, -3], ml_dtypes.float8_e4m3fn),
        ("boolean", [1, 0, 1], np.bool_),
        ("u64", [1, 2**63], np.uint64),
    ],
)
def test_constants_written_by_openvino(ov: Any, tmp_path: Path, element: str, numbers: list[float], dtype: Any) -> None:
    constant = ov.opset13.constant(numbers, dtype=getattr(ov.Type, element))
    graph = saved(ov, ov.Model([ov.opset13.result(constant)], [], "m"), tmp_path)
    [value] = graph.constants
    assert value.constant is not None and value.constant.dtype == np.dtype(dtype)
    assert value.constant.astype("f8").tolist() == numbers


ONNX_LOOPS: Mapping[str, str] = {
    "while": """
        agraph (float[1] x, float[1] limit) => (float[1] y, float[N,1] all) {
            top = Constant <value = int64 {9223372036854775807}> ()
            start = Less (x, limit)
            start0 = Squeeze (start)
            y, all = Loop (top, start0, x) <
              body = body (int64 i, bool c, float[1] v) => (bool k, float[1] w, float[1] s) {
                w = Add (v, v)
                less = Less (w, limit)
                k = Squeeze (less)
                s = Identity (w)
            }>
        }""",
    "for": """
        agraph (float[2] x) => (float[2] y, float[N,2] all) {
            n = Constant <value = int64 {4}> ()
            y, all = Loop (n, , x) <body = body (int64 i, bool c, float[2] v) => (bool k, float[2] w, float[2] s) {
                k = Identity (c)
                f = Cast <to = 1> (i)
                w = Add (v, f)
                s = Identity (w)
            }>
        }""",
    "nested": """
        agraph (float[2] x, int64 n) => (float[2] y) {
            y = Loop (n, , x) <body = outer (int64 i, bool c, float[2] v) => (bool k, float[2] w) {
                k = Identity (c)
                w = Loop (i, , v) <body = inner (int64 j, bool d, float[2] u) => (bool l, float[2] t) {
                    l = Identity (d)
                    t = Add (u, x)
                }>
            }>
        }""",
}


@pytest.mark.parametrize("name", ONNX_LOOPS)
def test_loops_converted_from_onnx(ov: Any, tmp_path: Path, name: str) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]>{ONNX_LOOPS[name]}')
    onnx.save(model, tmp_path / "model.onnx")
    graph = saved(ov, ov.convert_model(tmp_path / "model.onnx"), tmp_path)
    loops = [node for node in walk(graph) if isinstance(node, Loop)]
    assert len(loops) == (2 if name == "nested" else 1)
    assert [value.name for value in graph.inputs] == [value.name for value in model.graph.input]
    assert graph.output_names == [value.name for value in model.graph.output]
    for loop in loops:
        assert loop.minus_one_is_no_limit and loop.condition is not None
        assert len(loop.back_edges) >= 1
    assert bool(loops[0].scan_outputs) == (name != "nested")
    if name == "for":
        assert loops[0].iteration is not None
        assert loops[0].trip_count is not None and loops[0].trip_count.constant == 4
    if name == "while":
        assert loops[0].trip_count is not None and loops[0].trip_count.constant == -1
        assert [invariant.outer.name for invariant in loops[0].invariants] == ["limit"]
