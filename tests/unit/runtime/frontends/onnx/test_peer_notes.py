"""Where onnxruntime or OpenVINO differs, as far as the model alone tells (docs/peers.md)."""

from __future__ import annotations

import pytest

from loopdbg.runtime.graph import loops
from text_models import loop_text

from .onnx_texts import read_text
from .test_scan_if import scan_text

TWO = {
    "inputs": "int64 i, bool ci, float x, float y",
    "call": "a, b = Loop (m, c, v, w)",
    "result": "float a, float b",
    "given": "int64 m, bool c, float v, float w",
}
LESS = "k = Constant <value = float {6}> () xo = Add (x, x) co = Less (xo, k)"
NO_COND = "a = Loop (m, , v)"

NOTED = {
    "B1: the body's condition is computed": (
        loop_text(nodes=LESS, call=NO_COND),
        ["onnxruntime and OpenVINO would stop once the body's condition 'co' is false"],
    ),
    "B1: the body's condition is false": (
        loop_text(nodes="f = Constant <value = bool {0}> () co = Identity (f) xo = Add (x, x)", call=NO_COND),
        ["would stop after the first iteration", "'co' is always false"],
    ),
    "B2": (loop_text(nodes=LESS, call="a = Loop (, , v)"), ["although the loop's cond is absent"]),
    "B7: scanned": (
        loop_text(outputs="bool co, float xo, int64 i", call="a, s = Loop (m, c, v)"),
        ["onnxruntime would give wrong numbers as 's'"],
    ),
    "B7: carried": (
        loop_text(inputs="int64 i, bool ci, int64 x", outputs="bool co, int64 i", nodes="co = Identity (ci)"),
        ["onnxruntime would give wrong numbers as 'a'"],
    ),
    "B8: swapped": (
        loop_text(nodes="co = Identity (ci)", outputs="bool co, float y, float x", **TWO),
        ["OpenVINO refuses a file", "from memory would carry the next iteration's 'x' into 'y'"],
    ),
    "B8: shifted down": (
        loop_text(nodes="co = Identity (ci) xo = Add (x, y)", outputs="bool co, float xo, float x", **TWO),
        ["OpenVINO refuses a file", "from memory would carry the next iteration's 'x' into 'y'"],
    ),
    "B8: in a Scan": (
        """g (float p, float q, float[3] z) => (float a) { a, b, e = Scan <num_scan_inputs = 1,
          body: graph = b (float x, float y, float zi) => (float xo, float x, float eo) {
            xo = Add (x, zi) eo = Add (y, zi) }> (p, q, z) }""",
        ["onnxruntime would compute wrong values: the body returns its input 'x'", "would carry the next"],
    ),
    "B9: a slice": (
        scan_text(results="float ko, float[4] xi, float[4] q1"),
        ["onnxruntime would compute wrong values: the body returns its input 'xi'"],
    ),
    "B10": (
        loop_text(
            nodes="co = Identity (ci) xo = Add (x, x) so = Identity (w)",
            outputs="bool co, float xo, string so",
            call="a, s = Loop (m, c, v)",
            given="int64 m, bool c, float v, string w",
        ),
        ["onnxruntime would fill only the first row of 's'"],
    ),
    "B14: an initializer": (
        loop_text(call="a = Loop (n, c, v)").replace("float a) {", "float a) <int64 n = {-5}> {", 1),
        ["would take the trip count -5 for no limit"],
    ),
    "B14: a Constant": (
        loop_text(call="a = Loop (n, c, v)").replace(") {", ") { n = Constant <value_int = -1> ()", 1),
        ["would take the trip count -1 for no limit"],
    ),
    "B16": (
        loop_text(outputs="bool co, float xo, float xo", call="a, s = Loop (m, n, v)").replace(
            ") {", ") { n = Constant <value = bool {0}> ()", 1
        ),
        ["OpenVINO would return initial values or uninitialised memory as scan outputs"],
    ),
    "B17: carried": (
        loop_text(outputs="bool co, float xo, float xo", call=", a = Loop (m, c, v)"),
        ["onnxruntime would crash on the omitted output"],
    ),
    "B17: scanned": (
        loop_text(outputs="bool co, float xo, float xo, float xo", call="b, , a = Loop (m, c, v)"),
        ["onnxruntime refuses the omitted output"],
    ),
    "an outer value": (loop_text(outputs="bool co, float v"), ["onnxruntime refuses", "outer value 'v'"]),
}


@pytest.mark.parametrize("case", NOTED)
def test_noted(case: str) -> None:
    text, words = NOTED[case]
    (loop,) = loops(read_text(text))
    for word in words:
        assert any(word in note for note in loop.notes), loop.notes
    # One sentence each.
    assert all(note.endswith(".") and note.isprintable() for note in loop.notes)


@pytest.mark.parametrize(
    "text",
    [
        loop_text(),
        loop_text(nodes=LESS),
        loop_text(call=NO_COND),
        loop_text(nodes="xo = Add (x, x)", outputs="bool ci, float xo", call=NO_COND),
        loop_text(nodes="t = Constant <value = bool {1}> () co = Identity (t) xo = Add (x, x)", call=NO_COND),
        # Pass-through values that OpenVINO's order of writing does not harm (seen in 2026.4).
        loop_text(nodes="co = Identity (ci) yo = Add (x, y)", outputs="bool co, float y, float yo", **TWO),
        loop_text(nodes="co = Identity (ci) yo = Add (x, y)", outputs="bool co, float x, float yo", **TWO),
        loop_text(
            nodes="co = Identity (ci) p = Identity (x) q = Identity (y)", outputs="bool co, float q, float p", **TWO
        ),
        loop_text(call="a = Loop (n, c, v)").replace(") {", ") { n = Constant <value_int = 9223372036854775807> ()", 1),
        scan_text(),
    ],
)
def test_nothing_to_note(text: str) -> None:
    (loop,) = loops(read_text(text))
    assert loop.notes == []
