"""Predicates and records: what native code sees at each boundary is what a hook in Python sees there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import loopdbg
from comparable_values import exact_bits
from engine_state import resume, slot_index
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.ops.registry import ResolvedOperator
from optimizer_access import optimizer_of, requires_optimizer
from text_models import BRANCHES, COUNT, NESTED, SUM, model

from .test_checkpoints import EDGES, GROW, INNER_SCANS, SEQUENCE, started

Ask = Callable[..., Any]


def question(function: Ask) -> ResolvedOperator:
    return ResolvedOperator(function, {})


def above_threshold(bound: float) -> ResolvedOperator:
    return question(lambda p, x: p.map(np.greater, x, p.constant(np.array(bound, x.dtype))))


def stops(engine: Engine) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Every stop by a predicate until the end: loop, iterations of the stack, and which were true."""
    hits = []
    while (what := resume(engine))[0] == "predicate":
        hits.append((what[1], tuple(engine.loop_state(k)[0] for k in engine.stack), engine.monitor.hits))
    assert what[0] == "end", what
    return hits


HOT = pytest.mark.parametrize("hot_after", [-1, 1])


@HOT
def test_a_predicate_stops_at_the_first_boundary_where_it_is_true(hot_after: int) -> None:
    m = model(COUNT)
    engine = started(m, {"M": 60, "cond": True, "v0": 0, "bound": 50}, hot_after)
    key = engine.monitor.add_predicate(0, above_threshold(30), [slot_index(m, "v_in")])
    assert resume(engine) == ("predicate", 0)
    assert engine.monitor.hits == (key,)
    assert engine.monitor.is_native(key)
    frame = Frame(engine, 0)
    assert frame.at_boundary
    assert frame.iteration == frame.carried["v_in"] == 31
    assert frame.back_edges[0].previous == 30
    assert optimizer_of(engine).program_runs > 0 or hot_after < 0
    assert resume(engine) == ("predicate", 0)  # the same boundary does not stop again
    assert engine.loop_state(0)[0] == 32
    engine.monitor.enable_predicate(key, False)
    assert resume(engine)[0] == "end"
    engine.start(m.check({"M": 60, "cond": True, "v0": 0, "bound": 50}))
    assert resume(engine)[0] == "end"
    engine.monitor.enable_predicate(key)
    engine.start(m.check({"M": 60, "cond": True, "v0": 0, "bound": 50}))
    assert len(stops(engine)) == 50 - 30  # the boundary where the loop ends is one as well
    engine.monitor.remove_predicate(key)
    engine.start(m.check({"M": 60, "cond": True, "v0": 0, "bound": 50}))
    assert stops(engine) == []
    with pytest.raises(loopdbg.UsageError, match="no predicate"):
        engine.monitor.remove_predicate(key)


@pytest.mark.parametrize("hot_after", [-1, 1, 5])
def test_predicates_stop_where_true_whichever_are_enabled(hot_after: int) -> None:
    """Sets of predicates that return use the program for them, and no other one."""
    m = model(COUNT)
    inputs = {"M": 60, "cond": True, "v0": 0, "bound": 50}
    engine = started(m, inputs, hot_after)
    bounds: dict[int, int] = {}
    choices = np.random.default_rng(1)

    def expected(enabled: set[int]) -> set[tuple[int, int]]:
        return {(key, i) for key in enabled for i in range(bounds[key] + 1, 51)}

    for turn in range(24):
        if turn in (0, 1, 9, 17):
            bound = int(choices.integers(20, 48))
            bounds[engine.monitor.add_predicate(0, above_threshold(bound), [slot_index(m, "v_in")])] = bound
        if turn == 13:
            key = next(iter(bounds))
            engine.monitor.remove_predicate(key)
            del bounds[key]
        enabled = {key for key in bounds if choices.integers(2)}
        for key in bounds:
            engine.monitor.enable_predicate(key, key in enabled)
        engine.start(m.check(inputs))
        seen = {(key, iterations[0]) for _, iterations, keys in stops(engine) for key in keys}
        assert seen == expected(enabled)


@requires_optimizer
def test_program_is_kept_while_predicates_are_disabled_and_enabled() -> None:
    m = model(COUNT)
    inputs = {"M": 60, "cond": True, "v0": 0, "bound": 50}
    engine = started(m, inputs, 40)
    first, never = (
        engine.monitor.add_predicate(0, above_threshold(bound), [slot_index(m, "v_in")]) for bound in (1, 99)
    )
    for turn in range(4):
        engine.monitor.enable_predicate(first)
        engine.start(m.check(inputs))
        assert resume(engine) == ("predicate", 0)
        assert engine.monitor.hits == (first,)
        engine.monitor.enable_predicate(first, False)
        engine.stop_at(0, 20)
        assert resume(engine) == ("boundary", 0)
        # A run makes its program at iteration 40. That of the first one ends with its execution.
        assert (optimizer_of(engine).program_runs > 0) == (turn > 1)
        engine.clear_stops()
        assert resume(engine)[0] == "end"
    assert engine.monitor.is_native(never)


@HOT
def test_several_predicates_and_which_are_true(hot_after: int) -> None:
    m = model(COUNT)
    engine = started(m, {"M": 20, "cond": True, "v0": 0, "bound": 100}, hot_after)
    v = slot_index(m, "v_in")
    first = engine.monitor.add_predicate(0, above_threshold(17), [v])
    third = engine.monitor.add_predicate(0, question(lambda p, x: p.map(np.equal, x, p.constant(np.int64(5)))), [v])
    both = engine.monitor.add_predicate(0, above_threshold(18), [v])
    assert [(i, hits) for _, (i,), hits in stops(engine)] == [
        (5, (third,)),
        (18, (first,)),
        (19, (first, both)),
        (20, (first, both)),
    ]


@HOT
def test_what_can_be_read_at_a_boundary(hot_after: int) -> None:
    m = model(SUM)
    engine = started(m, {"M": 40, "v0": 1.0}, hot_after)
    v = slot_index(m, "v_in")
    previous, iteration = engine.monitor.previous_slot(0, 0), engine.monitor.iteration_slot(0)
    seen: list[tuple[Any, ...]] = []

    def same_as_frame(index: int) -> bool:
        frame = Frame(engine, index)
        seen.append((frame.iteration, frame.carried["v_in"], frame.back_edges[0].previous))
        return False

    def jump(p: Any, now: Any, before: Any, i: Any) -> Any:
        """delta(v) == i - 1 always holds in this model."""
        moved = p.map(np.subtract, now, before)
        return p.map(np.not_equal, moved, p.map(np.subtract, p.cast(i, now.dtype), p.constant(np.float32(1))))

    wrong = engine.monitor.add_predicate(0, question(jump), [v, previous, iteration], needs_body=True)
    far = engine.monitor.add_predicate(
        0,
        question(lambda p, i, n: p.map(np.equal, i, p.map(np.subtract, n, p.constant(np.int64(3))))),
        [iteration, engine.monitor.trip_count_slot(0)],
    )
    late = engine.monitor.add_predicate(0, above_threshold(36), [slot_index(m, "i")])
    ends = engine.monitor.add_predicate(
        0, question(lambda p, c: p.map(np.logical_not, c)), [engine.monitor.condition_slot(0)]
    )
    assert [(i, hits) for _, (i,), hits in stops(engine)] == [
        (37, (far, late)),
        *((i, (late,)) for i in (38, 39, 40)),
    ]
    assert engine.monitor.is_native(wrong)
    assert engine.monitor.is_native(ends)
    assert not seen
    assert optimizer_of(engine).program_runs > 0 or hot_after < 0


@HOT
def test_the_condition_and_a_body_value(hot_after: int) -> None:
    m = model(COUNT)
    inputs = {"M": 60, "cond": True, "v0": 0, "bound": 30}
    engine = started(m, inputs, hot_after)
    flips = engine.monitor.add_predicate(
        0, question(lambda p, c: p.map(np.logical_not, c)), [engine.monitor.condition_slot(0)]
    )
    keeps = engine.monitor.add_predicate(
        0, question(lambda p, k: p.map(np.logical_not, k)), [slot_index(m, "keep")], needs_body=True
    )
    result = engine.monitor.slot_at_boundary(0, slot_index(m, "v_out"))
    assert result == slot_index(m, "v_in")
    exact = engine.monitor.add_predicate(
        0, question(lambda p, x: p.map(np.equal, x, p.constant(np.int64(12)))), [result], needs_body=True
    )
    assert [(i, hits) for _, (i,), hits in stops(engine)] == [(12, (exact,)), (30, (flips, keeps))]


@HOT
def test_nested_loops_each_with_its_predicate(hot_after: int) -> None:
    m = model(NESTED)
    engine = started(m, {"M": 5, "K": 6}, hot_after)
    j, u, t, i = (slot_index(m, name) for name in ("j", "u", "t", "i"))
    both = question(
        lambda p, a, b: p.map(
            np.logical_and,
            p.map(np.equal, a, p.constant(np.int64(3))),
            p.map(np.equal, b, p.constant(np.int64(4))),
        )
    )
    inner = engine.monitor.add_predicate(1, both, [i, j])
    begins = engine.monitor.add_predicate(
        1, question(lambda p, a: p.map(np.equal, a, p.constant(np.int64(0)))), [engine.monitor.iteration_slot(1)]
    )
    outer = engine.monitor.add_predicate(0, above_threshold(50), [t])
    hits = stops(engine)
    assert [stop for stop in hits if stop[2] == (inner,)] == [(1, (3, 4), (inner,))]
    assert [stop[1] for stop in hits if stop[2] == (begins,)] == [(k, 0) for k in range(5)]
    assert [stop[1] for stop in hits if stop[0] == 0] == [(k,) for k in (4, 5)]  # 0 + 15 + 30 + 45 ...
    assert {stop[2] for stop in hits if stop[0] == 0} == {(outer,)}
    assert u


NEST = """
nest (int64 M, int64 K) => (int64 total) {
  zero = Constant <value = int64 {0}> ()
  total = Loop <body = outer (int64 i, bool c, int64 t) => (bool c, int64 t_out) {
    t_out = Loop <body = inner (int64 j, bool d, int64 u) => (bool d, int64 v) {
      w = Mul (i, j)
      v = Add (u, w)
    }> (K, , t)
  }> (M, , zero)
}
"""


@pytest.mark.parametrize("what", ["u above", "entry", "previous", "outer previous", "iteration"])
def test_in_the_program_of_nested_loops(what: str) -> None:
    m = model(NEST)
    results = []
    for hot_after in (-1, 1):
        engine = started(m, {"M": 9, "K": 7}, hot_after)
        u, t = slot_index(m, "u"), slot_index(m, "t")
        equal = question(lambda p, a, b: p.map(np.equal, a, b))
        if what == "u above":
            engine.monitor.add_predicate(1, above_threshold(300), [u])
        elif what == "entry":
            engine.monitor.add_predicate(1, equal, [slot_index(m, "j"), u])
        elif what == "previous":
            engine.monitor.add_predicate(1, equal, [u, engine.monitor.previous_slot(1, 0)], needs_body=True)
        elif what == "outer previous":
            engine.monitor.add_predicate(0, above_threshold(100), [engine.monitor.previous_slot(0, 0)], needs_body=True)
        else:
            engine.monitor.add_predicate(1, equal, [slot_index(m, "i"), engine.monitor.iteration_slot(1)])
        results.append(stops(engine))
        assert (optimizer_of(engine).program_runs > 0) == (hot_after > 0)
        assert t
    assert results[0] == results[1]
    assert results[0]


def test_shape_change_rebinds() -> None:
    m = model(GROW)
    engine = started(m, {"M": 12, "v0": [1.0]})
    total = question(lambda p, x: p.map(np.greater, p.reduce(np.add, x, (0,), False), p.constant(np.float32(10))))
    key = engine.monitor.add_predicate(0, total, [slot_index(m, "x")])
    grew = question(lambda p, a, b: p.constant(np.array(a.shape[0] != b.shape[0] + 1)))
    wrong = engine.monitor.add_predicate(
        0, grew, [slot_index(m, "x"), engine.monitor.previous_slot(0, 0)], needs_body=True
    )
    hits = stops(engine)
    assert [i for _, (i,), _ in hits] == [*range(7, 13)]  # 1 + 1.5 i
    assert {keys for _, _, keys in hits} == {(key,)}
    assert wrong not in hits[-1][2]


def test_swapped_shared_and_passed_through_values() -> None:
    m = model(EDGES)
    engine = started(m, {"M": 7, "p": [1, 2, 3], "q": [4, 5, 6], "r": [7, 8, 9]})
    differs = question(
        lambda p, *pairs: _any(p, [p.map(np.not_equal, a, b) for a, b in zip(pairs[::2], pairs[1::2], strict=True)])
    )
    wrong: list[int] = []

    def check(index: int) -> None:
        frame = Frame(engine, index)
        if frame.iteration:
            shown = [engine.monitor.value_at_boundary(0, engine.monitor.previous_slot(0, k)) for k in range(4)]
            assert [exact_bits(x) for x in shown] == [exact_bits(e.previous) for e in frame.back_edges]

    engine.set_hook(check)
    slots = [
        s
        for k, name in enumerate(("x", "y", "z", "w"))
        for s in (slot_index(m, name), engine.monitor.previous_slot(0, k))
    ]
    engine.monitor.add_predicate(0, differs, slots[6:], needs_body=True)  # w is passed through
    assert stops(engine) == []
    assert not wrong


def _any(p: Any, parts: Sequence[Any]) -> Any:
    result = p.reduce(np.logical_or, parts[0], (0,), False)
    for part in parts[1:]:
        result = p.map(np.logical_or, result, p.reduce(np.logical_or, part, (0,), False))
    return result


def test_sliced_inputs_and_inner_entries() -> None:
    m = model(INNER_SCANS)
    engine = started(m, {"M": 3, "x": [[1, 2], [3, 4], [5, 6], [7, 8]]})
    first = question(lambda p, row: p.map(np.greater, p.reduce(np.add, row, (0,), False), p.constant(np.float32(14))))
    engine.monitor.add_predicate(1, first, [slot_index(m, "row")])
    # The scan goes backwards: row [7, 8] comes first; at the last boundary the part before is still to be seen.
    assert [iterations for _, iterations, _ in stops(engine)] == [(k, 0) for k in range(3)]


def test_what_cannot_be_bound_is_asked_in_python() -> None:
    m = model(SEQUENCE)
    engine = started(m, {"M": 6})
    asked = []

    def ask_python(index: int) -> bool:
        asked.append(engine.loop_state(index)[0])
        return len(engine.value(slot_index(m, "s"))) == 4

    key = engine.monitor.add_predicate(0, above_threshold(1), [slot_index(m, "s")], fallback=ask_python)
    length = question(lambda p, s: np.array(len(s) == 5))
    by_numpy = engine.monitor.add_predicate(0, length, [slot_index(m, "s")])
    assert [(i, hits) for _, (i,), hits in stops(engine)] == [(4, (key,)), (5, (by_numpy,))]
    assert asked == list(range(7))
    assert not engine.monitor.is_native(key)


def test_a_predicate_that_fails_says_so_and_the_run_can_go_on_without_it() -> None:
    m = model(SEQUENCE)
    engine = started(m, {"M": 6})
    key = engine.monitor.add_predicate(0, above_threshold(1), [slot_index(m, "s")])
    with pytest.raises(loopdbg.ExecutionError, match="a predicate at loop") as caught:
        engine.resume()
    assert (caught.value.loop, caught.value.iteration) == ("Loop_1", 0)
    engine.monitor.remove_predicate(key)
    assert resume(engine)[0] == "end"
    m = model(SUM)
    engine = started(m, {"M": 6, "v0": 0.0})
    engine.monitor.add_predicate(0, question(lambda p, x: p.map(np.add, x, x)), [slot_index(m, "v_in")])
    with pytest.raises(loopdbg.UsageError, match="must give one boolean, and this one gives float32"):
        engine.resume()


def test_predicates_and_other_stops_at_one_boundary() -> None:
    m = model(COUNT)
    engine = started(m, {"M": 60, "cond": True, "v0": 0, "bound": 100}, 1)
    key = engine.monitor.add_predicate(0, above_threshold(6), [slot_index(m, "v_in")])
    engine.stop_at(0, 7)
    assert resume(engine) == ("predicate", 0)
    engine.clear_stops()
    engine.stop_at(0, 8)
    engine.monitor.enable_predicate(key, False)
    assert resume(engine) == ("boundary", 0)
    assert engine.monitor.hits == ()
    engine.monitor.enable_predicate(key)
    engine.interrupt()
    assert resume(engine)[0] == "interrupt"
    assert engine.monitor.hits == (key,)


def test_the_iteration_of_another_loop_can_be_asked_and_its_previous_values_cannot() -> None:
    m = model(NEST)
    engine = started(m, {"M": 9, "K": 7}, 1)
    equal = question(lambda p, a, b: p.map(np.equal, a, b))
    engine.monitor.add_predicate(1, equal, [engine.monitor.iteration_slot(0), engine.monitor.iteration_slot(1)])
    assert [iterations for _, iterations, _ in stops(engine)] == [(k, k) for k in range(8)]
    with pytest.raises(loopdbg.UsageError, match="only at its own boundaries"):
        engine.monitor.add_predicate(1, above_threshold(3), [engine.monitor.previous_slot(0, 0)])


def test_going_back_asks_again() -> None:
    m = model(COUNT)
    engine = started(m, {"M": 300, "cond": True, "v0": 0, "bound": 1000}, 1)
    engine.stop_at(0, 50)
    resume(engine)
    checkpoint = engine.checkpoints.save()
    engine.clear_stops()
    engine.monitor.add_predicate(0, above_threshold(250), [slot_index(m, "v_in")])
    for _ in range(3):
        assert resume(engine) == ("predicate", 0)
        assert engine.loop_state(0)[0] == 251
        engine.checkpoints.restore(checkpoint)


# ------------------------------------------------------------------ records


def hook_record(m: loopdbg.Model, inputs: dict[str, Any], loop: int, names: list[str]) -> list[tuple[Any, ...]]:
    """Iteration, entry and values of every boundary of a loop, as a hook sees them."""
    rows: list[tuple[Any, ...]] = []
    engine = started(m, inputs)

    def hook(index: int) -> None:
        if index == loop:
            frame = Frame(engine, index)
            rows.append(
                (
                    frame.iteration,
                    engine.loops.totals(index)[1] - 1,
                    *(exact_bits(frame.carried[name]) for name in names),
                )
            )

    engine.set_hook(hook)
    resume(engine)
    return rows


def rows_of(engine: Engine, key: int) -> list[tuple[Any, ...]]:
    iterations, entries, values = engine.monitor.read_record(key)
    return [
        (i, e, *(exact_bits(np.array(value[k])) for value in values))
        for k, (i, e) in enumerate(zip(iterations.tolist(), entries.tolist(), strict=True))
    ]


@HOT
@pytest.mark.parametrize(
    ("text", "inputs", "loop", "names"),
    [
        (SUM, {"M": 3000, "v0": 1.0}, 0, ["v_in"]),
        (COUNT, {"M": 500, "cond": True, "v0": 0, "bound": 333}, 0, ["v_in"]),
        (NESTED, {"M": 30, "K": 20}, 1, ["u"]),
        (NEST, {"M": 30, "K": 20}, 1, ["u"]),
        (NEST, {"M": 30, "K": 20}, 0, ["t"]),
        (NEST, {"M": 30, "K": 0}, 1, ["u"]),
        (BRANCHES, {"M": 100, "v0": 0.5}, 0, ["x"]),
        (EDGES, {"M": 70, "p": [1, 2, 3], "q": [4, 5, 6], "r": [7, 8, 9]}, 0, ["x", "y", "z", "w"]),
        (INNER_SCANS, {"M": 3, "x": [[1, 2], [3, 4], [5, 6], [7, 8]]}, 1, ["h2"]),
    ],
)
def test_a_record_has_every_boundary(
    text: str, inputs: dict[str, Any], loop: int, names: list[str], hot_after: int
) -> None:
    m = model(text)
    expected = hook_record(m, inputs, loop, names)
    engine = started(m, inputs, hot_after)
    key = engine.monitor.add_record(loop, [slot_index(m, name) for name in names])
    both = engine.monitor.add_record(loop, [slot_index(m, name) for name in names[:1]])
    # Stops in between change nothing.
    engine.stop_at(loop, 5)
    resume(engine)
    engine.clear_stops()
    assert resume(engine)[0] == "end"
    assert rows_of(engine, key) == expected
    assert rows_of(engine, both) == [row[:3] for row in expected]
    assert engine.monitor.record_is_complete(key)
    engine.monitor.remove_record(key)
    with pytest.raises(loopdbg.UsageError, match="no record"):
        engine.monitor.read_record(key)


def test_views_of_a_record_stay_as_they_are() -> None:
    m = model(SUM)
    engine = started(m, {"M": 3000, "v0": 1.0}, 1)
    key = engine.monitor.add_record(0, [slot_index(m, "v_in")])
    engine.stop_at(0, 100)
    resume(engine)
    iterations, _, (values,) = engine.monitor.read_record(key)
    before = values.copy()
    assert iterations.tolist() == list(range(101))
    assert not values.flags.writeable
    checkpoint = engine.checkpoints.save()
    engine.clear_stops()
    resume(engine)
    np.testing.assert_array_equal(values, before)
    longer = engine.monitor.read_record(key)[2][0]
    engine.checkpoints.restore(checkpoint)
    engine.monitor.truncate_record(key, 101)
    engine.editor.set(slot_index(m, "v_in"), 0.0)
    resume(engine)
    again = engine.monitor.read_record(key)
    assert again[0].tolist() == list(range(3001))
    assert not np.array_equal(again[2][0], longer)
    np.testing.assert_array_equal(again[2][0][:101], before)
    assert longer[-1] == m.run({"M": 3000, "v0": 1.0})["v"]
    engine.monitor.remove_record(key)
    np.testing.assert_array_equal(values, before)


@HOT
def test_a_record_of_the_newest_rows_only(hot_after: int) -> None:
    m = model(COUNT)
    engine = started(m, {"M": 5000, "cond": True, "v0": 0, "bound": 10**6}, hot_after)
    key = engine.monitor.add_record(0, [slot_index(m, "v_in")], keep=300)
    resume(engine)
    iterations, _, (values,) = engine.monitor.read_record(key)
    assert iterations.tolist() == list(range(4701, 5001))
    np.testing.assert_array_equal(values, iterations)
    assert values.base is not None


def test_a_value_that_changes_its_shape_ends_the_record() -> None:
    m = model(GROW)
    engine = started(m, {"M": 6, "v0": [1.0]})
    key = engine.monitor.add_record(0, [slot_index(m, "x")])
    assert len(engine.monitor.read_record(key)[0]) == 0
    resume(engine)
    assert not engine.monitor.record_is_complete(key)
    assert rows_of(engine, key) == [(0, 0, exact_bits(np.float32([1])))]


def test_records_and_predicates_together() -> None:
    m = model(NEST)
    engine = started(m, {"M": 20, "K": 10}, 1)
    keys = [engine.monitor.add_record(1, [slot_index(m, "u")]), engine.monitor.add_record(0, [slot_index(m, "t")])]
    engine.monitor.add_predicate(
        1, question(lambda p, u: p.map(np.equal, u, p.constant(np.int64(45)))), [slot_index(m, "u")]
    )
    assert stops(engine)
    for key, loop, name in zip(keys, (1, 0), ("u", "t"), strict=True):
        assert rows_of(engine, key) == hook_record(m, {"M": 20, "K": 10}, loop, [name])
