"""Carried values of float32 and float16, or of int64 and int32, were stated to be on one side alone."""

from __future__ import annotations

import numpy as np
import pytest

from diff_checks import blamed_cause, compare_models, report_text
from loopdbg.debugger.compare.report.findings import Verdict

DOUBLE = """g (float[3] x) => (float[3] y) <int64 n = {TRIPS}, bool go = {1}> {
  x1 = Cast <to = CODE> (x)
  yh = Loop (n, go, x1) <body = b (int64 i, bool c, KIND[3] h) => (bool c2, KIND[3] h_next) {
    c2 = Identity (c)
    h_next = Add (h, h)
  }>
  y = Cast <to = 1> (yh)
}"""
POWER = """g (float[1,2] x) => (float[1,2] y) <int64 n = {6}, bool go = {1}> {
  x1 = Cast <to = CODE> (x)
  w = Constant <value = float[2,2] {43, 3, 3, 43}> ()
  w1 = Cast <to = CODE> (w)
  yh = Loop (n, go, x1) <body = b (int64 i, bool c, KIND[1,2] s) => (bool c2, KIND[1,2] s2) {
    c2 = Identity (c)
    m = MatMul (s, w1)
    sq = Mul (m, m)
    total = ReduceSum <keepdims = 1> (sq)
    s2 = Div (sq, total)
  }>
  y = Cast <to = 1> (yh)
}"""


def compare_dtypes(text: str, code: int, trips: int = 40) -> str:
    kind = {1: "float", 6: "int32", 7: "int64", 10: "float16"}[code]
    return text.replace("CODE", str(code)).replace("KIND", kind).replace("TRIPS", str(trips))


@pytest.mark.parametrize(("width", "narrow", "iteration"), [(1, 10, 14), (7, 6, 29)])
def test_the_first_iteration_out_of_range_is_named(width: int, narrow: int, iteration: int) -> None:
    x = np.float32([0.5, -1, 2] if narrow == 10 else [1, 2, 3])
    result = compare_models(compare_dtypes(DOUBLE, width), compare_dtypes(DOUBLE, narrow), x=x)
    (loop,) = result.loops
    assert loop.first is not None and (loop.first.name, loop.first.iteration) == ("h", iteration)
    assert not loop.only_left and not loop.only_right
    (seen,) = loop.boundary_headrooms
    if narrow == 10:
        assert (seen.limit, seen.largest, seen.iteration, seen.first_nonfinite_iteration) == (65504, 32768, 13, 14)
        assert "largest 32768 of the 65504 that float16 holds, headroom 2x" in report_text(result)


def test_the_node_that_leaves_the_range_is_named() -> None:
    result = compare_models(compare_dtypes(POWER, 1), compare_dtypes(POWER, 10), x=np.float32([[9, 9]]))
    assert result.first is not None and result.first.first is not None and result.first.first.iteration == 0
    assert blamed_cause(result) == "Mul sq"


def test_what_the_narrow_type_holds_is_the_same() -> None:
    result = compare_models(compare_dtypes(DOUBLE, 1, 10), compare_dtypes(DOUBLE, 10, 10), x=np.float32([0.5, -1, 2]))
    assert result.verdict is Verdict.SAME and result.loops[0].boundary_headrooms
