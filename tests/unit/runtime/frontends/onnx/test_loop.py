"""Loop: which value plays which part (docs/semantics.md 3)."""

from __future__ import annotations

import pytest

from loopdbg.runtime.graph import Loop, System
from text_models import loop_text

from .onnx_texts import assert_refused, read_loop, value_names


@pytest.mark.parametrize("trip_count", ["m", ""])
@pytest.mark.parametrize("condition", ["c", ""])
@pytest.mark.parametrize("opset", [1, 11, 13, 16, 19, 21, 23, 24, 25])
def test_trip_count_and_condition(trip_count: str, condition: str, opset: int) -> None:
    loop = read_loop(loop_text(call=f"a = Loop ({trip_count}, {condition}, v)"), opset)
    assert value_names([loop.trip_count, loop.initial_condition]) == [trip_count or None, condition or None]
    assert value_names(loop.inputs) == [trip_count or None, condition or None, "v"]
    assert loop.iteration is loop.body.inputs[0]
    assert loop.condition_input is loop.body.inputs[1]
    # docs/semantics.md 3.2: without cond the body's condition is ignored.
    decides, ignored = (
        (loop.condition, loop.ignored_condition) if condition else (loop.ignored_condition, loop.condition)
    )
    assert decides is loop.body.outputs[0]
    assert ignored is None
    assert (loop.system, loop.version, loop.op_type, loop.domain) == (System.ONNX, opset, "Loop", "")
    assert not loop.minus_one_is_no_limit
    assert not loop.counted_by_slices


def test_a_condition_that_does_not_count_has_a_note() -> None:
    """B2; it runs for ever, so that tests/conformance/test_peer_notes.py has the other rules alone."""
    nodes = "k = Constant <value = float {6}> () xo = Add (x, x) co = Less (xo, k)"
    (note,) = read_loop(loop_text(nodes, call="a = Loop (, , v)")).notes
    assert "although the loop's cond is absent" in note and note.endswith(".") and note.isprintable()


TWO = loop_text(
    nodes="co = Identity (ci) xo = Add (x, y) yo = Mul (x, y) s = Sub (x, y)",
    inputs="int64 i, bool ci, float x, float y",
    outputs="bool co, float xo, float yo, float s, float xo",
    call="a, b, d, e = Loop (m, c, v, w)",
    result="float a, float b, float[n] d, float[n] e",
    graph_inputs="int64 m, bool c, float v, float w",
)


def test_carried_values_and_scan_outputs() -> None:
    loop = read_loop(TWO)
    edges = [(edge.initial, edge.param, edge.result) for edge in loop.back_edges]
    assert edges == list(zip(loop.inputs[2:], loop.body.inputs[2:], loop.body.outputs[1:3], strict=True))
    assert [(last.edge, last.result, last.outer) for last in loop.last_values] == list(
        zip(loop.back_edges, loop.body.outputs[1:3], loop.outputs[:2], strict=True)
    )
    assert [(scan.result, scan.outer) for scan in loop.scan_outputs] == list(
        zip(loop.body.outputs[3:], loop.outputs[2:], strict=True)
    )
    assert [(scan.axis, scan.stack, scan.reverse) for scan in loop.scan_outputs] == [(0, True, False)] * 2
    # One body value may be carried and scanned.
    assert loop.scan_outputs[1].result is loop.back_edges[0].result


def test_positions_count_not_names() -> None:
    text = loop_text(
        inputs="int64 x, bool i, float ci", nodes="co = Identity (i) xo = Add (ci, ci)", outputs="bool co, float xo"
    )
    loop = read_loop(text)
    assert value_names([loop.iteration, loop.condition_input, loop.back_edges[0].param]) == ["x", "i", "ci"]


def test_a_body_may_return_its_inputs() -> None:
    loop = read_loop(loop_text(nodes="", outputs="bool ci, float x"))
    assert loop.body.nodes == []
    assert loop.condition is loop.condition_input
    assert loop.back_edges[0].result is loop.back_edges[0].param
    assert read_loop(loop_text("xo = Add (x, x)", "bool ci, float xo", call="a = Loop (m, , v)")).notes == []


def test_one_result_may_feed_two_back_edges() -> None:
    loop = read_loop(
        loop_text(
            inputs="int64 i, bool ci, float x, float y",
            outputs="bool co, float xo, float xo",
            call="a, b = Loop (m, c, v, w)",
            result="float a, float b",
            graph_inputs="int64 m, bool c, float v, float w",
        )
    )
    # With zero trips a and b differ: each knows its own edge.
    assert [last.edge for last in loop.last_values] == loop.back_edges
    assert value_names([last.edge.initial for last in loop.last_values if last.edge]) == ["v", "w"]


def test_omitted_outputs_are_not_collected() -> None:
    loop = read_loop(TWO.replace("a, b, d, e =", ", b, , e =").replace("float a, float b, float[n] d,", "float b,"))
    assert value_names(loop.outputs) == [None, "b", None, "e"]
    assert len(loop.back_edges) == 2
    assert value_names([last.outer for last in loop.last_values]) == ["b"]
    assert value_names([scan.outer for scan in loop.scan_outputs]) == ["e"]


def test_no_carried_values() -> None:
    text = loop_text(
        inputs="int64 i, bool ci",
        nodes="co = Identity (ci) s = Identity (i)",
        outputs="bool co, int64 s",
        call="a = Loop (m, , )",
        result="int64[n] a",
    )
    loop = read_loop(text)
    assert loop.back_edges == []
    assert value_names([scan.outer for scan in loop.scan_outputs]) == ["a"]
    assert_refused(text, "Loop 'Loop_0' (opset 10) has 2 inputs", "at least 3", opset=10)


@pytest.mark.parametrize(
    "inputs",
    ["int64 i, bool ci, float x, float k", "int64 i, bool ci, float k, float x", "float k, int64 i, bool ci, float x"],
)
def test_a_body_input_with_an_initializer_may_be_left_out(inputs: str) -> None:
    text = loop_text(inputs=inputs, nodes="co = Identity (ci) xo = Add (x, k)")
    loop = read_loop(text.replace("float xo) {", "float xo) <float k = {5}> {"))
    assert value_names(loop.body.inputs) == ["i", "ci", "x"]
    (constant,) = loop.body.constants
    assert constant.name == "k"
    assert constant.constant is not None
    assert constant.constant == 5
    assert loop.back_edges[0].param is loop.body.inputs[2]


def test_a_body_input_with_an_initializer_may_be_given() -> None:
    text = loop_text(
        inputs="int64 i, bool ci, float x, float k",
        nodes="co = Identity (ci) xo = Add (x, k) ko = Identity (k)",
        outputs="bool co, float xo, float ko",
        call="a, b = Loop (m, c, v, w)",
        result="float a, float b",
        graph_inputs="int64 m, bool c, float v, float w",
    ).replace("float ko) {", "float ko) <float k = {5}> {")
    loop = read_loop(text)
    assert value_names(loop.body.inputs) == ["i", "ci", "x", "k"]
    assert loop.body.constants == []


def test_int32_trip_count_and_iteration_number_are_tolerated() -> None:
    # As in the specification's own sample.
    loop = read_loop(loop_text(graph_inputs="int32 m, bool c, float v", inputs="int32 i, bool ci, float x"))
    assert str(loop.iteration and loop.iteration.type) == "int32[]"


def test_nested_loops() -> None:
    inner = """
      k = Constant <value = int64 {2}> ()
      xo = Loop <body: graph = b2 (int64 j, bool d, float y) => (bool do, float yo) {
        do = Identity (d) fi = Cast <to = 1> (i) fv = Add (fi, v) yo = Add (y, fv) }> (k, , x)
    """
    loop = read_loop(loop_text(nodes=f"co = Identity (ci) {inner}"))
    nested = loop.body.nodes[2]
    assert isinstance(nested, Loop)
    assert value_names(nested.inputs) == ["k", None, "x"]
    # A capture is the outer value itself, through however many levels.
    cast, add = nested.body.nodes[1], nested.body.nodes[2]
    assert cast.inputs[0] is loop.iteration
    assert add.inputs[1] is loop.inputs[2]
    assert nested.inputs[2] is loop.body.inputs[2]


REFUSED = {
    "only a trip count": (loop_text(call="a = Loop (m)"), ["has 1 inputs", "at least 2", "trip count, condition"]),
    "a missing initial value": (
        loop_text(
            call="a, b = Loop (m, c, , v)",
            inputs="int64 i, bool ci, float x, float y",
            outputs="bool co, float xo, float y",
            result="float a",
        ),
        ["carried value 0 has no initial value"],
    ),
    "too few body inputs": (
        loop_text(inputs="int64 i, bool ci", nodes="co = Identity (ci) xo = Identity (v)"),
        ["its graph 'b' has 2 inputs; it needs 3: iteration number, condition and 1 carried value"],
    ),
    "too many body inputs": (
        loop_text(inputs="int64 i, bool ci, float x, float y"),
        ["its graph 'b' has 4 inputs; it needs 3"],
    ),
    "no body outputs": (
        loop_text(nodes="", inputs="int64 i, bool ci", outputs="", call="a = Loop (m, c)"),
        ["its body has no outputs", "body without condition"],
    ),
    "too few body outputs": (
        loop_text(outputs="bool co"),
        ["its body has 1 output; it needs at least 2: condition and 1 carried value"],
    ),
    "fewer outputs than results": (
        loop_text(outputs="bool co, float xo, float xo"),
        ["has 1 output; it needs 2, one less than its body"],
    ),
    "more outputs than results": (
        loop_text(call="a, b = Loop (m, c, v)"),
        ["has 2 outputs; it needs 1, one less than its body"],
    ),
    "a sequence as scan output": (
        loop_text(
            nodes="co = Identity (ci) xo = Add (x, x) s = SequenceConstruct (x)",
            outputs="bool co, float xo, seq(float) s",
            call="a, b = Loop (m, c, v)",
        ),
        ["scan output 's' is seq(float32[])", "only tensors"],
    ),
    "an unknown attribute": (
        loop_text().replace("<body:", "<unroll = 1, body:"),
        ["has an attribute 'unroll' that this opset does not define"],
    ),
    "no body": ("g (int64 m, bool c, float v) => (float a) { a = Loop (m, c, v) }", ["lacks its attribute 'body'"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text, words = REFUSED[case]
    assert_refused(text, "Loop 'Loop_0' (opset 16)", *words)
