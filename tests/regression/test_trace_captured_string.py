"""A scan output of one string of the outer graph: recording it failed, and hooks were shown a string of fixed width."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recordings import assert_same_boundary, record_run
from text_models import model

TEXT = """
g (int64 M, string s) => (string q, string[N] own, string[N] outer) {
  q, own, outer = Loop <body = body (int64 i, bool c, string a) => (bool d, string b, string e, string s) {
    d = Identity (c)
    b = Identity (a)
    e = Identity (a)
  }> (M, , s)
}
"""


def test_single_strings_are_recorded_as_they_are_shown(tmp_path: Path) -> None:
    trace, seen, run = record_run(tmp_path / "run.loopdb", model(TEXT), {"M": 2, "s": np.array("hello", object)})
    assert run.outputs["outer"].tolist() == ["hello", "hello"]
    for a, b in zip(trace.boundaries(), seen, strict=True):
        assert_same_boundary(a, b)
    assert {name: value.dtype for name, value in seen[-1].scanned.items()} == {
        "own": np.dtype(object),
        "outer": np.dtype(object),
    }
