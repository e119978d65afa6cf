"""Pseudo-code: the lines of loops and models, and the node or port of each line."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import loopdbg
from expected_pseudo_code import EXPECTED_PSEUDO_CODE
from loopdbg.debugger.describe.node_text import NodeFormatter
from loopdbg.debugger.describe.pseudo_code import LineKind, build_pseudo_code, node_positions
from loopdbg.debugger.describe.value_names import quote
from loopdbg.debugger.session.session import debug
from loopdbg.runtime.graph import BackEdge, Graph, If, Loop, Operation, SlicedInput, TensorType, Value, loops, walk
from loopdbg.runtime.graph.producers import ProducerMap
from text_models import BRANCHES, NESTED, SAMPLES, SUM, model

MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))


def graph(name: str) -> Graph:
    """The main graph of a sample model."""
    return loopdbg.load(SAMPLES / name).graph


@pytest.mark.parametrize("name", EXPECTED_PSEUDO_CODE)
def test_sample_models_match_the_golden_text(name: str) -> None:
    assert str(build_pseudo_code(graph(name))) + "\n" == EXPECTED_PSEUDO_CODE[name]


@pytest.mark.parametrize("name", MODELS)
def test_every_node_has_exactly_one_line(name: str) -> None:
    main = graph(name)
    lines = build_pseudo_code(main)
    assert Counter(line.node for line in lines.lines if line.node is not None) == Counter(walk(main))
    assert [line.number for line in lines.lines] == list(range(1, len(lines.lines) + 1))
    for loop in loops(main):
        alone = build_pseudo_code(loop, ProducerMap.for_graph(main))
        nodes = {line.node for line in alone.lines if line.node is not None}
        assert nodes == {loop, *walk(loop.body)}
        assert [line.text for line in lines.lines_of_loop(loop).lines] == [line.text for line in alone.lines]


@pytest.mark.parametrize("name", MODELS)
def test_every_port_has_a_line(name: str) -> None:
    main = graph(name)
    lines = build_pseudo_code(main)
    for loop in loops(main):
        kinds: dict[LineKind, list[Any]] = {}
        for line in lines.lines_of_loop(loop).lines:
            kinds.setdefault(line.kind, []).extend(line.ports)
        for kind, ports in (
            (LineKind.INITIAL, loop.back_edges),
            (LineKind.BACK_EDGE, loop.back_edges),
            (LineKind.SLICE, loop.sliced_inputs),
            (LineKind.SCAN, loop.scan_outputs),
            (LineKind.LAST_VALUE, loop.last_values),
        ):
            assert all(port in kinds.get(kind, []) for port in ports)


def test_lines_and_nodes_refer_to_each_other() -> None:
    lines = build_pseudo_code(graph("newton_sqrt.onnx"))
    (loop,) = loops(graph("newton_sqrt.onnx"))
    keep = next(line for line in lines.lines if line.text == "keep = err_new > tol")
    assert keep.node is not None and keep.node.op_type == "Greater"
    assert lines.line_of(keep.node) is keep
    assert lines.lines[keep.number - 1] is keep
    assert lines.line_of(loop) is None  # A node of another load.
    assert [value.name for value in keep.values] == ["keep"]
    assert keep.loop is not None and keep.loop.name == "sqrt"


def test_positions_are_those_of_the_frame() -> None:
    loaded = model(BRANCHES)
    session = debug(loaded, {"M": 3, "v0": np.float32(2)})
    result = node_positions(loaded.plan)
    assert {node.node: node.position for node in session.frame.nodes} == {
        node: result[node] for node in result if node not in loops_of(loaded)
    }


def loops_of(loaded: loopdbg.Model) -> set[Any]:
    return set(loops(loaded.graph))


def test_loop_by_itself_keeps_its_line_numbers() -> None:
    main = model(NESTED).graph
    lines = build_pseudo_code(main)
    inner = list(loops(main))[1]
    part = lines.lines_of_loop(inner)
    assert part.lines[0].number > 1
    assert min(line.indent for line in part.lines) == 0
    for line in part.lines:
        assert lines.lines[line.number - 1].text == line.text
    assert [line.text for line in part.lines if line.kind is LineKind.LOOP] == ["for j in range(K):"]


def test_ignored_condition_is_not_a_loop_end() -> None:
    text = str(build_pseudo_code(model(SUM).graph))
    assert "for i in range(M):" in text and "break" not in text and "while" not in text


def test_swapped_values_are_assigned_simultaneously() -> None:
    text = """
    g (int64 n, float p0, float q0) => (float p, float q) {
      p, q = Loop <body = b (int64 i, bool c, float p_in, float q_in) => (bool c, float q_in, float p_in) { }>
        (n, , p0, q0)
    }"""
    lines = build_pseudo_code(model(text).graph)
    (swap,) = (line for line in lines.lines if line.kind is LineKind.BACK_EDGE)
    assert swap.text == "p_in, q_in = q_in, p_in"
    assert len(swap.ports) == 2


def test_carried_condition_is_read_before_it_is_overwritten() -> None:
    text = """
    g (int64 n, bool go, bool flag0) => (bool flag) {
      flag = Loop <body = b (int64 i, bool c, bool flag_in) => (bool flag_in, bool flag_out) {
        flag_out = Not (flag_in)
      }> (n, go, flag0)
    }"""
    lines = [line.text for line in build_pseudo_code(model(text).graph).lines]
    assert lines.index("condition = flag_in") < lines.index("flag_in = flag_out")
    assert "for i in range(n) while condition:" in lines
    assert "condition = go" in lines


def test_condition_parameter_is_shown_where_the_body_reads_it() -> None:
    text = """
    g (bool go, float v0, float limit) => (float v, bool[N] was) {
      v, was = Loop <body = b (int64 i, bool c, float x) => (bool keep, float y, bool w) {
        w = Identity (c)
        y = Add (x, x)
        keep = Less (y, limit)
      }> ("", go, v0)
    }"""
    lines = [line.text for line in build_pseudo_code(model(text).graph).lines]
    assert "c = go" in lines and "c = keep" in lines
    assert "while keep:" in lines


def test_empty_branch_and_empty_body() -> None:
    choice = If("choice", "If", "", 21, [Value("go")], [], Graph("then"), Graph("else"))
    body = Graph("body", nodes=[choice])
    empty = Loop("empty", "Loop", "", 21, [], [], body=Graph("nothing"), system=body.system, fixed_trips=2)
    full = Loop("full", "Loop", "", 21, [], [], body=body, system=body.system)
    assert [line.text for line in build_pseudo_code(empty).lines] == ["for i in range(2):", "pass"]
    assert [line.text for line in build_pseudo_code(full).lines] == ["while True:", "if go:", "pass", "else:", "pass"]


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({}, "X[i:i+1, :]"),
        ({"drop_axis": True, "axis": 1}, "X[:, i]"),
        ({"stride": 2, "part_size": 2}, "X[2*i:2*i+2, :]"),
        ({"start": 1, "stride": 2}, "X[2*i+1:2*i+2, :]"),
        ({"start": -1, "end": 0, "stride": -1}, "X[9-i:10-i, :]"),
        ({"start": -1, "end": 0, "stride": -2, "part_size": 2}, "X[8-2*i:10-2*i, :]"),
        ({"axis": -1}, "X[:, i:i+1]"),
    ],
)
def test_slice_notation(port: dict[str, Any], expected: str) -> None:
    from loopdbg.debugger.describe.subscripts import slice_text

    outer = Value("X", TensorType(np.dtype(np.float32), (10, 4)))
    assert slice_text(SlicedInput(outer, Value("x"), **{"axis": 0, **port}), "i") == expected


def test_slices_select_what_their_text_says() -> None:
    from loopdbg.debugger.describe.subscripts import slice_text
    from loopdbg.runtime.graph.slicing import slice_parts

    data = np.arange(12).reshape(12, 1)
    outer = Value("X", TensorType(data.dtype, data.shape))
    for port in (
        {"stride": 3, "part_size": 2, "start": 1, "end": 9},
        {"stride": -3, "part_size": 3, "start": -1, "end": 0},
        {"stride": -1, "start": 7, "end": 2},
        {"stride": 2, "start": -7, "part_size": 1},
    ):
        sliced = SlicedInput(outer, Value("x"), 0, **port)
        for i, part in enumerate(slice_parts(data, sliced, str)):
            assert np.array_equal(eval(slice_text(sliced, "i"), {"X": data, "i": i}), part), port


def test_unknown_length_stays_a_name() -> None:
    from loopdbg.debugger.describe.subscripts import slice_text

    backward = {"start": -1, "end": 0, "stride": -1}
    named = SlicedInput(Value("X", TensorType(None, ("N", 4))), Value("x"), 0, **backward)
    assert slice_text(named, "i") == "X[N-1-i:N-i, :]"
    unknown = SlicedInput(Value("X"), Value("x"), 0, **backward)
    assert slice_text(unknown, "i") == "X[X.shape[0]-1-i:X.shape[0]-i]"
    assert slice_text(unknown, None) == "X[X.shape[0]-1:X.shape[0]]"


def test_slice_with_a_back_edge_begins_with_part_0() -> None:
    outer, param, result = Value("X", TensorType(None, (4, 2))), Value("x"), Value("y")
    add = Operation("add", "Add", "opset1", 1, [param, param], [result])
    body = Graph("body", [param], [result], [add])
    edge = BackEdge(SlicedInput(outer, param, 0), param, result)
    loop = Loop("l", "TensorIterator", "opset1", 1, [outer], [], body=body, system=body.system, counted_by_slices=True)
    loop.back_edges.append(edge)
    texts = [line.text for line in build_pseudo_code(loop).lines]
    assert texts == ["x = X[0:1, :]", "for i in range(4):", "y = x + x", "x = y"]


def test_unusual_names_are_in_backquotes() -> None:
    assert quote("h_new") == "h_new"
    assert quote("/rnn/h:0") == "`/rnn/h:0`"
    assert quote("") == "``"
    assert quote("a\nb") == "`a\\nb`"


def phrase(op_type: str, *inputs: Value | None, domain: str = "", outputs: int = 1, **attributes: Any) -> str:
    """One node as an expression."""
    node = Operation("n", op_type, domain, 13, list(inputs), [Value(f"y{k}") for k in range(outputs)], attributes)
    return NodeFormatter(ProducerMap()).expression(node)


def const(value: Any) -> Value:
    data = np.asarray(value)
    return Value("c", TensorType(data.dtype, data.shape), data)


A, B = Value("a"), Value("b")
M = Value("m", TensorType(np.dtype(np.float32), (3, 4)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (phrase("Sub", A, const(np.float32(0.5))), "a - 0.5"),
        (phrase("Subtract", A, const(np.float32([0.5])), domain="opset1"), "a - 0.5"),
        (phrase("LogicalAnd", A, B, domain="opset1", auto_broadcast="numpy"), "a and b"),
        (phrase("LogicalNot", A, domain="opset1"), "not a"),
        (phrase("GreaterEqual", A, B, domain="opset1"), "a >= b"),
        (phrase("Mod", A, B, fmod=1), "fmod(a, b)"),
        (phrase("Neg", A), "-a"),
        (phrase("MatMul", A, B, domain="opset1", transpose_a="false", transpose_b="true"), "a @ b.T"),
        (phrase("Where", A, B, const(np.int64(0))), "where(a, b, 0)"),
        (phrase("Cast", A, to=7), "int64(a)"),
        (phrase("Cast", A, to=99), "Cast(a, to=99)"),
        (phrase("Convert", A, domain="opset1", destination_type="f16"), "float16(a)"),
        (phrase("Concat", A, B, axis=1), "concat(a, b, axis=1)"),
        (phrase("Gather", A, B, axis=1), "a[:, b]"),
        (phrase("Gather", A, B, axis=-1), "a[..., b]"),
        (phrase("Gather", M, B, axis=-1), "m[:, b]"),
        (phrase("Gather", A, B, const(np.int64(0)), domain="opset8", batch_dims="0"), "a[b]"),
        (phrase("Gather", A, B, Value("axis"), domain="opset8"), "Gather(a, b, axis)"),
        (phrase("Slice", A, const([1]), const([3])), "a[1:3]"),
        (phrase("Slice", M, const([0]), const([2**63 - 1]), const([1]), const([2])), "m[:, ::2]"),
        (phrase("Slice", A, const([0, 1]), const([2, 3]), const([0, 1])), "a[:2, 1:3]"),
        (phrase("Slice", A, const([0]), const([5]), const([1]), const([0]), domain="opset8"), "a[:5]"),
        (phrase("Slice", A, B, Value("e")), "Slice(a, b, e)"),
        (phrase("Slice", A, starts=[1], ends=[4], axes=[1]), "a[:, 1:4]"),
        (phrase("Shape", A), "a.shape"),
        (phrase("Conv", A, B, None, strides=[1, 2], auto_pad="SAME"), 'Conv(a, b, strides=[1, 2], auto_pad="SAME")'),
        (phrase("Clip", A, None, B), "Clip(a, _, b)"),
        (phrase("ConstantOfShape", A, value=np.array([1, 2])), "ConstantOfShape(a, value=[1, 2])"),
        (phrase("Constant", value=np.zeros((3, 4))), "float64[3,4]"),
        (phrase("Constant", value_ints=[1, 2]), "[1, 2]"),
        (phrase("And", A, const(True)), "a and True"),
        (phrase("Reshape", A, const([1, 512]), domain="opset1", special_zero="true"), "Reshape(a, [1, 512])"),
    ],
)
def test_operator_notation(text: str, expected: str) -> None:
    assert text == expected


def test_if_has_a_line_and_its_outputs_are_assigned_in_both_branches() -> None:
    main = model(BRANCHES).graph
    lines = build_pseudo_code(main)
    match = next(node for node in walk(main) if isinstance(node, If))
    line = lines.line_of(match)
    assert line is not None and line.text == "if even:"
    results = [line for line in lines.lines if line.kind is LineKind.RESULT]
    assert [line.text for line in results] == ["y = up", "y = x2"]
