"""Facts about a large value hold wherever the same value occurs again, and nowhere else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from loopdbg import Session, load
from loopdbg.debugger.frame_state import FrameState
from loopdbg.debugger.session.stop_state import read_stop
from loopdbg.debugger.statistics import tensor_statistics
from loopdbg.debugger.statistics.tensor_statistics import (
    REFERENCE_MIN_BYTES,
    TensorChange,
    TensorRef,
    TensorStatistics,
    compute_change,
)
from loopdbg.runtime.errors import UsageError

N = REFERENCE_MIN_BYTES // 4
#: An inner loop, an If with alternating branches, a result on two back edges, a value passed on unchanged, a value
#: computed outside, and one that stays the same in a body.
NESTED = """
<ir_version: 10, opset_import: ["" : 21]>
main (int64 m, float[N] x0, float[N] w) => (float[N] x_last, float[N] z_last, float[K, N] rows) {
  doubled = Add (w, w)
  x_last, z_last, kept, twice, rows = Loop <
    body = outer (int64 i, bool c, float[N] x, float[N] z, float[N] k, float[N] t)
      => (bool go, float[N] y, float[N] inner_last, float[N] k, float[N] y, float[N] row) {
    go = Identity (c)
    two = Constant <value_int: int = 2> ()
    zero = Constant <value_int: int = 0> ()
    odd = Mod (i, two)
    even = Equal (odd, zero)
    same = Neg (w)
    part = If (even) <
      then_branch = yes () => (float[N] a) { a = Add (x, doubled) },
      else_branch = no () => (float[N] b) { b = Sub (x, z) }
    >
    half = Constant <value_float: float = 0.5> ()
    y = Mul (part, half)
    inner_last = Loop <body = inner (int64 j, bool d, float[N] h) => (bool on, float[N] h2) {
      on = Identity (d)
      g = Add (h, y)
      h2 = Mul (g, half)
    }> (two, , z)
    row = Add (inner_last, same)
  }> (m, , x0, w, w, x0)
}
"""


def open_session(tmp_path: Any, m: int = 5) -> Session:
    path = tmp_path / "nested.onnxtxt"
    path.write_text(NESTED)
    numbers = np.random.default_rng(0)
    return Session(
        load(path),
        {
            "m": m,
            "x0": numbers.standard_normal(N).astype(np.float32),
            "w": numbers.standard_normal(N).astype(np.float32),
        },
    )


def large(frame: FrameState) -> Iterator[TensorRef]:
    values = [*frame.values.values(), *(value for _, value in frame.captures)]
    for edge in frame.back_edges:
        values += [edge.previous, edge.value]
    yield from (value for value in values if isinstance(value, TensorRef))


def statistics_facts(statistics: TensorStatistics) -> tuple[Any, ...]:
    return (
        statistics.size,
        statistics.min,
        statistics.max,
        statistics.min_at,
        statistics.max_at,
        statistics.mean,
        statistics.norm,
        statistics.zeros,
    )


def check(session: Session) -> int:
    """Check all facts reported at a stop."""
    looked = 0
    for frame in read_stop(session).frames:
        for value in large(frame):
            assert statistics_facts(value.statistics) == statistics_facts(TensorStatistics(np.asarray(value)))
            looked += 1
        for edge in frame.back_edges:
            before, after = edge.previous, edge.value
            if isinstance(before, TensorRef) and isinstance(after, TensorRef):
                result, fresh = compute_change(before, after), TensorChange()
                fresh.add(np.asarray(before), np.asarray(after))
                assert (result.size, result.same, result.largest) == (fresh.size, fresh.same, fresh.largest)
    return looked


@pytest.mark.parametrize("seed", range(4))
def test_value_facts_hold_after_any_move(seed: int, tmp_path: Any) -> None:
    session, dice, looked, edits = open_session(tmp_path), random.Random(seed), 0, 0
    moves = {
        "step": session.step,
        "next": session.next_node,
        "into": session.into,
        "finish": session.finish,
        "back": session.back,
        "back node": session.back_node,
        "restart": session.restart,
    }
    for _ in range(50):
        word = dice.choice([*moves, "step", "next", "next", "set", "set", "set"])
        try:
            if word == "set":
                name = dice.choice(["x", "z", "y", "h", "w", "doubled"])
                session.set(name, np.full(N, dice.random(), np.float32))
                edits += 1
            else:
                moves[word]()
        except UsageError:
            continue
        looked += check(session)
    assert looked > 100 and edits > 1


def test_value_is_read_once(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(tmp_path)
    seen: list[int] = []
    look = tensor_statistics.accumulate_pass

    def counted(part: Any, *others: Any) -> bool:
        seen.append(part.size)
        return look(part, *others)

    monkeypatch.setattr(tensor_statistics, "accumulate_pass", counted)

    def passes() -> float:
        seen.clear()
        for value in large(read_stop(session).frames[-1]):
            _ = value.statistics
        for edge in read_stop(session).frames[-1].back_edges:
            if isinstance(edge.previous, TensorRef) and isinstance(edge.value, TensorRef):
                compute_change(edge.previous, edge.value)
        return sum(seen) / N

    session.step()
    passes()
    session.step()
    # What the iteration computed: y, inner_last, the If's output, one of its branches, same, row. A value on two back
    # edges is computed once and received by two parameters; their earlier values are known.
    new = passes()
    assert 5 <= new <= 9
    assert passes() == 0, "the same stop"
    session.back()
    assert passes() <= 2, "what was known of it is known still"
    session.step()
    assert passes() == 0
