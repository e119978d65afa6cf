"""Of a chain of nodes that are alike, or of ports that are alike, one was taken for another: a reader further on, or an
output, was listed instead of what was changed, or nothing at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_runner import save_text_model
from diff_checks import compare_models, static_differences
from loopdbg.debugger.compare.report.findings import Verdict
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.runtime.model import load
from text_models import model

F32 = np.float32
CHAIN = """g (bool yes) => (bool y) { t1 = Not (yes)  t16 = Not (t1)  y = Identity (t16) }"""
COLLECTED = """g (float[2] x) => (float[2] y, float[k, 2] ys) <int64 n = {3}, bool go = {1}> {
  y, ys = Loop (n, go, x) <body = b (int64 i, bool c, float[2] h) => (bool c2, float[2] h2, float[2] collected) {
    c2 = Identity (c)
    t7 = Add (h, h)
    h2 = Neg (h)
    collected = Identity (t7)
  }>
}"""
SCANS = """g (float[2] x) => (float[2] y, float[k, 2] us, float[k, 2] vs) <int64 n = {3}, bool go = {1}> {
  y, us, vs = Loop (n, go, x) <body = b (int64 i, bool c, float[2] h)
      => (bool c2, float[2] h2, float[2] u, float[2] v) {
    c2 = Identity (c)
    h2 = Neg (h)
    s1 = Exp (h)
    s2 = Tanh (h)
    u = Identity (s1)
    v = Identity (s2)
  }>
}"""
STATES = """g (float[2] p, float[2] q) => (float[2] a, float[2] b) <int64 n = {3}, bool go = {1}> {
  t3, t4 = Loop (n, go, p, q) <body = b (int64 i, bool c, float[2] h5, float[2] h6)
      => (bool c2, float[2] r5, float[2] r6) {
    c2 = Identity (c)
    r5 = Tanh (h5)
    r6 = Tanh (h6)
  }>
  a = Neg (t3)
  b = Exp (t4)
}"""
LASTS = """g (float[2] p) => (float[2] a, float[2] b) <int64 n = {3}, bool go = {1}> {
  t3, t4 = Loop (n, go, p, p) <body = b (int64 i, bool c, float[2] h5, float[2] h6)
      => (bool c2, float[2] r5, float[2] r6) {
    c2 = Identity (c)
    r5 = Tanh (h5)
    r6 = Sin (h6)
  }>
  a = Neg (t3)
  b = Neg (t4)
}"""
SHAPES = """g (float[1, 2] x) => (int64 y) <int64 n = {3}, bool go = {1}, int64 first = {0}> {
  y = Loop (n, go, first) <body = b (int64 i, bool c, int64 h) => (bool c2, int64 h2) {
    c2 = Identity (c)
    dims = Shape (x)
    h2 = Gather (dims, first)
  }>
}"""
TAKEN_IN_TURN = """g (float[2] p, float[2] q) => (float[2] a, float[2] b, float[2] c) <int64 n = {3}, bool go = {1}> {
  a, b, c = Loop (n, go, p, q, q) <body = b (int64 i, bool c, float[2] first, float[2] second, float[2] third)
      => (bool c2, float[2] r1, float[2] r2, float[2] r3) {
    c2 = Identity (c)
    r1 = Identity (second)
    r2 = Identity (first)
    r3 = Identity (second)
  }>
}"""
TWICE = """g (float[1] x) => (float[1] a, float[1] b)
<int64 n = {3}, bool go = {1}, float[1] k = {1}, float[1] w = {1}> {
  a, b = Loop (n, go, w, x) <body = b (int64 i, bool c, float[1] h, float[1] g) => (bool c2, float[1] h2, float[1] g2) {
    c2 = Identity (c)
    g2 = Add (g, h)
    h2 = Identity (k)
  }>
}"""
UNLIKE = """g (float[2] x) => (float[2] a, float[2] b, float[k, 2] bs) <int64 n = {3}, bool go = {1}> {
  a = Loop (n, go, x) <body = b1 (int64 i, bool c, float[2] h) => (bool c2, float[2] h2) {
    c2 = Identity (c)
    h2 = Tanh (h)
  }>
  b, bs = Loop (n, go, x) <body = b2 (int64 i2, bool d, float[2] g) => (bool d2, float[2] g2, float[2] part) {
    d2 = Less (i2, n)
    g2 = Tanh (g)
    part = Identity (g2)
  }>
}"""


def test_a_node_of_a_chain_is_gone() -> None:
    result = compare_models(CHAIN, CHAIN.replace("t1 = Not (yes)", "").replace("Not (t1)", "Not (yes)"), yes=True)
    assert static_differences(result) == [("node omitted", "t1")]


def test_a_node_has_come_into_a_chain_that_is_collected() -> None:
    longer = COLLECTED.replace("t7 = Add (h, h)", "t9 = Add (h, h)  t7 = Add (t9, h)")
    assert static_differences(compare_models(COLLECTED, longer, x=F32([1, -2]))) == [("node added", "t9")]


def test_a_chain_in_which_no_name_tells() -> None:
    shorter = CHAIN.replace("t1 = Not (yes)", "").replace("t16 = Not (t1)", "k0 = Not (yes)").replace("t16", "k0")
    assert static_differences(compare_models(CHAIN, shorter, yes=True)) == [("node omitted", "t16")]


def test_two_scan_outputs_that_change_places() -> None:
    turned = SCANS.replace("u = Identity (s1)", "u = Identity (s2)").replace("v = Identity (s2)", "v = Identity (s1)")
    assert turned != SCANS
    result = compare_models(SCANS, turned, x=F32([1, -2]))
    assert static_differences(result) == [("scan output", "us"), ("scan output", "vs")]


def test_two_states_that_are_alike_begin_with_each_others_values() -> None:
    other = STATES.replace("(n, go, p, q)", "(n, go, q, p)").replace("h5", "k8").replace("h6", "k9")
    result = compare_models(STATES, other, p=F32([1, -2]), q=F32([3, 1]))
    assert static_differences(result) == [("initial value", "h5"), ("initial value", "h6")]


def test_two_last_values_that_change_places() -> None:
    turned = LASTS.replace("Neg (t3)", "Neg (t0)").replace("Neg (t4)", "Neg (t3)").replace("t0", "t4")
    assert static_differences(compare_models(LASTS, turned, p=F32([1, -2]))) == [("operand", "a"), ("operand", "b")]


def test_last_values_of_states_that_take_each_others_change_places() -> None:
    turned = TAKEN_IN_TURN.replace("a, b, c = Loop", "a, c, b = Loop")
    for old, new in (("first", "t1"), ("second", "t2"), ("third", "t3")):
        turned = turned.replace(old, new)
    result = compare_models(TAKEN_IN_TURN, turned, p=F32([1, -2]), q=F32([3, 1]))
    assert static_differences(result) == [("output order", "b"), ("output order", "c")]


def test_a_node_has_come_before_one_of_two_constants_that_are_alike() -> None:
    """Neither name nor number tells which constant is which: each is there as often as before, so none was changed."""
    longer = TWICE.replace("h2 = Identity (k)", "t0 = Neg (t8)  h2 = Identity (t0)")
    longer = longer.replace("[1] k =", "[1] t8 =").replace("w", "t9").replace("h", "t7").replace("t72", "t5")
    assert static_differences(compare_models(TWICE, longer, x=F32([1]))) == [("node added", "t0")]


def test_loops_of_two_systems_are_not_matched_crosswise(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    source = save_text_model(tmp_path, UNLIKE, "a.onnx")
    openvino.save_model(openvino.convert_model(source), tmp_path / "a.xml", compress_to_fp16=False)
    result = compare_models(load(source), load(tmp_path / "a.xml"), x=F32([1, -2]))
    assert [(loop.left, loop.right) for loop in result.loops] == [
        ("main ▸ Loop_0", "main ▸ a"),
        ("main ▸ Loop_1", "main ▸ bs"),
    ]
    assert static_differences(result) == [] and result.verdict is Verdict.SAME


def test_scan_outputs_in_another_order() -> None:
    turned = SCANS.replace("y, us, vs", "y, vs, us").replace("float[2] u, float[2] v", "float[2] v, float[2] u")
    result = compare_models(SCANS, turned, x=F32([1, -2]))
    assert static_differences(result) == [] and result.verdict is Verdict.SAME


def test_crosswise_match_is_reported() -> None:
    text = SCANS.replace("us, float[k, 2] vs)", "a, float[k, 2] b)").removesuffix("}") + "a = Neg (us)  b = Neg (vs) }"
    sides = [ModelSide(model(text), {"x": F32([1, -2])}, None, label) for label in ("left", "right")]
    result = compare_sides(sides[0], sides[1], ComparisonOptions(names={"us": "vs", "vs": "us"}))
    assert static_differences(result) == [("scan output", "us"), ("scan output", "vs")]


def test_a_shape_that_was_folded() -> None:
    folded = SHAPES.replace("dims = Shape (x)", "").replace("Gather (dims, first)", "Constant <value = int64 {1}> ()")
    result = compare_models(SHAPES, folded, x=F32([[1, -2]]))
    assert static_differences(result) == [] and result.verdict is Verdict.SAME
