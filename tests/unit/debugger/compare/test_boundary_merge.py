"""Comparing two streams of boundaries, and which loops and names are held to each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.compare.report.findings import Comparison, DivergenceReason, LoopFindings, Verdict
from loopdbg.debugger.compare.report.runtime_differences import reasons_from_notes
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.loop_matching import match_loops, match_names
from loopdbg.debugger.compare.running.sides import LoopInfo
from loopdbg.debugger.session.boundary import Boundary
from loopdbg.runtime.graph import Graph, Note, StoppedBy

from .newton_models import F32


@dataclass
class BoundaryStream:
    """A side with the given boundaries."""

    boundary_list: Sequence[Boundary]
    label: str = "side"
    loops: Sequence[LoopInfo] = (LoopInfo("main ▸ l", "l"),)
    graph: Graph | None = None
    outputs: Mapping[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def boundaries(self) -> Iterator[Boundary]:
        return iter(self.boundary_list)

    def reader_at(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> None:
        """Nothing but boundaries is known."""

    def reasons(self, loop: str) -> list[DivergenceReason]:
        return reasons_from_notes(self.notes)


def stream(trips: int, **more: Any) -> list[Boundary]:
    """A loop that carries its iteration number, as a float, and a growing scan output."""
    return [
        Boundary(
            more.get("loop", "main ▸ l"),
            more.get("entry", ()),
            k,
            True,
            StoppedBy.TRIP_COUNT if k == trips else None,
            {"x": F32(k), "n": np.int64(k)},
            {"s": F32([k, 0])} if k else {},
        )
        for k in range(trips + 1)
    ]


def with_carried(items: list[Boundary], iteration: int, **carried: Any) -> list[Boundary]:
    """The same, with other carried values at one boundary."""
    items = list(items)
    items[iteration] = replace(items[iteration], carried={**items[iteration].carried, **carried})
    return items


def diff(left: Sequence[Boundary], right: Sequence[Boundary], **options: Any) -> tuple[Comparison, LoopFindings]:
    result = compare_sides(BoundaryStream(left), BoundaryStream(right), ComparisonOptions(**options))
    return result, result.loops[0]


def test_the_same_stream() -> None:
    result, loop = diff(stream(5), stream(5))
    assert result.same and not result.empty
    assert (
        loop.iterations,
        loop.differing_iterations,
        loop.unmatched_boundaries,
        loop.left_trips,
        loop.right_trips,
    ) == (5, 0, 0, 5, 5)
    assert loop.first is None and loop.growth.largest == 0


@pytest.mark.parametrize("boundary", [0, 1, 3, 5])
def test_a_value_that_differs(boundary: int) -> None:
    result, loop = diff(stream(5), with_carried(stream(5), boundary, x=F32(100)))
    assert not result.same
    first = loop.first
    assert first is not None
    assert (first.role, first.name, first.delta.kind) == ("carried", "x", "value")
    # The boundary before iteration k holds what iteration k - 1 computed; the first one what the loop was entered with.
    assert first.iteration == (boundary - 1 if boundary else None)
    assert (first.left, first.right) == (boundary, 100)
    assert loop.differing_iterations == (1 if boundary else 0)
    assert loop.growth.first_beyond == first.iteration


def test_trip_counts_that_differ_by_one() -> None:
    result, loop = diff(stream(5), stream(4))
    assert not result.same and loop.trips is not None
    assert (loop.trips.left, loop.trips.right, loop.trips.entries) == (5, 4, 1)
    # No carried value is compared with one of another iteration.
    assert loop.first is None and loop.unmatched_boundaries == 1
    assert (loop.left_trips, loop.right_trips) == (5, 4)
    _, loop = diff(stream(4), stream(5))
    assert loop.trips is not None and (loop.trips.left, loop.trips.right) == (4, 5)


def test_the_rule_behind_a_trip_count() -> None:
    note = Note("B1", "OpenVINO would stop once the body's condition 'k' is false, although the loop's cond is absent.")
    result = compare_sides(
        BoundaryStream(stream(5), notes=[note]),
        BoundaryStream(stream(3), notes=["something else."]),
        ComparisonOptions(),
    )
    assert result.loops[0].trips is not None
    assert result.loops[0].trips.reasons == [DivergenceReason("B1", note)]


def test_zero_trips() -> None:
    _, loop = diff(stream(0), stream(0))
    assert loop.same and loop.compared and loop.iterations == 0
    _, loop = diff(stream(0), stream(2))
    assert loop.trips is not None and (loop.trips.left, loop.trips.right) == (0, 2)


def test_shapes_dtypes_and_missing_values() -> None:
    _, loop = diff(stream(5), with_carried(stream(5), 3, x=F32([3, 3])))
    assert loop.first is not None and loop.first.delta.kind == "shape" and loop.first.iteration == 2
    _, loop = diff(stream(5), with_carried(stream(5), 3, n=np.bool_(True)))
    assert loop.first is not None and (loop.first.name, loop.first.delta.kind) == ("n", "dtype")
    _, loop = diff(stream(5), with_carried(stream(5), 3, n=np.int32(3)))
    assert loop.same and loop.boundary_headrooms[0].dtypes == ("int64", "int32")
    fewer = [replace(b, carried={"x": b.carried["x"]}) for b in stream(5)]
    result, loop = diff(stream(5), fewer)
    assert loop.same and loop.only_left == ["n"] and loop.iterations == 5
    assert result.verdict is Verdict.PARTLY and not result.same


def test_nan_is_nan() -> None:
    left, right = with_carried(stream(5), 3, x=F32(math.nan)), with_carried(stream(5), 3, x=F32(math.nan))
    assert diff(left, right)[1].same
    assert diff(left, stream(5))[1].first is not None


def test_scan_elements_and_conditions() -> None:
    other = stream(5)
    other[2] = replace(other[2], scanned={"s": F32([2, 1])})
    _, loop = diff(stream(5), other)
    assert loop.first is not None and (loop.first.role, loop.first.iteration) == ("scan", 1)
    other = stream(5)
    other[5] = replace(other[5], condition=False)
    _, loop = diff(stream(5), other)
    assert loop.first is not None and loop.first.role == "condition"


def test_growth_of_streams() -> None:
    right = stream(30)
    for k in range(1, 31):
        right = with_carried(right, k, x=F32(k + 1e-7 * 2.0**k))
    _, loop = diff(stream(30), right)
    assert loop.growth.factor == pytest.approx(2, rel=0.2)
    assert loop.growth.first_beyond == loop.first.iteration  # type: ignore[union-attr]
    assert 8 < (loop.growth.first_beyond or 0) < 20


def test_a_recording_of_every_third_boundary() -> None:
    some = [b for b in stream(10) if b.iteration % 3 == 0 or b.ended]
    _, loop = diff(stream(10), some)
    assert loop.same and loop.unmatched_boundaries == 6 and (loop.left_trips, loop.right_trips) == (10, 10)
    _, loop = diff(stream(10), with_carried(some, 2, x=F32(-1)))
    assert loop.first is not None and loop.first.iteration == 5


def test_a_recording_that_was_cut_off() -> None:
    result, loop = diff(stream(10), stream(10)[:4])
    assert result.verdict is Verdict.PARTLY and not result.same
    assert loop.right_trips is None and loop.iterations == 3 and loop.truncated_at_iteration == 3


def nested(inner_trips: Sequence[int]) -> list[Boundary]:
    items: list[Boundary] = []
    for outer in stream(len(inner_trips), loop="main ▸ o"):
        items.append(outer)
        if outer.ended is None:
            items += stream(inner_trips[outer.iteration], loop="main ▸ o ▸ l", entry=(outer.iteration,))
    return items


NEST = (LoopInfo("main ▸ o", "o", (LoopInfo("main ▸ o ▸ l", "l"),)),)


def test_nested_loops_are_compared_entry_by_entry() -> None:
    left, right = BoundaryStream(nested([2, 3, 1]), loops=NEST), BoundaryStream(nested([2, 5, 2]), loops=NEST)
    result = compare_sides(left, right, ComparisonOptions())
    outer, inner = result.loops
    assert outer.same and outer.iterations == 3
    assert inner.trips is not None
    assert (inner.trips.entry, inner.trips.left, inner.trips.right, inner.trips.entries) == ((1,), 3, 5, 2)
    assert inner.iterations == 6 and inner.unmatched_boundaries == 3
    assert compare_sides(left, left, ComparisonOptions()).same


def test_a_loop_that_one_side_alone_enters() -> None:
    whole = nested([2, 2])
    without = [b for b in whole if b.entry != (0,)]
    result = compare_sides(BoundaryStream(whole, loops=NEST), BoundaryStream(without, loops=NEST), ComparisonOptions())
    assert result.loops[0].same and result.loops[1].unmatched_boundaries == 3 and result.loops[1].iterations == 2


def test_the_difference_that_comes_first_in_time() -> None:
    left = nested([2, 2])
    right = list(left)
    right[-1] = replace(right[-1], carried={"x": F32(50), "n": right[-1].carried["n"]})
    item = next(k for k, b in enumerate(right) if b.entry == (1,) and b.iteration == 1)
    right[item] = replace(right[item], carried={"x": F32(70), "n": right[item].carried["n"]})
    result = compare_sides(BoundaryStream(left, loops=NEST), BoundaryStream(right, loops=NEST), ComparisonOptions())
    assert [loop.first is not None for loop in result.loops] == [True, True]
    assert result.first is result.loops[1]


def test_loops_in_another_order() -> None:
    a, b = LoopInfo("main ▸ a", "a"), LoopInfo("main ▸ b", "b")
    first, second = stream(3, loop="main ▸ a"), stream(4, loop="main ▸ b")
    left = BoundaryStream([*first, *second], loops=(a, b))
    right = BoundaryStream([*second, *with_carried(first, 2, x=F32(9))], loops=(b, a))
    result = compare_sides(left, right, ComparisonOptions())
    assert [(loop.left, loop.iterations, loop.same) for loop in result.loops] == [
        ("main ▸ a", 3, False),
        ("main ▸ b", 4, True),
    ]


def test_streams_are_read_as_they_come() -> None:
    """Two runs of a hundred thousand iterations; never more than a few boundaries are alive."""
    alive = 0
    most = 0

    class Counted(dict[str, Any]):
        def __init__(self, k: int) -> None:
            nonlocal alive, most
            super().__init__(x=np.float64(k))
            alive += 1
            most = max(most, alive)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    class Long(BoundaryStream):
        def boundaries(self) -> Iterator[Boundary]:
            for k in range(20_001):
                yield Boundary("main ▸ l", (), k, None, StoppedBy.CONDITION if k == 20_000 else None, Counted(k))

    result = compare_sides(Long([]), Long([]), ComparisonOptions())
    assert result.same and result.loops[0].iterations == 20_000
    assert most < 10


def test_loops_are_matched_by_path_then_name_then_position() -> None:
    left = (
        LoopInfo("main ▸ a", "a"),
        LoopInfo("main ▸ b", "b", (LoopInfo("main ▸ b ▸ i", "i"),)),
        LoopInfo("main ▸ c", "c"),
    )
    right = (
        LoopInfo("main ▸ z", "z"),
        LoopInfo("main ▸ if (then) ▸ b", "b", (LoopInfo("main ▸ b ▸ j", "j"),)),
        LoopInfo("main ▸ c", "c"),
    )
    result = match_loops(left, right, {})
    messages = [(p.left.name, p.right.name, p.method) for p in result.pairs]
    assert messages == [("a", "z", "position"), ("b", "b", "name"), ("i", "j", "position"), ("c", "c", "path")]
    assert result.same_order and result.pairs[2].enclosing == (result.pairs[1].index,)
    mapped = match_loops(left, right, {"a": "c", "main ▸ c": "z"})
    assert {(p.left.name, p.right.name) for p in mapped.pairs} == {("a", "c"), ("b", "b"), ("c", "z"), ("i", "j")}
    assert not mapped.same_order


def test_names_are_matched_by_position_only_where_type_and_shape_fit() -> None:
    left = {"x": F32([1, 2]), "n": np.int64(1), "h": F32([[1]])}
    right = {"p": np.int64(1), "q": F32([1, 2]), "h": F32([[1]]), "keep": np.True_}
    names = match_names(left, right, {})
    assert list(names) == [("x", "q", "position"), ("n", "p", "position"), ("h", "h", "name")]
    assert names.only_right == ["keep"]
    assert list(match_names({"a": F32(1), "b": F32(2)}, {"b": F32(1), "c": F32(2)}, {"a": "b"})) == [
        ("a", "b", "given"),
        ("b", "c", "position"),
    ]
