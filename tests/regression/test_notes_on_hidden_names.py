"""`hides an outer value` was reported for every branch with an initializer and for names that the outer graph defines
later, and was not reported for inputs of bodies."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from text_models import load_proto, proto

LOOP = "y = Loop (n, , x) <body = b (int64 i, bool c, float {state}) => (bool c2, float s2) {constants} {{ {nodes} }}>"
NODES = "s2 = Add ({state}, {other}) c2 = Identity (c)"
BRANCHES = """y = If (p) <then_branch = th () => (float t) <float {then} = {{2}}> {{ t = Add (x, {then}) }},
  else_branch = el () => (float e) <float {other} = {{3}}> {{ e = Mul (x, {other}) }}>"""


def loop(state: str = "s", other: str = "", constants: str = "") -> str:
    return LOOP.format(state=state, constants=constants, nodes=NODES.format(state=state, other=other or state))


def graph(node: str, before: str = "", after: str = "z = Neg (y)") -> str:
    return (
        f"g (float x, bool p) => (float z) <int64 n = {{3}}, float w = {{1}}> {{ q = Not (p) {before} {node} {after} }}"
    )


NESTED = """y = Loop (n, , x) <body = outer (int64 i, bool c, float s) => (bool c2, float s2) {
  s2 = Loop (n, , s) <body = inner (int64 i, bool d, float t) => (bool d2, float t2) {
    t2 = Add (t, w) d2 = Identity (d) }> c2 = Identity (c) }>"""
SCAN = """rows = Expand (x, shape)
  y, all = Scan <num_scan_inputs = 1, body = b (float s, float w) => (float s2, float e) {
    s2 = Add (s, w) e = Identity (w) }> (x, rows)"""

HIDES = [
    (graph(loop("w")), ["the input 'w' in the body of Loop 'Loop_1'"]),
    (graph(loop(constants="<float w = {5}>", other="w")), ["the initializer 'w' in the body of Loop 'Loop_1'"]),
    (graph(loop("v"), before="v = Neg (x)"), ["the input 'v' in the body of Loop 'Loop_2'"]),
    (
        graph(loop("w", "v", "<float v = {5}>"), before="v = Neg (x)"),
        ["the input 'w' in the body", "the initializer 'v' in the body"],
    ),
    (graph(BRANCHES.format(then="w", other="k")), ["the initializer 'w' in the then branch of If 'If_1'"]),
    (graph(BRANCHES.format(then="w", other="w")), ["'w' in the then branch", "'w' in the else branch"]),
    (graph(NESTED), ["the input 'i' in the body of Loop 'Loop_0' in the body of Loop 'Loop_1'"]),
    (graph(SCAN, before="shape = Constant <value_ints = [3]> ()"), ["the input 'w' in the body of Scan 'Scan_3'"]),
]
#: Nothing of these names is visible where the body has them.
DISTINCT = [
    graph(loop()),
    graph(BRANCHES.format(then="k_then", other="k_else")),
    graph(BRANCHES.format(then="k", other="k")),  # each branch has its own
    graph(loop("later"), after="later = Neg (x) z = Add (y, later)"),
    graph(loop(constants="<float later = {5}>", other="later"), after="later = Neg (x) z = Add (y, later)"),
    graph(loop("y")),  # the result of the loop itself
    graph(loop("z")),
    graph(NESTED.replace("int64 i, bool d", "int64 j, bool d")),
    graph(f"{loop()} {loop().replace('y =', 'y2 =', 1)}"),  # two bodies next to each other
]


@pytest.mark.parametrize(("text", "wanted"), HIDES)
def test_each_hidden_name_has_a_note(text: str, wanted: list[str]) -> None:
    notes = load_proto(proto(text)).graph.notes
    assert len(notes) == len(wanted)
    for note, words in zip(notes, wanted, strict=True):
        rule = "B76" if note.startswith("the initializer") else "B37"
        assert words in note and "hides an outer value" in note and getattr(note, "rule", "") == rule


@pytest.mark.parametrize("text", DISTINCT)
def test_distinct_names_have_no_note(text: str) -> None:
    assert not load_proto(proto(text)).graph.notes


@pytest.mark.parametrize("text", [text for text, _ in HIDES] + DISTINCT)
def test_a_body_reads_its_own_value_as_in_onnxruntime(text: str) -> None:
    source = proto(text)
    feeds = {"x": np.array(2, np.float32), "p": np.array(True)}
    (theirs,) = onnxruntime.InferenceSession(source.SerializeToString()).run(None, feeds)
    assert load_proto(source).run(feeds)["z"] == theirs


def test_a_node_output_that_hides_an_outer_value_is_refused() -> None:
    """onnxruntime refuses it too, and a read before the node would be of either value."""
    text = graph(
        "y = If (p) <then_branch = t () => (float w) { w = Neg (x) }, else_branch = f () => (float e) { e = Abs (x) }>"
    )
    with raises_error(ModelError, node="Neg_0", op_type="Neg", name="w"):
        load_proto(proto(text))
