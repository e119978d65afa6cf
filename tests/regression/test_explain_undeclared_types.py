"""In OpenVINO's words a sequence, and a value of no declared type, was float64: NumPy takes None for that."""

from __future__ import annotations

import pytest

from loopdbg.debugger.describe.explain import explain
from loopdbg.runtime.graph import System
from text_models import model

SEQUENCE = """g (int64 n, seq(float) s0) => (seq(float) s) {
  s = Loop <body = b (int64 i, bool c, seq(float) a) => (bool c2, seq(float) a2) {
    c2 = Identity (c) f = Cast <to = 1> (i) a2 = SequenceInsert (a, f) }> (n, , s0)
}"""
UNDECLARED = """g (int64 n, TYPE x0) => (s) {
  w = Identity (x0)
  s = Loop <body = b (int64 i, bool c, v) => (bool c2, v2) { c2 = Identity (c) v2 = Add (v, v) }> (n, , w)
}"""
DECLARED = (
    UNDECLARED.replace("(s)", "(TYPE s)").replace("bool c, v)", "bool c, TYPE v)").replace("c2, v2)", "c2, TYPE v2)")
)


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        (SEQUENCE, False),
        (UNDECLARED.replace("TYPE", "float"), False),
        (DECLARED.replace("TYPE", "float"), False),
        (DECLARED.replace("TYPE", "double"), True),
    ],
)
def test_float64_is_shown_only_for_float64(text: str, flag: bool) -> None:
    (result,) = explain(model(text), System.OPENVINO)
    assert any("float64" in line for line in result.terms.requirements) is flag
