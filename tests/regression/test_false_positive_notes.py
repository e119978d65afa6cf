"""Notes stood on models of which they are not true; tests/conformance/test_peer_notes.py holds each against its
peer."""

from __future__ import annotations

import numpy as np

from loopdbg.runtime.graph import loops
from text_models import COUNT, model

SCALARS = """g (int64 n, string[k] words) => (string[t] said) {
  yes = Constant <value = bool {1}> ()
  said = Loop <body = b (int64 i, bool c) => (bool c2, string word) { c2 = Identity (c) word = Gather (words, i) }>
      (n, yes)
}"""
ROWS = """g (int64 n, string[2] words) => (string[t,2] said) {
  yes = Constant <value = bool {1}> ()
  said = Loop <body = b (int64 i, bool c) => (bool c2, string[2] row) { c2 = Identity (c) row = Identity (words) }>
      (n, yes)
}"""


def on_model(text: str) -> list[str]:
    return [note for loop in loops(model(text).graph) for note in loop.notes]


def test_scan_outputs_of_strings() -> None:
    assert on_model(SCALARS) == []
    assert ["first row" in note for note in on_model(ROWS)] == [True]


def test_a_trip_count_that_is_no_limit_either_way() -> None:
    def on_run(**inputs: object) -> list[str]:
        run = model(COUNT).execute({"v0": np.int64(0), "bound": np.int64(3), **inputs})
        return [note for loop in run.loops for note in loop.notes]

    assert on_run(M=np.int64(-1), cond=False) == []
    assert on_run(M=np.int64(2**32 + 5), cond=True) == []  # it ends before that
    assert len(on_run(M=np.int64(2**32 + 1), cond=True)) == 1
