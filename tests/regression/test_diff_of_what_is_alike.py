"""Of a chain of nodes that are alike, or of ports that are alike, one was taken for another: a reader further on, or an
output, was listed instead of what was changed, or nothing at all."""

from __future__ import annotations

import numpy as np

from differing import compared, entries, told
from loopdbg.debugger.diff.findings import Verdict
from loopdbg.debugger.diff.sides import ModelSide
from loopdbg.debugger.diff.streams import Options, compare_sides
from models import model

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


def test_a_node_of_a_chain_is_gone() -> None:
    found = compared(CHAIN, CHAIN.replace("t1 = Not (yes)", "").replace("Not (t1)", "Not (yes)"), yes=True)
    assert entries(found) == [("inputs", "t16")]


def test_a_node_has_come_into_a_chain_that_is_collected() -> None:
    longer = COLLECTED.replace("t7 = Add (h, h)", "t9 = Add (h, h)  t7 = Add (t9, h)")
    assert entries(compared(COLLECTED, longer, x=F32([1, -2]))) == [("inputs", "t7")]


def test_a_chain_in_which_no_name_tells() -> None:
    shorter = CHAIN.replace("t1 = Not (yes)", "").replace("t16 = Not (t1)", "k0 = Not (yes)").replace("t16", "k0")
    assert entries(compared(CHAIN, shorter, yes=True)) == [("inputs", "t16")]


def test_two_scan_outputs_that_change_places() -> None:
    turned = SCANS.replace("u = Identity (s1)", "u = Identity (s2)").replace("v = Identity (s2)", "v = Identity (s1)")
    assert turned != SCANS
    found = compared(SCANS, turned, x=F32([1, -2]))
    assert entries(found) == [("scan output", "us"), ("scan output", "vs")]


def test_two_states_that_are_alike_begin_with_each_others_values() -> None:
    other = STATES.replace("(n, go, p, q)", "(n, go, q, p)").replace("h5", "k8").replace("h6", "k9")
    found = compared(STATES, other, p=F32([1, -2]), q=F32([3, 1]))
    assert entries(found) == [("initial value", "h5"), ("initial value", "h6")]


def test_two_last_values_that_change_places() -> None:
    turned = LASTS.replace("Neg (t3)", "Neg (t0)").replace("Neg (t4)", "Neg (t3)").replace("t0", "t4")
    assert entries(compared(LASTS, turned, p=F32([1, -2]))) == [("inputs", "a"), ("inputs", "b")]


def test_scan_outputs_in_another_order() -> None:
    turned = SCANS.replace("y, us, vs", "y, vs, us").replace("float[2] u, float[2] v", "float[2] v, float[2] u")
    found = compared(SCANS, turned, x=F32([1, -2]))
    assert entries(found) == [] and found.verdict is Verdict.SAME


def test_what_is_matched_crosswise_is_told() -> None:
    text = SCANS.replace("us, float[k, 2] vs)", "a, float[k, 2] b)").removesuffix("}") + "a = Neg (us)  b = Neg (vs) }"
    sides = [ModelSide(model(text), {"x": F32([1, -2])}, None, label) for label in ("left", "right")]
    found = compare_sides(sides[0], sides[1], Options(names={"us": "vs", "vs": "us"}))
    assert entries(found)[-2:] == [("inputs", "a"), ("inputs", "b")]
    assert "which stands for vs" in told(found)


def test_a_shape_that_was_folded() -> None:
    folded = SHAPES.replace("dims = Shape (x)", "").replace("Gather (dims, first)", "Constant <value = int64 {1}> ()")
    found = compared(SHAPES, folded, x=F32([[1, -2]]))
    assert entries(found) == [] and found.verdict is Verdict.SAME
