"""Records which coverage points a run hits.

What the totals of a loop say needs no look. Any other point is a predicate that the engine evaluates at the boundaries
of its loop, in native code, until it is true for the first time; the predicate is then removed, or, for runs that are
each looked at by themselves, disabled until the next one. What a run hits early costs nothing later, and what it never
hits costs one evaluation an iteration.

At the boundary after an iteration, the slots of what enters the body hold the values of the next iteration. A predicate
reads what the body computed, and previous carried values, at that boundary ("after"); or, where it reads a part of a
sliced input, everything at the boundary before the iteration ("before"). A test that mixes the two stops the engine at
its node ("trap") until it is true.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.graph import If, Node, StoppedBy, TensorType, Value
from ...runtime.graph.graph_json import graph_digest
from ...runtime.graph.slicing import part_geometry
from ...runtime.model import Model
from ...runtime.ops.axis_arguments import normalize_axis
from ...runtime.ops.eager import EagerPrimitives
from ...runtime.ops.operator_helpers import cast, constant
from ...runtime.ops.registry import ResolvedOperator
from ...runtime.plan.plan import LoopPlan, Opcode
from .operand_conditions import as_boolean, false_on_type_error
from .points import FIRST, LAST, LATER, MANY, NEVER, SINGLE, ZERO, PointKind, PointSite, point_sites
from .report import Coverage

_EAGER = EagerPrimitives()
_INT64 = np.dtype(np.int64)
#: What the bits of ``Loops.outcomes`` say.
_OUTCOME_WAYS = ("", StoppedBy.TRIP_COUNT, StoppedBy.CONDITION, StoppedBy.INPUT_EXHAUSTED, ZERO, SINGLE, MANY)
_CONDITION_BIT = 1 << _OUTCOME_WAYS.index(StoppedBy.CONDITION)
#: Elements of a value that may be kept for a predicate that is not evaluated.
_SMALL_ELEMENTS = 1024
P = Any
T = Any


@dataclass(eq=False)
class _Watch:
    """A point that is looked at while a run lasts. ``test`` reads ``operands`` and Booleans for ``guards``."""

    site: PointSite
    index: int
    operands: tuple[Value, ...]
    guards: tuple[tuple[Value, bool], ...]
    test: Callable[..., T]
    #: "first", "later", "last" or "" for all iterations.
    when: str = ""
    #: Of a predicate: the slots that it reads, its key, and whether it reads at the boundary after the iteration.
    slots: tuple[int, ...] = ()
    key: int = 0
    is_after: bool = False
    is_enabled: bool = True
    #: Of a trap, for "last": the newest iteration in which it was true.
    newest: int = -1


class _Placement:
    """Where the values of one loop's body are at its boundaries."""

    def __init__(self, engine: Engine, plan: LoopPlan) -> None:
        self._engine, self._plan = engine, plan
        code = engine.plan.code
        self._computed = {
            slot
            for pc in range(plan.head + 1, plan.next)
            if code[pc].inside == plan.index
            for slot in code[pc].outputs
            if slot >= 0
        }
        self._tested = {slot for pc in range(plan.top, plan.head) for slot in code[pc].outputs if slot >= 0}
        self._edges = {edge.param: k for k, edge in enumerate(plan.edges) if edge.param != edge.result}
        self._parts = {entry.inner for entry in plan.slices}

    def kind(self, slot: int) -> str:
        """Where a value comes from: "outer" for all that does not vary in the loop."""
        if slot in self._computed:
            return "computed"
        if slot in self._tested:
            return "tested"
        if slot in self._edges:
            return "carried"
        if slot in self._parts:
            return "part"
        if slot == self._plan.iteration:
            return "iteration"
        return "condition" if slot == self._plan.condition_input else "outer"

    def slot_after_iteration(self, slot: int) -> int:
        """The slot that has a value at the boundary after the iteration that used it."""
        kind, monitor, index = self.kind(slot), self._engine.monitor, self._plan.index
        if kind == "carried":
            return monitor.previous_slot(index, self._edges[slot])
        if kind == "iteration":
            return monitor.iteration_slot(index)
        return monitor.slot_at_boundary(index, slot) if kind == "computed" else slot


class CoverageRecorder:
    """Records the points that runs of a model hit, on an engine of its own; see :meth:`Model.execute`.

    Args:
        model: the model.
        accumulate: do not look again at what an earlier run hit: for many runs of which only all together count.
        engine: the engine of the runs, by default one of its own.
    """

    def __init__(self, model: Model, accumulate: bool = False, engine: Engine | None = None) -> None:
        self.engine = Engine(model.plan) if engine is None else engine
        self.sites = point_sites(model.graph)
        self.points = tuple(site.point for site in self.sites)
        self._accumulates = accumulate
        #: Ids of the points that runs hit: the newest one, or all of them.
        self.hits: set[str] = set()
        self.runs = 0
        self._name, self._graph = model.name, model.graph
        self._digest = ""
        self._claimed = threading.Lock()
        self._index = {plan.loop: plan.index for plan in model.plan.loops}
        self._outermost = {plan.index for plan in model.plan.loops if plan.parent < 0}
        self._placements = [_Placement(self.engine, plan) for plan in model.plan.loops]
        self._positions = {
            ins.node: pc
            for pc, ins in enumerate(model.plan.code)
            if ins.node is not None and ins.kind in (Opcode.NODE, Opcode.BRANCH)
        }
        #: What the totals say: of each loop, by way; of nodes, with their innermost branch, loop, and is it tested.
        self._loop_points: list[dict[str, str]] = [{} for _ in self._placements]
        self._node_points: list[tuple[str, tuple[Node, bool] | None, int, bool]] = []
        for site in self.sites:
            point, index = site.point, self._index[site.loop]
            if site.node is None:
                self._loop_points[index][point.way] = point.id
            elif point.kind is PointKind.NODE:
                guard = site.guards[-1] if site.guards else None
                self._node_points.append((point.id, guard, index, self._is_in_pre_condition(site)))
        #: All else is looked at, in one of four ways.
        self._operand_sites = [s for s in self.sites if s.node is not None and s.point.kind is not PointKind.NODE]
        self._branch_sites = [site for site in self._operand_sites if site.taken is not None]
        self._watched: set[PointSite] = set()
        self._predicates: dict[int, _Watch] = {}
        #: Hit predicates that the next run looks at again: removed ones would have to be bound again.
        self._paused: list[_Watch] = []
        self._traps: dict[int, list[_Watch]] = {}
        self._has_traps = False
        #: What is evaluated where an outermost loop ends, and the loops that ended in this run.
        self._ends: dict[int, list[_Watch]] = {}
        self._ended: set[int] = set()
        #: What follows from the number of iterations: indices that are the iteration number.
        self._counted: list[_Watch] = []
        self._reached: dict[tuple[Any, ...], bool] = {}
        #: The points by outcomes of the loops: the same in most runs.
        self._points_by_outcome: dict[Any, frozenset[str]] = {}
        #: Points in branches, until the branch is taken: before that, its values do not exist.
        self._waiting: dict[tuple[If, bool], list[PointSite]] = {}
        #: Hits in iterations that had not ended: id, loop, entry, iteration.
        self._unfinished: list[tuple[str, int, int, int]] = []

    @property
    def coverage(self) -> Coverage:
        """What the newest run covered, or all runs together."""
        self._digest = self._digest or graph_digest(self._graph)
        return Coverage(self._name, self._digest, self.points, frozenset(self.hits), self.runs)

    def claim(self) -> bool:
        """Claim it for one run, which :meth:`finish` ends; False while another thread has it."""
        return self._claimed.acquire(blocking=False)

    # -- called by Model.execute

    def begin(self) -> None:
        """Watch all points; the engine is at the beginning of a run."""
        self._unfinished.clear()
        self._ended.clear()
        if not self._accumulates:
            self.hits, self.runs = set(), 0
        self.runs += 1
        for watch in self._paused:
            self._predicates[watch.key] = watch
            self.engine.monitor.enable_predicate(watch.key, watch.is_enabled)
        self._paused.clear()
        if len(self._watched) < len(self._operand_sites):
            taken = self._branches_taken()
            for site in self._operand_sites:
                if site.point.id not in self.hits and site not in self._watched:
                    self._watch_point(site, not site.guards or site.guards[-1] in taken)
        self.set_stops()

    def has_foreign_hits(self) -> bool:
        """Whether the engine stopped at a predicate that is not of this recorder."""
        return any(key not in self._predicates for key in self.engine.monitor.hits)

    def stopped(self, event: str, index: int) -> None:
        """The engine stopped: record, and let it go on."""
        if event == "predicate":
            for key in self.engine.monitor.hits:
                if key in self._predicates:
                    self._record_predicate_hit(self._predicates[key])
            if not self._accumulates and index in self._outermost and self.engine.loop_state(index)[0] > 1:
                # It is not entered again.
                for watch in [w for w in self._predicates.values() if w.index == index and w.when == FIRST]:
                    self._stop_watching(watch)
        if event == "node":
            self._test_at_node(index)
        else:
            self._evaluate_at_loop_end(index)
        self.set_stops()

    def finish(self, event: str, index: int) -> None:
        """The run is over; ``event``: why. Adds what the totals say, and the nodes that ran.

        What an iteration did that failed or did not end is not counted.
        """
        for point, loop, entry, iteration in self._unfinished:
            _, entries, *_ = self.engine.loops.totals(loop)
            if entries == entry and self.engine.loop_state(loop)[0] <= iteration:
                self.hits.discard(point)
        for key in self.engine.monitor.latched:
            self.hits.add(self._predicates[key].site.point.id)
        if self._ends or self._traps:
            for outermost in self._outermost - self._ended:
                # It ended while the run was looked at for repetitions.
                self._evaluate_at_loop_end(outermost)
        self._record_totals()
        if (event == "limit" or event.startswith("loop ")) and NEVER in self._loop_points[index]:
            self.hits.add(self._loop_points[index][NEVER])
        if self._counted:
            self.hits.update(watch.site.point.id for watch in self._counted if self._index_reached_end(watch))
        if self._claimed.locked():
            self._claimed.release()
        if not self._accumulates:
            # In the next run these wait for their branches again.
            for watch in [w for w in self._predicates.values() if w.guards]:
                self._remove_predicate(watch)

    # -- watching

    def _watch_point(self, site: PointSite, exists: bool = True) -> _Watch:
        """Look at a point of a node from now on. ``exists``: its branch was taken before."""
        point, index = site.point, self._index[site.loop]
        assert site.node is not None
        self._watched.add(site)
        guards = tuple((_if_condition(node), taken) for node, taken in site.guards)
        when = ""
        if site.test is not None:
            operands, test = site.test.operands, false_on_type_error(site.test.function)
        else:
            assert isinstance(site.node, If)
            operands, test = (_if_condition(site.node),), _truth_test(bool(site.taken))
            when = point.way.rpartition(" ")[2]
        watch = _Watch(site, index, operands, guards, test, when)
        kinds = {self._placement_kind(index, value) for value in (*operands, *(value for value, _ in guards))}
        if self._is_iteration_number_index(watch):
            self._counted.append(watch)
        elif kinds <= {"outer", "computed", "carried", "iteration"}:
            if exists:
                self._watch_after_iteration(watch)
            else:
                self._waiting.setdefault(site.guards[-1], []).append(site)
        elif not guards and "computed" not in kinds and when != LAST:
            self._watch_before_iteration(watch)
        else:
            self._traps.setdefault(self._positions[site.node], []).append(watch)
        return watch

    def _is_iteration_number_index(self, watch: _Watch) -> bool:
        """Whether a point is about an index that is the iteration number, in every iteration of an outermost loop."""
        kinds = [self._placement_kind(watch.index, value) for value in watch.operands]
        is_index = watch.site.point.kind is PointKind.INDEX and kinds == ["outer", "iteration"]
        return is_index and not watch.guards and watch.index in self._outermost

    def _index_reached_end(self, watch: _Watch) -> bool:
        """Whether an iteration had an index at the end of its range."""
        memory, (data, index) = self.engine.memory, (self._slot_of_value(value) for value in watch.operands)
        indexed, number = memory.dtype_and_shape(data), memory.dtype_and_shape(index)
        iterations, *_ = self.engine.loops.totals(watch.index)
        if indexed is None or number is None:
            return False
        ends = tuple(end for end in {0, *(size - 1 for size in indexed[1])} if 0 <= end < iterations)
        key = (watch, indexed, number, ends)
        if key not in self._reached:
            tensor = np.broadcast_to(np.zeros((), indexed[0]), indexed[1])
            answers = (watch.test(_EAGER, tensor, np.full(number[1], end, number[0])) for end in ends)
            self._reached[key] = any(map(as_boolean, answers))
        return self._reached[key]

    def _placement_kind(self, index: int, value: Value) -> str:
        return self._placements[index].kind(self._slot_of_value(value))

    def _slot_of_value(self, value: Value) -> int:
        return self.engine.plan.slot_of[value]

    def _watch_after_iteration(self, watch: _Watch) -> None:
        """Read at the boundary after an iteration."""
        monitor, index = self.engine.monitor, watch.index
        placement = self._placements[index]
        values = (*watch.operands, *(value for value, _ in watch.guards))
        # The boundary has the number of the next iteration.
        is_number = [placement.kind(self._slot_of_value(value)) == "iteration" for value in values]
        dtypes = [_declared_dtype(value) for value in values]
        state = (monitor.iteration_slot(index), *(self._end_test_inputs(index) if watch.when == LAST else ()))
        watch.is_after = True
        watch.slots = (*(placement.slot_after_iteration(self._slot_of_value(value)) for value in values), *state)
        guards = [taken for _, taken in watch.guards]
        count, end = len(watch.operands), self._end_test(index)
        when, test = watch.when, watch.test

        def function(p: P, *read: T) -> T:
            number = read[len(values)]
            operands = [
                cast(p, p.map(np.subtract, x, constant(p, 1, _INT64)), dtype) if shifted else x
                for x, shifted, dtype in zip(read[: len(values)], is_number, dtypes, strict=True)
            ]
            answers = [test(p, *operands[:count])]
            answers += [_truth_test(taken)(p, x) for x, taken in zip(operands[count:], guards, strict=True)]
            if when == FIRST:
                answers.append(p.map(np.equal, number, constant(p, 1, _INT64)))
            elif when == LATER:
                answers.append(p.map(np.greater, number, constant(p, 1, _INT64)))
            elif when == LAST:
                answers.append(end(p, number, *read[len(values) + 1 :]))
            return _all_true(p, answers)

        self._add_predicate(watch, function, needs_body=True)
        if when == LAST and index in self._outermost:
            # Evaluated once, where the loop ends; its slots are kept until then.
            self.engine.monitor.enable_predicate(watch.key, False)
            watch.is_enabled = False
            self._ends.setdefault(index, []).append(watch)

    def _watch_before_iteration(self, watch: _Watch) -> None:
        """Read at the boundary before an iteration, if the loop does not end there."""
        monitor, index = self.engine.monitor, watch.index
        end_slots = self._end_test_inputs(index)
        watch.slots = (
            *(self._slot_of_value(value) for value in watch.operands),
            monitor.iteration_slot(index),
            *end_slots,
        )
        count, end = len(watch.operands), self._end_test(index)
        when, test = watch.when, watch.test

        def function(p: P, *read: T) -> T:
            number = read[count]
            answers = [test(p, *read[:count]), p.map(np.logical_not, end(p, number, *read[count + 1 :]))]
            if when in (FIRST, LATER):
                compare = np.equal if when == FIRST else np.greater
                answers.append(p.map(compare, number, constant(p, 0, _INT64)))
            return _all_true(p, answers)

        self._add_predicate(watch, function, needs_body=False)

    def _add_predicate(self, watch: _Watch, function: Callable[..., T], needs_body: bool) -> None:
        watch.test = false_on_type_error(function)
        monitor = self.engine.monitor
        watch.key = monitor.add_predicate(watch.index, ResolvedOperator(watch.test, {}), watch.slots, needs_body)
        self._predicates[watch.key] = watch

    def _end_test_inputs(self, index: int) -> tuple[int, ...]:
        """What ``_end_test`` reads: the condition, the trip count, and the sliced tensors that count iterations."""
        monitor, plan = self.engine.monitor, self.engine.plan.loops[index]
        counted = [entry.outer for entry in plan.slices] if plan.loop.counted_by_slices else []
        # Scalar programs know the trip counts of inner loops by the values that they are taken from.
        trips = monitor.trip_count_slot(index) if index in self._outermost or plan.trip_count < 0 else plan.trip_count
        return (monitor.condition_slot(index), trips, *counted)

    def _end_test(self, index: int) -> Callable[..., T]:
        """Whether the loop ends at this boundary (termination.h)."""
        plan = self.engine.plan.loops[index]
        # Otherwise a negative trip count is zero.
        is_signed = index in self._outermost or plan.trip_count < 0 or plan.loop.minus_one_is_no_limit

        def test(p: P, number: T, condition: T, trips: T, *sliced: T) -> T:
            trips = cast(p, p.reshape(trips, ()), _INT64)
            has_trips = p.map(np.greater_equal, number, trips)
            if is_signed:
                has_trips = p.map(np.logical_and, p.map(np.greater_equal, trips, constant(p, 0, _INT64)), has_trips)
            ended = p.map(np.logical_or, p.map(np.logical_not, condition), has_trips)
            for entry, x in zip(plan.slices, sliced, strict=False):
                axis = normalize_axis(entry.sliced.axis, len(x.shape))
                _, _, parts = part_geometry(int(x.shape[axis]), entry.sliced, axis, str)
                at_end = p.map(np.greater_equal, number, constant(p, parts, _INT64))
                ended = p.map(np.logical_or, ended, at_end)
            return ended

        return test

    # -- at a stop

    def set_stops(self) -> None:
        """Set the stops that are needed from here on; others stay."""
        if self._traps or self._has_traps:
            self.engine.set_traps(self._traps)
            self._has_traps = bool(self._traps)
        for index, watches in self._ends.items():
            if watches:
                self.engine.stop_at_end(index)
        for watches in self._traps.values():
            for watch in watches:
                if watch.when == LAST:
                    self.engine.stop_at_end(watch.index)

    def _test_at_node(self, pc: int) -> None:
        for watch in list(self._traps.get(pc, ())):
            iteration = self.engine.loop_state(watch.index)[0]
            if not _evaluate_watch(watch, [self.engine.peek(self._slot_of_value(value)) for value in watch.operands]):
                continue
            if watch.when == LAST:
                watch.newest = iteration
            elif watch.when in ("", FIRST if iteration == 0 else LATER):
                self._remove_trap(pc, watch)
                self._record_hit(watch)

    def _record_predicate_hit(self, watch: _Watch) -> None:
        self._stop_watching(watch)
        self._record_hit(watch)

    def _stop_watching(self, watch: _Watch) -> None:
        """Do not look at a point again in this run."""
        if (
            self._accumulates
            or watch.guards
            or not all(self._is_cheap_to_keep(watch.index, value) for value in watch.operands)
        ):
            self._remove_predicate(watch)
        elif watch.is_after and not watch.when and watch.site.taken is None:
            # Later runs need no stop for it.
            self.engine.monitor.latch_predicate(watch.key)
        else:
            self._paused.append(self._predicates.pop(watch.key))
            self.engine.monitor.enable_predicate(watch.key, False)

    def _is_cheap_to_keep(self, index: int, value: Value) -> bool:
        """Whether it costs next to nothing that the engine keeps a value for a predicate."""
        if self._placement_kind(index, value) not in ("computed", "tested"):
            return True
        stored = self.engine.memory.dtype_and_shape(self._slot_of_value(value))
        return stored is not None and math.prod(stored[1]) <= _SMALL_ELEMENTS

    def _record_hit(self, watch: _Watch) -> None:
        """A point was hit; those in the branch that it is about are looked at from now on."""
        site, index = watch.site, watch.index
        self.hits.add(site.point.id)
        if not watch.is_after and watch.when != LAST and not self._is_in_pre_condition(site):
            _, entries, *_ = self.engine.loops.totals(index)
            self._unfinished.append((site.point.id, index, entries, self.engine.loop_state(index)[0]))
        if site.taken is None:
            return
        assert isinstance(site.node, If)
        for inner in self._waiting.pop((site.node, site.taken), ()):
            self._watched.discard(inner)
            inside = self._watch_point(inner)
            if inside.is_after and self._is_true_at_boundary(inside):
                self._record_predicate_hit(inside)

    def _is_true_at_boundary(self, watch: _Watch) -> bool:
        return _evaluate_watch(
            watch, [self.engine.monitor.value_at_boundary(watch.index, slot) for slot in watch.slots]
        )

    def _evaluate_at_loop_end(self, index: int) -> None:
        """Evaluate what is about the last iteration, if the loop has ended."""
        if not self._has_ended(index):
            return
        self._ended.add(index)
        iterations = self.engine.loop_state(index)[0]
        for watch in list(self._ends.get(index, ())):
            if iterations and self._is_true_at_boundary(watch):
                if self._accumulates:
                    self._remove_predicate(watch)
                self._record_hit(watch)
        for pc, watches in list(self._traps.items()):
            for watch in [w for w in watches if w.index == index and w.when == LAST]:
                if iterations and watch.newest == iterations - 1:
                    self._remove_trap(pc, watch)
                    self._record_hit(watch)
                watch.newest = -1

    def _has_ended(self, index: int) -> bool:
        return self.engine.loop_state(index)[3] is not None

    def _branches_taken(self) -> frozenset[tuple[Node | None, bool | None]]:
        if not self._branch_sites:
            return frozenset()
        return frozenset((site.node, site.taken) for site in self._branch_sites if site.point.id in self.hits)

    def _is_in_pre_condition(self, site: PointSite) -> bool:
        """Whether a node belongs to a condition that is tested before its iteration, also where that does not run."""
        assert site.node is not None
        plan = self.engine.plan.loops[self._index[site.loop]]
        return self._positions.get(site.node, plan.head) < plan.head

    def _remove_trap(self, pc: int, watch: _Watch) -> None:
        self._traps[pc].remove(watch)
        self._watched.discard(watch.site)
        if not self._traps[pc]:
            del self._traps[pc]

    def _remove_predicate(self, watch: _Watch) -> None:
        del self._predicates[watch.key]
        if watch in self._ends.get(watch.index, ()):
            self._ends[watch.index].remove(watch)
        self._watched.discard(watch.site)
        self.engine.monitor.remove_predicate(watch.key)

    # -- after a run

    def _record_totals(self) -> None:
        """Add what the totals of the loops say of their entries, and of the nodes that ran.

        A node ran if its branch was taken, or, outside of branches, if an iteration of its loop ended.
        """
        outcomes = self.engine.loops.outcomes()
        taken = self._branches_taken()
        key = (outcomes, taken)
        if key not in self._points_by_outcome:
            self._points_by_outcome[key] = frozenset(self._points_of_totals(outcomes, taken))
        self.hits |= self._points_by_outcome[key]

    def _points_of_totals(
        self, outcomes: tuple[int, ...], taken: frozenset[tuple[Node | None, bool | None]]
    ) -> Iterator[str]:
        for points, bits in zip(self._loop_points, outcomes, strict=True):
            yield from (points[way] for bit, way in enumerate(_OUTCOME_WAYS) if bits >> bit & 1 and way in points)
        for point, guard, index, is_tested in self._node_points:
            bits = outcomes[index]
            if guard in taken if guard else bits & 1 or (is_tested and bits & _CONDITION_BIT):
                yield point


def _if_condition(node: Node) -> Value:
    condition = node.inputs[0]
    assert condition is not None
    return condition


def _declared_dtype(value: Value) -> np.dtype[Any]:
    return (value.type.dtype if isinstance(value.type, TensorType) else None) or _INT64


def _truth_test(expected: bool) -> Callable[..., T]:
    """Whether a Boolean is as expected."""
    return lambda p, x: x if expected else p.map(np.logical_not, x)


def _all_true(p: P, answers: Sequence[T]) -> T:
    result: T = p.reshape(answers[0], ())
    for answer in answers[1:]:
        result = p.map(np.logical_and, result, p.reshape(answer, ()))
    return result


def _evaluate_watch(watch: _Watch, values: Sequence[Any]) -> bool:
    """Evaluate a test by NumPy; a value that does not exist makes it false."""
    return all(value is not None for value in values) and as_boolean(watch.test(_EAGER, *values))
