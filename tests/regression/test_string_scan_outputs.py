"""A scan output of strings holds the rows of this entry alone; its elements may be single strings."""

from __future__ import annotations

from typing import Any

import numpy as np

import loopdbg
from text_models import model

ROWS = """
g (int64 n, string[1] s) => (string[n,1] rows) {
  yes = Constant <value = bool {1}> ()
  rows = Loop (n, yes) <body = b (int64 i, bool c) => (bool c2, string[1] r) {
    c2 = Identity (c)
    r = Identity (s)
  }>
}
"""

NESTED = """
g (int64 n, string[1] s) => (string[m,1] rows) {
  yes = Constant <value = bool {1}> ()
  rows = Loop (n, yes) <body = b (int64 i, bool c) => (bool c2, string[q,1] r) {
    c2 = Identity (c)
    two = Constant <value = int64 {2}> ()
    r = Loop (two, yes) <body = b2 (int64 j, bool d) => (bool d2, string[1] t) {
      d2 = Identity (d)
      t = Identity (s)
    }>
  }>
}
"""

SINGLE = """
g (string[2] words) => (string[2] spoken) {
  n = Constant <value = int64 {2}> ()
  yes = Constant <value = bool {1}> ()
  spoken = Loop (n, yes) <body = b (int64 i, bool c) => (bool c2, string word) {
    c2 = Identity (c)
    word = Gather <axis = 0> (words, i)
  }>
}
"""


def strings(*words: str) -> Any:
    return np.array(words, object)


def test_each_run_has_its_own_rows() -> None:
    m = model(ROWS)
    for n in (2, 3, 0, 1, 2):
        rows = m.run({"n": np.int64(n), "s": strings("a")})["rows"]
        assert rows.tolist() == [["a"]] * n


def test_each_entry_has_its_own_rows() -> None:
    m = model(NESTED)
    for n in (1, 3, 2):
        rows = m.run({"n": np.int64(n), "s": strings("a")})["rows"]
        assert rows.tolist() == [[["a"], ["a"]]] * n


def test_single_strings() -> None:
    m = model(SINGLE)
    session = loopdbg.debug(m, {"words": strings("a", "b")})
    session.continue_()
    for item in (m.run({"words": strings("a", "b")})["spoken"], session.outputs["spoken"]):
        assert item.tolist() == ["a", "b"]
