"""Notes reported for onnxruntime effects on the main graph alone, but not on hidden names and on branches that
return outer values."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from text_models import load_proto, proto

BODY = """g (float x) => (float y) <int64 n = {3}> {
  y = Loop (n, , x) <body = b (int64 i, bool c, float s) => (bool c2, float s2) {
    a = Mul (s, s)
    s2 = Add (a, s)
    c2 = Identity (c)
  }>
}"""
MAIN = "g (float x) => (float z) { a = Mul (x, x) z = Add (a, x) }"
SHADOW = """g (float x) => (float z) <int64 n = {3}, float w = {1}> {
  y = Loop (n, , x) <body = b (int64 i, bool c, float s) => (bool c2, float s2) { s2 = Add (s, w) c2 = Identity (c) }>
  z = Add (y, w)
}"""
BRANCH = """g (float x, bool p) => (float y) {
  [choose] y = If (p) <then_branch = th () => (float x) { }, else_branch = el () => (float e) { e = Neg (x) }>
}"""


def body_of(source: onnx.ModelProto) -> onnx.GraphProto:
    return next(a.g for node in source.graph.node for a in node.attribute if a.name == "body")


def exchanged(source: onnx.ModelProto, graph: onnx.GraphProto) -> onnx.ModelProto:
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    del graph.node[:]
    graph.node.extend([nodes[1], nodes[0], *nodes[2:]])
    return source


def opens(source: onnx.ModelProto) -> bool:
    """Whether onnxruntime takes it."""
    try:
        onnxruntime.InferenceSession(source.SerializeToString())
    except Exception:
        return False
    return True


@pytest.mark.parametrize("inside", [False, True])
def test_an_order_in_which_nodes_cannot_run(inside: bool) -> None:
    source = proto(BODY if inside else MAIN)
    exchanged(source, body_of(source) if inside else source.graph)
    assert opens(source) is not inside
    (note,) = load_proto(source).graph.notes
    assert ("each refuses this body" in note) is inside and ("sorts them as well" in note) is not inside


def test_a_name_that_is_hidden() -> None:
    source = proto(SHADOW)
    body_of(source).initializer.append(numpy_helper.from_array(np.float32(100), "w"))
    assert opens(source)
    m = load_proto(source)
    (note,) = m.graph.notes
    assert "the initializer 'w'" in note and "hides an outer value" in note
    assert m.run({"x": np.float32(1)})["z"] == 302


def test_a_branch_that_returns_an_outer_value() -> None:
    source = proto(BRANCH)
    assert not opens(source)
    (note,) = load_proto(source).graph.notes
    assert "onnxruntime refuses If 'choose': its then branch returns the outer value 'x'" in note


SHARED = """g (float x, bool p) => (float y, float z) {
  [choose] y, z = If (p) <then_branch = th () => (float a, float b) { a = Neg (x) BRANCH },
    else_branch = el () => (float e, float f) { e = Abs (x) f = Exp (x) }>
}"""


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_that_lists_a_value_twice(shared: bool, taken: bool) -> None:
    """onnxruntime writes the last of the outputs alone."""
    text = (
        SHARED.replace("float b", "float a").replace("BRANCH", "")
        if shared
        else SHARED.replace("BRANCH", "b = Abs (a)")
    )
    source = proto(text, 20)
    # Another number in each case, so that no memory holds the right one by chance.
    feeds = {"x": np.array(-1000.5 - 2 * shared - taken, np.float32), "p": np.array(taken)}
    theirs = onnxruntime.InferenceSession(source.SerializeToString()).run(None, feeds)
    run = load_proto(source).execute(feeds)
    assert (list(run.outputs.values()) == theirs) is not (shared and taken)
    results = [note for note in run.notes if "uninitialised memory as 'y'" in note]
    assert len(results) == shared
    for note in results:
        assert "the then branch of If 'choose' (opset 20), if taken, lists 'a'" in note and "writes 'z' only" in note
