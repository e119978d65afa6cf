"""A node that gets two types where its operator has one ran without a word, or the back edge behind it was blamed."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from error_fields import raises_error
from text_models import model

ADD = """g (int64 k0) => (int64 last) <bool go = {1}, KIND one = {1}, KIND limit = {5}> {
  last = Loop (, go, k0) <body = b (int64 i, bool c, int64 k) => (bool c2, int64 k2) {
    [increase] k2 = Add (k, one)
    [test] c2 = Less (k2, limit)
  }>
}"""
BIAS = """g (float16[2] x) => (float16[2] y) <int64 n = {5}, bool go = {1}> {
  b32 = Constant <value = float[2] {1, 2}> ()
  bias = Cast <to = CODE> (b32)
  y = Loop (n, go, x) <body = b (int64 i, bool c, float16[2] s) => (bool c2, float16[2] s2) {
    c2 = Identity (c)
    [add_bias] s2 = Add (s, bias)
  }>
}"""
BRANCHES = """g (float16[2] x, bool p) => (float16[2] y) {
  [choose] y = If (p) <
    then_branch = th () => (float16[2] t) { t = Add (x, x) },
    else_branch = el () => (KIND[2] e) { e = Cast <to = CODE> (x) }
  >
}"""
NUMBER = """g (float x) => (float y) <int64 n = {3}> {
  y = Loop (n, , x) <body = b (KIND i, bool c, float h) => (bool c2, float k) { c2 = Identity (c) k = Neg (h) }>
}"""


def notes(m: loopdbg.Model) -> list[str]:
    return list(m.graph.notes)


@pytest.mark.parametrize(
    ("bad", "good", "words"),
    [
        (
            ADD.replace("KIND", "int32"),
            ADD.replace("KIND", "int64"),
            ("Add 'increase'", "'k' (int64)", "'one' (int32)"),
        ),
        (BIAS.replace("CODE", "1"), BIAS.replace("CODE", "10"), ("Add 'add_bias'", "(float16)", "'bias' (float32)")),
        (
            BRANCHES.replace("KIND", "float").replace("CODE", "1"),
            BRANCHES.replace("KIND", "float16").replace("CODE", "10"),
            ("If 'choose'", "'t' (float16)", "'e' (float32)"),
        ),
        (NUMBER.replace("KIND", "int32"), NUMBER.replace("KIND", "int64"), ("'i' as int32",)),
    ],
)
def test_the_node_is_named(bad: str, good: str, words: tuple[str, ...]) -> None:
    messages = [note for note in notes(model(bad)) if all(word in note for word in words)]
    assert len(messages) == 1 and "onnxruntime" in messages[0]
    assert not notes(model(good))


def test_the_runtimes_refuse_it() -> None:
    import onnxruntime

    from text_models import proto

    for text in (ADD.replace("KIND", "int32"), BIAS.replace("CODE", "1"), NUMBER.replace("KIND", "int32")):
        with pytest.raises(Exception, match=r"(?i)type"):
            onnxruntime.InferenceSession(proto(text.replace("(, go", '("", go')).SerializeToString())


def test_an_error_at_the_back_edge_names_the_node() -> None:
    m = model(BIAS.replace("CODE", "1"))
    with raises_error(loopdbg.ExecutionError, loop="Loop_2", iteration=0, name="s", expected="float16", got="float32"):
        m.run({"x": np.float16([1, 1])})
