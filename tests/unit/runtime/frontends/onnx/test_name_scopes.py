"""Which value a name represents, and what is stated where it represents none (docs/semantics.md 3.4)."""

from __future__ import annotations

import pytest

from loopdbg.runtime.graph import Loop, Value, loops
from text_models import loop_text

from .onnx_texts import assert_refused, node, proto, read_loop, read_text, value_names


def test_captures_are_the_outer_values() -> None:
    graph = read_text(
        """g (int64 m, bool c, float v, float w) => (float a) <float k = {2}> {
          d = Add (k, w)
          a = Loop <body: graph = b (int64 i, bool ci, float x) => (bool co, float xo) {
            co = Identity (ci) t = Add (x, d) u = Add (t, k) xo = Add (u, w) }> (m, c, v) }"""
    )
    assert node(graph, "t").inputs[1] is graph.nodes[0].outputs[0]
    assert node(graph, "u").inputs[1] is graph.constants[0]
    assert node(graph, "xo").inputs[1] is graph.inputs[3]


def test_body_inputs_and_initializers_shadow_outer_names() -> None:
    text = loop_text(
        graph_inputs="int64 m, bool c, float x, float k",
        call="a = Loop (m, c, x)",
        nodes="co = Identity (ci) xo = Add (x, k)",
    )
    loop = read_loop(text.replace("float xo) {", "float xo) <float k = {5}> {"))
    add = loop.body.nodes[1]
    assert add.inputs == [loop.body.inputs[2], loop.body.constants[0]]
    assert loop.back_edges[0].initial is loop.inputs[2] is not loop.body.inputs[2]


def test_bodies_side_by_side_may_reuse_names() -> None:
    body = "<body: graph = b (int64 i, bool ci, float x) => (bool co, float y) { co = Identity (ci) y = Add (x, x) }>"
    # Each loop's output has the name of its body's: outside it exists only once the loop is done.
    again = body.replace("y =", "z =").replace("float y", "float z")
    graph = read_text(
        f"g (int64 m, bool c, float v) => (float z) {{ y = Loop {body} (m, c, v) z = Loop {again} (m, c, y) }}"
    )
    first, second = loops(graph)
    assert value_names([*first.body.outputs, *second.body.outputs]) == ["co", "y", "co", "z"]
    assert first.body.outputs[0] is not second.body.outputs[0]
    assert second.inputs[2] is first.outputs[0] is not first.body.outputs[1]


def test_an_outer_value_may_be_a_result() -> None:
    loop = read_loop(loop_text(outputs="bool co, float v"))
    assert loop.back_edges[0].result is loop.inputs[2]


def test_names_of_nodes_are_unique_in_their_graph() -> None:
    graph = read_text(
        """g (float x) => (float f) {
          a = Neg (x) [Neg_0] b = Neg (a) [n] c = Neg (b) [n] d = Neg (c) e = Abs (d) [n_2] f = Neg (e) }"""
    )
    assert [n.name for n in graph.nodes] == ["Neg_0_2", "Neg_0", "n", "n_2", "Abs_4", "n_2_2"]


def test_generated_names_may_repeat_in_other_graphs() -> None:
    graph = read_text(loop_text(nodes="co = Identity (ci) xo = Add (x, x)").replace("g (", "g (", 1))
    (loop,) = loops(graph)
    assert [n.name for n in loop.body.nodes] == ["Identity_0", "Add_1"]
    assert loop.name == "Loop_0"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # Outer names that are visible: an input, a node's output, an initializer, another output of the same body.
        (
            loop_text(nodes="co = Identity (ci) v = Add (x, x)", outputs="bool co, float v"),
            ["Add 'Add_1' (opset 16) in the body of Loop 'Loop_0'", "output 'v'", "an enclosing graph"],
        ),
        (
            loop_text(nodes="co = Identity (ci) xo = Add (x, x) xo = Add (x, x)"),
            ["Add 'Add_2'", "'xo'", "its own graph"],
        ),
        ("g (float x) => (float y) { y = Neg (x) x = Neg (y) }", ["Neg 'Neg_1' (opset 16): its output 'x'"]),
        ("g (float x) => (float y) <float k = {1}> { k = Neg (x) y = Neg (k) }", ["its output 'k'"]),
        ("g (float x) => (float y) { y, y = Split (x) }", ["its output 'y'"]),
        ("g (float x, float x) => (float y) { y = Neg (x) }", ["two inputs 'x'"]),
    ],
)
def test_duplicate_value_names_are_rejected(text: str, words: list[str]) -> None:
    assert_refused(text, *words)


def test_duplicate_initializers_are_rejected() -> None:
    model = proto("g (float x) => (float y) <float k = {1}> { y = Add (x, k) }")
    model.graph.initializer.append(model.graph.initializer[0])
    assert_refused(model, "two initializers 'k'")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("g (float x) => (float y) { y = Neg (xx) }", ["Neg 'Neg_0' (opset 16) uses 'xx'", "nothing defines", "'x'?"]),
        ("g (float x) => (float y) { z = Neg (x) }", ["list of outputs of the model uses 'y', which nothing defines"]),
        (
            loop_text(
                nodes="co = Identity (ci) xo = Add (x, hiden)", graph_inputs="int64 m, bool c, float v, float hidden"
            ),
            ["Add 'Add_1' (opset 16) in the body of Loop 'Loop_0' uses 'hiden'", "did you mean 'hidden'"],
        ),
        (loop_text(outputs="bool co, float lost"), ["list of outputs in the body of Loop 'Loop_0' uses 'lost'"]),
    ],
)
def test_undefined_names_are_rejected(text: str, words: list[str]) -> None:
    assert_refused(text, *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "g (float x) => (float y) { y = Neg (z) [late] z = Abs (y) }",
            ["Neg 'Neg_0' (opset 16) uses 'z'", "Abs 'late' produces only after it", "in a circle"],
        ),
        (
            loop_text(nodes="co = Identity (ci) xo = Add (x, w)").replace("(m, c, v) }", "(m, c, v) w = Neg (a) }"),
            ["in the body of Loop 'Loop_0' uses 'w'", "Neg 'Neg_1' produces only after it", "in a circle"],
        ),
        (loop_text(nodes="co = Identity (ci) xo = Add (x, a)"), ["uses 'a'", "an output of Loop 'Loop_0' itself"]),
        ("g (float x) => (float y) { y = Add (x, y) }", ["uses 'y', which is an output of Add 'Add_0' itself"]),
    ],
)
def test_names_used_before_definition_are_rejected(text: str, words: list[str]) -> None:
    assert_refused(text, *words)


def test_out_of_order_nodes_are_sorted() -> None:
    """As far as possible they stay as they are written; a node made of a loop needs what its body takes."""
    graph = read_text(
        """g (float x, int64 m, bool c) => (float y) {
          y = Neg (a) a = Loop <body: graph = b (int64 i, bool ci, float v) => (bool co, float vo) {
            vo = Add (t, w) co = Identity (ci) t = Neg (v) }> (m, c, z)
          z = Abs (x) w = Neg (z) u = Neg (x) }"""
    )
    assert [node.name for node in graph.nodes] == ["Abs_2", "Neg_3", "Loop_1", "Neg_0", "Neg_4"]
    (loop,) = (node for node in graph.nodes if isinstance(node, Loop))
    assert [node.name for node in loop.body.nodes] == ["Identity_1", "Neg_2", "Add_0"]
    assert [note.split(" are in")[0] for note in graph.notes] == [
        "the nodes of the model",
        "the nodes in the body of Loop 'Loop_1'",
    ]
    assert read_text("g (float x) => (float y) { y = Neg (z) z = Abs (x) }").notes
    assert not read_text("g (float x) => (float y) { z = Abs (x) y = Neg (z) }").notes


@pytest.mark.parametrize("name", ["xo", "x"])
def test_body_values_are_not_seen_outside(name: str) -> None:
    text = loop_text().replace("(m, c, v) }", f"(m, c, v) [user] w = Neg ({name}) }}")
    assert_refused(
        text,
        f"Neg 'user' (opset 16) uses '{name}', a value of the body of Loop 'Loop_0'",
        "make it an output of that node",
    )
    assert_refused(
        loop_text(result="float xo"), "list of outputs of the model uses 'xo', a value of the body of Loop 'Loop_0'"
    )


def test_branches_do_not_see_each_other() -> None:
    assert_refused(
        """g (bool c, float x) => (float y) { y = If <
          then_branch: graph = p () => (float t) { s = Neg (x) t = Neg (s) },
          else_branch: graph = q () => (float e) { e = Neg (s) }> (c) }""",
        "in the else branch of If 'If_0' uses 's', a value of the then branch of If 'If_0'",
    )


def test_names_across_two_levels() -> None:
    inner = "<body: graph = b2 (int64 j, bool d, float y) => (bool do, float yo) { do = Identity (d) yo = Add (y, q) }>"
    text = loop_text(nodes=f"co = Identity (ci) [deep] xo = Loop {inner} (m, , x)")
    assert_refused(text, "Add 'Add_1' (opset 16) in the body of Loop 'deep' in the body of Loop 'Loop_0' uses 'q'")


def test_reading_is_linear_in_the_number_of_nodes() -> None:
    chain = " ".join(f"x{k + 1} = Neg (x{k})" for k in range(5000))
    graph = read_text(f"g (float x0) => (float x5000) {{ {chain} }}")
    value: Value | None = graph.outputs[0]
    for entry in reversed(graph.nodes):
        assert entry.outputs == [value]
        value = entry.inputs[0]
    assert value_names([value]) == ["x0"]
