"""Functions of the model: inlined where they are called (IR specification, "Model Local Functions")."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.graph import loops, nodes_in_file, walk
from loopdbg.runtime.model import Model

from .onnx_texts import assert_refused, operation, proto, read_text, value_names

IMPORTS = ', "f" : 1'
TWICE = """
<domain: "f", opset_import: ["" : 16, "f" : 1]>
twice (a) => (b) { c = Add (a, a) b = Identity (c) }
"""


def test_a_call_becomes_its_nodes() -> None:
    graph = read_text(
        "g (float[2] x) => (float[2] z) { [one] y = f.twice (x) z = f.twice (y) }" + TWICE, imports=IMPORTS
    )
    assert [n.name for n in graph.nodes] == ["one/Add_0", "one/Identity_1", "twice_1/Add_0", "twice_1/Identity_1"]
    # Results have the names that the call gives them.
    assert [value_names(n.outputs) for n in graph.nodes] == [["one/c"], ["y"], ["twice_1/c"], ["z"]]
    assert graph.nodes[2].inputs == [graph.nodes[1].outputs[0]] * 2
    assert str(graph.outputs[0].type) == "float32[2]"
    assert graph.output_names == []


def test_functions_in_functions_and_in_bodies() -> None:
    four = """
    <domain: "f", opset_import: ["" : 16, "f" : 1]>
    four (a) => (b) { [first] c = f.twice (a) [second] b = f.twice (c) }
    """
    graph = read_text(
        """g (int64 m, float v) => (float w) { w = Loop <
          body: graph = b (int64 i, bool c, float x) => (bool co, float y) { co = Identity (c) [call] y = f.four (x) }
        > (m, , v) }"""
        + TWICE
        + four,
        imports=IMPORTS,
    )
    (loop,) = loops(graph)
    assert [n.name for n in loop.body.nodes[1:]] == [
        "call/first/Add_0",
        "call/first/Identity_1",
        "call/second/Add_0",
        "call/second/Identity_1",
    ]
    assert value_names(loop.body.nodes[2].outputs) == ["call/c"]
    assert value_names(loop.body.outputs) == ["co", "y"]


def test_a_loop_in_a_function() -> None:
    repeat = """
    <domain: "f", opset_import: ["" : 16, "f" : 1]>
    repeat (m, v, w) => (r, s) {
      k = Add (w, w)
      r, s = Loop <body: graph = b (int64 i, bool c, float x) => (bool co, float y, float e) {
        co = Identity (c) y = Add (x, k) e = Identity (y) }> (m, , v)
    }"""
    text = "g (int64 m, float v, float w) => (float r, float[n] t) { [call] r, t = f.repeat (m, v, w) }" + repeat
    graph = read_text(text, imports=IMPORTS)
    (loop,) = loops(graph)
    assert loop.name == "call/Loop_1"
    assert value_names([loop.iteration, *loop.outputs, loop.back_edges[0].result]) == ["call/i", "r", "t", "call/y"]
    assert operation(graph, "call/y").inputs[1] is graph.nodes[0].outputs[0]
    outputs = loopdbg.Model(graph).run({"m": 3, "v": 1.0, "w": 0.5})
    assert outputs["r"] == 4
    np.testing.assert_array_equal(outputs["t"], [2, 3, 4])


def test_attributes() -> None:
    cast = """
    <domain: "f", opset_import: ["" : 16, "f" : 1]>
    convert <kind, start: float = 0.5>(a) => (b) {
      k = Constant <value_float: float = @start> () c = Add (a, k) b = f.inner <type: int = @kind> (c) }
    <domain: "f", opset_import: ["" : 16]>
    inner <type, saturate>(a) => (b) { b = Cast <to: int = @type, saturate: int = @saturate> (a) }
    """
    graph = read_text(
        "g (float x) => (int64 y, float z) { y = f.convert <kind = 7> (x) z = f.convert <kind = 1, start = 2.0> (x) }"
        + cast,
        imports=IMPORTS,
    )
    assert [operation(graph, name).attributes for name in ("y", "z")] == [{"to": 7}, {"to": 1}]
    starts = [operation(graph, f"convert_{k}/k").attributes for k in (0, 1)]
    assert starts == [{"value_float": 0.5}, {"value_float": 2.0}]


def test_absent_inputs_and_outputs() -> None:
    clip = """
    <domain: "f", opset_import: ["" : 16]>
    clip (a, low, high) => (b, c) { b = Clip (a, low, high) c = Neg (b) }
    """
    graph = read_text("g (float x, float h) => (float y) { y = f.clip (x, , h) }" + clip, imports=IMPORTS)
    assert value_names(operation(graph, "y").inputs) == ["x", None, "h"]
    assert value_names(graph.nodes[1].outputs) == ["clip_0/c"]
    graph = read_text("g (float x) => (float y) { y = f.clip (x) }" + clip, imports=IMPORTS)
    assert value_names(operation(graph, "y").inputs) == ["x", None, None]


def test_a_result_may_be_an_input() -> None:
    both = """
    <domain: "f", opset_import: ["" : 16]>
    both (a) => (b, a) { b = Neg (a) }
    """
    graph = read_text("g (float x) => (float y, float z) { y, z = f.both (x) }" + both, imports=IMPORTS)
    assert graph.outputs[1] is graph.inputs[0]
    assert graph.output_names == ["y", "z"]
    outputs = loopdbg.Model(graph).run({"x": 2.0})
    assert outputs == {"y": -2, "z": 2}


def test_a_node_has_the_opset_of_its_function() -> None:
    text = "g (float x) => (float y) { z = f.twice (x) y = Neg (z) }" + TWICE.replace('"" : 16', '"" : 13')
    graph = read_text(text, imports=IMPORTS, opset=18)
    assert [n.version for n in graph.nodes] == [13, 13, 18]


def test_a_function_goes_before_an_operator() -> None:
    relu = '<domain: "", opset_import: ["" : 16]> Relu (a) => (b) { b = Abs (a) }'
    graph = read_text("g (float x) => (float y) { y = Relu (x) }" + relu)
    assert [n.op_type for n in walk(graph)] == ["Abs"]


def test_overloads() -> None:
    model = proto(
        "g (float x) => (float y) { y = f.twice (x) }" + TWICE + TWICE.replace("Identity", "Neg"), imports=IMPORTS
    )
    model.functions[1].overload = model.graph.node[0].overload = "negative"
    graph = frontend.from_proto(model, "m")
    assert [n.op_type for n in graph.nodes] == ["Add", "Neg"]


def test_names_inside_are_the_functions_own() -> None:
    # x is a name of the caller, which the function does not see.
    broken = TWICE.replace("Add (a, a)", "Add (a, x)")
    assert_refused(
        "g (float x) => (float y) { [call] y = f.twice (x) }" + broken,
        "Add 'call/Add_0' (opset 16) in function twice of 'call' uses 'x', which nothing defines",
        imports=IMPORTS,
    )


def test_refused() -> None:
    recursive = TWICE.replace("Identity (c)", "f.twice (c)")
    assert_refused("g (float x) => (float y) { y = f.twice (x) }" + recursive, "cannot be recursive", imports=IMPORTS)
    assert_refused(
        "g (float x) => (float y) { y = f.twice (x, x) }" + TWICE,
        "twice 'twice_0' (f opset 1) has 2 inputs; its function takes at most 1",
        imports=IMPORTS,
    )
    assert_refused(
        "g (float x) => (float y) { y, z = f.twice (x) }" + TWICE,
        "has 2 outputs; its function takes at most 1",
        imports=IMPORTS,
    )
    lacking = TWICE.replace('opset_import: ["" : 16, "f" : 1]', 'opset_import: ["f" : 1]')
    assert_refused("g (float x) => (float y) { y = f.twice (x) }" + lacking, "domain 'ai.onnx'", imports=IMPORTS)


def test_operators_that_onnx_defines_by_others() -> None:
    """A node becomes what its operator represents, with the operator's own defaults; the file's node is kept."""
    graph = read_text("g (float[4] x) => (float[4] y) { [cut] y = Shrink <lambd = 1.0> (x) }", opset=9)
    assert all(n.name.startswith("cut/") and n.version == 18 for n in graph.nodes)
    (original,) = nodes_in_file(graph)
    assert (original.op_type, original.version, value_names(original.outputs)) == ("Shrink", 9, ["y"])
    (y,) = Model(graph).run({"x": [-2, -0.5, 0.5, 2]}).values()
    assert y.tolist() == [-2, 0, 0, 2]


def test_functions_of_the_types_of_their_inputs() -> None:
    """Types that no one declares are inferred; graphs of a node see what is around it."""
    imports = ', "ai.onnx.preview" : 1'
    graph = read_text(
        """g (double[1,2,3,4] q0, double[1,2,3,4] k, double[1,2,3,4] v, double w) => (double[B,H,L,S] y) {
          q = Neg (q0)
          y = ai.onnx.preview.FlexAttention <score_mod: graph = m (double[B,H,L,S] s) => (double[B,H,L,S] t) {
            t = Mul (s, w) }> (q, k, v) }""",
        26,
        imports,
    )
    r = np.random.default_rng(0)
    q, k, v = (r.normal(size=(1, 2, 3, 4)) for _ in range(3))
    (y,) = Model(graph).run({"q0": -q, "k": k, "v": v, "w": np.array(3.0)}).values()
    powers = np.exp(q @ k.swapaxes(2, 3) / 2 * 3)
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, powers / powers.sum(-1, keepdims=True) @ v, rtol=1e-6)


@pytest.mark.parametrize("word", ["none", "sum", "Mean", ""])
def test_a_word_that_the_operator_does_not_know_is_an_error(word: str) -> None:
    """ONNX makes a function of any; a function of the model may give it too."""
    loss = f'SoftmaxCrossEntropyLoss <reduction = "{word}">'
    message = f"cut' (opset 13): attribute reduction='{word}' is not one of none, sum, mean"
    for text in (
        f"g (float[2,3] x, int64[2] t) => (float y) {{ [cut] y = {loss} (x, t) }}",
        f"""g (float[2,3] x, int64[2] t) => (float y) {{ y = f.loss <word = "{word}"> (x, t) }}
        <domain: "f", opset_import: ["" : 13]>
        loss <word> (a, b) => (c) {{ [cut] c = SoftmaxCrossEntropyLoss <reduction : string = @word> (a, b) }}""",
    ):
        if word in ("none", "sum"):
            read_text(text, 13, IMPORTS)
        else:
            assert_refused(text, *message.split(":"), imports=IMPORTS, opset=13)


def test_an_inference_that_ends_its_process_is_not_ours() -> None:
    """Types stay unknown then, until a run comes to what is wrong."""
    graph = read_text(
        """g (float[6] x, int64[2] t) => (float y) { a, b, c = Split <num_outputs = 2> (x)
        d = Unsqueeze (a, t) y = SoftmaxCrossEntropyLoss (d, t) }""",
        18,
    )
    with pytest.raises(LoopdbgError, match="Split"):
        Model(graph).run({"x": np.zeros(6, np.float32), "t": np.zeros(2, np.int64)})
