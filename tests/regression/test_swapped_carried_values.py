"""Two carried values that change places, the body returning one parameter for the other.

Whatever looks at a boundary sees what the next iteration gets: p is 12, 6, 12, 6 ...
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from text_models import model

SWAP = """
g (int64 n, TYPE p0, TYPE q0) => (TYPE p_last, TYPE q_last) {
  p_last, q_last = Loop (n, , p0, q0) <body = b (int64 i, bool c, TYPE p, TYPE q) => (bool c2, TYPE q, TYPE p) {
    c2 = Identity (c)
  }>
}
"""


def stops(kind: str, place: str) -> list[int]:
    def value(number: int) -> Any:
        return np.full((2,) if "[" in kind else (), number, "i8" if "int" in kind else "f4")

    session = loopdbg.debug(model(SWAP.replace("TYPE", kind)), {"n": np.int64(6), "p0": value(12), "q0": value(6)})
    session.watch(place[6:]) if place.startswith("watch ") else session.breakpoints.add(place)
    results: list[int] = []
    while not session.done:
        session.continue_()
        if not session.done:
            results.append(session.frame.iteration)
    return results


@pytest.mark.parametrize("kind", ["int64", "float", "float[2]"])
def test_breakpoints_see_them(kind: str) -> None:
    assert stops(kind, "if max(p) == 12") == [2, 4, 6]
    assert stops(kind, "if max(q) == 12") == [1, 3, 5]
    assert stops(kind, "watch p") == [1, 2, 3, 4, 5, 6]


def test_hot_loops_see_them() -> None:
    session = loopdbg.debug(
        model(SWAP.replace("TYPE", "int64")), {"n": np.int64(2001), "p0": np.int64(12), "q0": np.int64(6)}
    )
    session.breakpoints.add("if p == 6 and i > 1500")
    session.continue_()
    assert session.frame.iteration == 1501
    session.continue_()
    assert session.frame.iteration == 1503
