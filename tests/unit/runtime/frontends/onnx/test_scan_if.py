"""Scan and If (docs/semantics.md 4)."""

from __future__ import annotations

import pytest

from loopdbg.runtime.graph import If, Loop

from .onnx_texts import assert_refused, read_text, value_names


def scan_text(
    attributes: str = "",
    count: int = 2,
    call: str = "k, p, q = Scan",
    results: str = "float ko, float[4] p1, float[4] q1",
) -> str:
    """One state, two sliced inputs, two scan outputs."""
    return f"""
    g (float k0, float[3,4] x, float[4,3] y) => (float k) {{
      {call} <num_scan_inputs = {count}{attributes},
        body: graph = b (float ki, float[4] xi, float[4] yi) => ({results}) {{
          ko = Identity (ki) p1 = Add (xi, yi) q1 = Mul (xi, yi) }}> (k0, x, y)
    }}"""


def scan(text: str, opset: int = 16) -> Loop:
    (loop,) = read_text(text, opset).nodes
    assert isinstance(loop, Loop)
    return loop


def slices(loop: Loop) -> list[tuple[int, int, int, int]]:
    return [(s.axis, s.start, s.end, s.stride) for s in loop.sliced_inputs]


@pytest.mark.parametrize("opset", [9, 11, 16, 19, 21, 23, 24, 25])
def test_defaults(opset: int) -> None:
    loop = scan(scan_text(), opset)
    assert loop.counted_by_slices
    assert (loop.trip_count, loop.initial_condition, loop.condition, loop.ignored_condition, loop.iteration) == (
        None,
    ) * 5
    assert slices(loop) == [(0, 0, -1, 1)] * 2
    assert all(s.drop_axis and s.part_size == 1 for s in loop.sliced_inputs)
    assert value_names([s.outer for s in loop.sliced_inputs]) == ["x", "y"]
    assert [s.inner for s in loop.sliced_inputs] == loop.body.inputs[1:]
    (edge,) = loop.back_edges
    assert value_names([edge.initial, edge.param, edge.result]) == ["k0", "ki", "ko"]
    assert [(last.edge, last.outer) for last in loop.last_values] == [(edge, loop.outputs[0])]
    assert [(s.axis, s.stack, s.reverse) for s in loop.scan_outputs] == [(0, True, False)] * 2
    assert value_names([s.outer for s in loop.scan_outputs]) == ["p", "q"]


def test_axes_and_directions() -> None:
    loop = scan(
        scan_text(
            ", scan_input_axes = [0, -1], scan_input_directions = [1, 0],"
            " scan_output_axes = [-1, 1], scan_output_directions = [0, 1]"
        )
    )
    assert slices(loop) == [(0, -1, 0, -1), (-1, 0, -1, 1)]
    assert [(s.axis, s.reverse) for s in loop.scan_outputs] == [(-1, False), (1, True)]


def test_scan_without_states_and_with_an_omitted_output() -> None:
    loop = scan(
        """g (float[3] x) => (float[3] y) {
          , y = Scan <num_scan_inputs = 1, body: graph = b (float xi) => (float zo, float yo) {
            yo = Add (xi, xi) zo = Mul (xi, xi) }> (x) }"""
    )
    assert loop.back_edges == []
    assert value_names([s.outer for s in loop.scan_outputs]) == ["y"]


REFUSED = {
    "no number of scan inputs": (
        scan_text().replace("num_scan_inputs = 2,", ""),
        ["num_scan_inputs is None", "1 to 3"],
    ),
    "no scan inputs": (scan_text(count=0), ["num_scan_inputs is 0", "with 3 inputs it must be 1 to 3"]),
    "too many scan inputs": (scan_text(count=4), ["num_scan_inputs is 4"]),
    "an absent input": (scan_text().replace("(k0, x, y)", "(k0, , y)"), ["input 1 is absent"]),
    "body inputs": (
        scan_text().replace("(k0, x, y)", "(k0, x, y, y)"),
        ["has 3 inputs; it needs 4: 2 states and 2 slices"],
    ),
    "fewer outputs than results": (scan_text(call="k, p = Scan"), ["has 2 outputs; it needs 3, as many as its body"]),
    "fewer results than states": (
        scan_text(count=1, results="float ko"),
        ["its body has 1 output", "each of 2 states"],
    ),
    "too many axes": (
        scan_text(", scan_input_axes = [0, 0, 0]"),
        ["scan_input_axes is [0, 0, 0]", "each of 2 scan inputs"],
    ),
    "too few directions": (scan_text(", scan_output_directions = [0]"), ["scan_output_directions is [0]"]),
    "a direction": (scan_text(", scan_input_directions = [0, 2]"), ["[0, 2]", "0 is forward, 1 is reverse"]),
    "an input axis": (scan_text(", scan_input_axes = [0, 2]"), ["scan_input_axes has 2 for input 'y' of rank 2"]),
    "an output axis": (
        scan_text(", scan_output_axes = [0, -3]"),
        ["scan_output_axes has -3 for output 'q1', stacked to rank 2"],
    ),
    "an unknown attribute": (scan_text(", directions = [0, 0]"), ["has an attribute 'directions'"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text, words = REFUSED[case]
    assert_refused(text, "Scan 'Scan_0' (opset 16)", *words)


def test_scan_of_opset_8() -> None:
    text = scan_text().replace("(k0, x, y)", "(lens, k0, x, y)")
    batch = scan(text.replace("g (", "g (int64[B] lens, "), opset=8)
    assert value_names([s.outer for s in batch.sliced_inputs]) == ["k0", "x", "y", "lens"]
    assert [(s.axis, s.stack) for s in batch.scan_outputs] == [(0, True)] * 3
    (sequence,) = (node for node in batch.body.nodes if isinstance(node, Loop))
    assert (batch.name, sequence.name) == ("Scan_0", "Scan_0/sequence")
    assert slices(sequence) == [(0, 0, -1, 1)] * 2
    assert value_names([edge.param for edge in sequence.back_edges]) == ["ki"]
    assert_refused(scan_text(), "Scan exists from opset 8 on", opset=7)
    assert_refused(scan_text(call="k, p, q = Scan").replace("(k0, x, y)", "()"), "has no inputs", opset=8)
    assert_refused(scan_text(", scan_input_axes = [0, 0]"), "has an attribute 'scan_input_axes'", opset=8)


def if_text(then: str = "float t", other: str = "float e", call: str = "y = If", inputs: str = "(c)") -> str:
    return f"""
    g (bool c, float x) => (float y) {{
      {call} <then_branch: graph = then_graph () => ({then}) {{ t = Add (x, x) t2 = Add (x, x) }},
              else_branch: graph = else_graph () => ({other}) {{ e = Mul (x, x) }}> {inputs}
    }}"""


def test_a_branch_may_list_its_initializers_as_inputs() -> None:
    # Before IR 4 it had to.
    (node,) = read_text(if_text(then="float t").replace("then_graph ()", "then_graph (float z = {5})")).nodes
    assert isinstance(node, If)
    assert node.then_branch.inputs == []
    assert value_names(node.then_branch.constants) == ["z"]


def test_if() -> None:
    graph = read_text(if_text())
    (node,) = graph.nodes
    assert isinstance(node, If)
    assert node.inputs == [graph.inputs[0]]
    assert (node.then_branch.name, node.else_branch.name) == ("then_graph", "else_graph")
    assert value_names(node.then_branch.outputs + node.else_branch.outputs) == ["t", "e"]
    assert node.then_branch.nodes[0].inputs[0] is graph.inputs[1]
    assert node.outputs == graph.outputs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (if_text(then="float t, float t2"), ["has 1 output; it needs 2, as many as its then branch"]),
        (
            if_text(then="float t, float t2", call="y, z = If"),
            ["has 2 outputs; it needs 1, as many as its else branch"],
        ),
        (if_text(inputs="()"), ["has 0 inputs", "the condition"]),
        (if_text(inputs="(c, x)"), ["has 2 inputs", "the condition"]),
        (if_text().replace("then_graph ()", "then_graph (float z)"), ["has 1 input; it needs 0", "takes no inputs"]),
        (if_text().replace("else_branch:", "other_branch:"), ["lacks its attribute 'else_branch'"]),
    ],
)
def test_refused_if(text: str, words: list[str]) -> None:
    assert_refused(text, "If 'If_0' (opset 16)", *words)
