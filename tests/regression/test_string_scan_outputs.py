"""A scan output of strings holds the rows of this entry alone; its elements may be single strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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

# NumPy gives the one string of a scalar as a str, which was no tensor to stack.
SCALARS = {
    "Gather": "word = Gather (words, i)",
    "Squeeze of a slice": """one = Constant <value = int64 {1}> ()
        zero = Constant <value = int64[1] {0}> ()
        begin = Unsqueeze (i, zero)
        j = Add (i, one)
        end = Unsqueeze (j, zero)
        part = Slice (words, begin, end)
        word = Squeeze (part, zero)""",
    "Identity of a scalar": "word = Identity (single)",
}


def strings(*words: str) -> Any:
    return np.array(words, object)


def test_string_scan_output_has_rows_of_one_run() -> None:
    m = model(ROWS)
    for n in (2, 3, 0, 1, 2):
        rows = m.run({"n": np.int64(n), "s": strings("a")})["rows"]
        assert rows.tolist() == [["a"]] * n


def test_inner_string_scan_output_has_rows_of_one_entry() -> None:
    m = model(NESTED)
    for n in (1, 3, 2):
        rows = m.run({"n": np.int64(n), "s": strings("a")})["rows"]
        assert rows.tolist() == [[["a"], ["a"]]] * n


@pytest.mark.parametrize("what", SCALARS)
def test_single_strings(what: str) -> None:
    m = model(f"""g (int64 n, bool go, string[k] words, string single) => (string[t] rows) {{
      rows = Loop <body = b (int64 i, bool c) => (bool c2, string word) {{
        c2 = Identity (c)
        {SCALARS[what]}
      }}> (n, go)
    }}""")
    inputs = {"n": 3, "go": True, "words": strings("a", "bé", ""), "single": np.array("a", object)}
    session = loopdbg.debug(m, inputs)
    session.continue_()
    for item in (m.run(inputs)["rows"], session.outputs["rows"]):
        assert item.dtype == object and item.shape == (3,)
        assert item.tolist() == (["a"] * 3 if "Identity" in what else ["a", "bé", ""])
