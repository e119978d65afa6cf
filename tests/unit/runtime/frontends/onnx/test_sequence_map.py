"""SequenceMap is the Loop that its specification makes of it."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from loopdbg.runtime.graph import Loop, loops
from text_models import loop_text

from .onnx_texts import assert_refused, operation, read_text, value_names

MAP = """
g (seq(float[N]) s, seq(float[N]) t, float[1] x) => (seq(float[N]) y, seq(int64[1]) z) {
  [map] y, z = SequenceMap <body: graph = b (float[N] a, float[N] b, float[1] c) => (float[N] r, int64[1] n) {
    d = Add (a, b) r = Mul (d, c) n = Shape (a) }> (s, t, x)
}
"""


def test_structure() -> None:
    graph = read_text(MAP, 18)
    assert [n.op_type for n in graph.nodes] == ["SequenceLength", "SequenceEmpty", "SequenceEmpty", "Loop"]
    loop = graph.nodes[-1]
    assert isinstance(loop, Loop)
    assert loop.name == "map"
    assert loop.trip_count is graph.nodes[0].outputs[0]
    assert (loop.initial_condition, loop.condition, loop.ignored_condition, loop.condition_input) == (None,) * 4
    assert loop.iteration is loop.body.inputs[0]
    assert [edge.param for edge in loop.back_edges] == loop.body.inputs[1:]
    assert [edge.result for edge in loop.back_edges] == loop.body.outputs
    assert [last.outer for last in loop.last_values] == loop.outputs == graph.outputs
    assert [operation(graph, str(name)).attributes for name in value_names(loop.inputs[2:])] == [
        {"dtype": 1},
        {"dtype": 7},
    ]
    ways_in = [(n.op_type, value_names(n.inputs), value_names(n.outputs)) for n in loop.body.nodes[:3]]
    assert ways_in == [
        ("SequenceAt", ["s", "map/iteration"], ["a"]),
        ("SequenceAt", ["t", "map/iteration"], ["b"]),
        ("Identity", ["x"], ["c"]),
    ]


def test_run() -> None:
    s = [np.ones(2, np.float32), np.ones(3, np.float32)]
    outputs = loopdbg.Model(read_text(MAP, 18)).run({"s": s, "t": s, "x": np.array([2], np.float32)})
    assert [part.tolist() for part in outputs["y"]] == [[4, 4], [4, 4, 4]]
    assert [part.tolist() for part in outputs["z"]] == [[2], [3]]
    assert loopdbg.Model(read_text(MAP, 18)).run({"s": [], "t": [], "x": np.array([2], np.float32)}) == {
        "y": [],
        "z": [],
    }


@pytest.mark.parametrize(
    "source",
    [
        "q = SequenceConstruct (x, x)",
        "p = SequenceEmpty () q = SequenceInsert (p, x)",
        "p = SequenceConstruct (x, x) q = Identity (p)",
        """q = If <then_branch: graph = t () => (seq(float) u) { u = SequenceConstruct (x) },
                   else_branch: graph = e () => (seq(float) w) { w = SequenceConstruct (x) }> (ci)""",
        """e = SequenceConstruct (x) q = Loop <
             body: graph = d (int64 j, bool cj, seq(float) h) => (bool ck, seq(float) hn) {
               ck = Identity (cj) hn = SequenceInsert (h, x) }> (m, , e)""",
    ],
)
def test_sequences_are_known_without_declared_types(source: str) -> None:
    # Inside a loop's body, with a capture, and without value_info: more than onnx.inliner can do.
    nodes = f"""co = Identity (ci) {source}
      r = SequenceMap <body: graph = sm (float a, float b) => (float ab) {{ k = Add (a, b) ab = Add (k, v) }}> (q, q)
      zero = Constant <value = int64 {{0}}> () xo = SequenceAt (r, zero)"""
    graph = read_text(loop_text(nodes=nodes), 18)
    inner = list(loops(graph))[-1]
    assert [n.op_type for n in inner.body.nodes[:2]] == ["SequenceAt", "SequenceAt"]
    outputs = loopdbg.Model(graph).run({"m": 2, "c": True, "v": 1.0})
    assert outputs["a"] == 7


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MAP.replace("(s, t, x)", "(s, t)"), ["its graph 'b' has 3 inputs; it needs 2"]),
        (MAP.replace("(s, t, x)", "()"), ["has no inputs; it needs a sequence"]),
        (MAP.replace("(s, t, x)", "(s, , x)"), ["input 1 is absent"]),
        (MAP.replace("y, z =", "y ="), ["has 1 output; it needs 2, as many as its body"]),
    ],
)
def test_refused(text: str, words: list[str]) -> None:
    assert_refused(text, "SequenceMap 'map' (opset 18)", *words, opset=18)
