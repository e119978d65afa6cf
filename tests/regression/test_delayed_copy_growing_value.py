"""Back edges that take a growing value one iteration later have its shape and memory, in any order of edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import loopdbg
from text_models import model

RESULTS = {"a": "a2", "prev": "a", "before": "prev"}


def chain(order: tuple[str, ...], width: int, iterations: int) -> loopdbg.Model:
    """a grows by a row an iteration; prev is the a before it, before the prev before that."""
    carried = ", ".join(f"float[r_{name},{width}] {name}" for name in order)
    results = ", ".join(f"float[s_{name},{width}] {RESULTS[name]}" for name in order)
    return model(f"""
    g (float[1,{width}] x) => (float[k] sums, float[l] older, float[z,{width}] prev_last) {{
      n = Constant <value = int64 {{{iterations}}}> ()
      yes = Constant <value = bool {{1}}> ()
      {", ".join(f"{name}_last" for name in order)}, sums, older = Loop (n, yes, x, x, x)
        <body = b (int64 i, bool c, {carried}) => (bool c2, {results}, float sum, float old) {{
          c2 = Identity (c)
          a2 = Concat <axis = 0> (a, x)
          sum = ReduceSum <keepdims = 0> (prev)
          old = ReduceSum <keepdims = 0> (before)
        }}>
    }}""")


@pytest.mark.parametrize("order", list(itertools.permutations(RESULTS)))
@pytest.mark.parametrize(("width", "iterations"), [(10, 8), (1, 60), (5000, 8)])
def test_delayed_copies(order: tuple[str, ...], width: int, iterations: int) -> None:
    m = chain(order, width, iterations)
    feed = {"x": np.ones((1, width), np.float32)}
    prev = np.array([1, *range(1, iterations)])
    older = np.array([1, 1, *range(1, iterations - 1)])
    for _ in range(2):
        outputs = m.run(feed)
        np.testing.assert_array_equal(outputs["sums"], prev * width)
        np.testing.assert_array_equal(outputs["older"], older * width)
        assert outputs["prev_last"].shape == (iterations, width)
    session = loopdbg.debug(m, feed)
    rows = []
    for _ in range(iterations):
        carried = session.frame.carried
        assert all((carried[name] == 1).all() for name in RESULTS)
        rows.append([carried[name].shape[0] for name in RESULTS])
        session.step()
    assert rows == [list(row) for row in zip(range(1, iterations + 1), prev, older, strict=True)]
    session.back()
    session.continue_()
    np.testing.assert_array_equal(session.outputs["sums"], prev * width)
