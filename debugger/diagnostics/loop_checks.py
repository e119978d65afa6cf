"""Checks over the iterations of a loop: what no longer changes, cannot be reached, or is read before it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ...runtime.graph import Array, BackEdge, Loop, Node, Value
from ...runtime.infinite_loop_detection import bitwise_equal
from ..describe.condition_analysis import ConditionSlice, condition_slice
from ..describe.termination import termination_rule
from ..describe.value_names import display_name
from ..value_text import scalar_text
from .graph_facts import GraphFacts
from .iteration_run import IterationRun, NodeRun
from .node_checks import DiagnosticKind, Evidence, indexed_axis

#: Operators that make a distance of a difference, and those that leave its scale as it is.
_DISTANCES = frozenset({"Abs", "ReduceL1", "ReduceL2"})
_SAME_SCALE = _DISTANCES | {"ReduceMax", "ReduceSum", "Identity", "Squeeze", "Unsqueeze", "Reshape"}
_ORDER_COMPARISONS = frozenset({"Less", "LessOrEqual", "LessEqual", "Greater", "GreaterOrEqual", "GreaterEqual"})
_WRITES = frozenset({"ScatterND", "ScatterNDUpdate", "ScatterElements", "ScatterElementsUpdate", "ScatterUpdate"})
#: A loop with a trip count may run for this long after it has settled: escape times and power iterations do.
_MIN_IDLE_ITERATIONS = 50
_READS = frozenset({"Gather", "GatherND", "GatherElements", "Slice"})


@dataclass(frozen=True)
class LoopEvidence:
    """What a check of a loop saw; ``node``: None where it is about the loop. ``iteration``: the first one; ``count``:
    the iterations in which it was so."""

    kind: DiagnosticKind
    node: Node | None
    iteration: int
    count: int
    evidence: Evidence


class LoopCheck(Protocol):
    """A check of one entry of a loop; its iterations are added in order."""

    def add(self, run: IterationRun, nodes: Mapping[Node, NodeRun]) -> None:
        """Add an iteration, with the executions of its nodes."""

    def evidence_at_end(self) -> Iterator[LoopEvidence]:
        """What was wrong, at the end of the entry or of the run."""


class FixedPoint:
    """The carried values that decide no longer change while the loop goes on, or repeat: the condition cannot end it.

    With a trip count, only what has settled at one state counts, and only after a while.
    """

    def __init__(self, loop: Loop, facts: GraphFacts) -> None:
        self._slice: ConditionSlice = condition_slice(loop)
        decides = termination_rule(loop, facts.origins).condition_decides
        self._is_judged = decides and bool(self._slice.all_carried) and self._slice.depends_on_carried_only
        self._has_changed = False
        self._first: int | None = None
        self._period = self._count = 0
        self._trip_count: int | None = None
        #: A state to come back to, before which iteration it was, and how long it is waited for (Brent's algorithm).
        self._anchor: tuple[list[Any], int, int] = [], 0, 0

    @property
    def never_ends(self) -> bool:
        """Whether nothing can end the loop any more."""
        return self._first is not None and self._trip_count is None

    def add(self, run: IterationRun, nodes: Mapping[Node, NodeRun]) -> None:
        if not self._is_judged or not run.goes_on:
            return
        if self._first is None:
            self._trip_count = run.frame.trip_count
            self._period = self._find_period(run)
            if not self._period:
                return
            # What never changed may be as long as it is: a trip count ends it.
            if not self._has_changed and self._trip_count is not None:
                self._is_judged = False
                return
            self._first = run.iteration + 1
        self._count += 1

    def _find_period(self, run: IterationRun) -> int:
        """The number of iterations after which the state is what it was; 0: none is known."""
        params = [edge.param for edge in self._slice.all_carried]
        now = run.frame.read_filled_slots(params)
        if all(param in now and bitwise_equal(now[param], run.before.get(param)) for param in params):
            return 1
        self._has_changed = True
        if self._trip_count is not None:
            return 0
        state = [now.get(param) for param in params]
        anchor, start, wait = self._anchor
        if anchor and all(map(bitwise_equal, anchor, state)):
            return run.iteration + 1 - start
        if run.iteration + 1 >= start + wait:
            self._anchor = state, run.iteration + 1, 2 * wait or 1
        return 0

    def evidence_at_end(self) -> Iterator[LoopEvidence]:
        if self._first is None or (self._trip_count is not None and self._count < _MIN_IDLE_ITERATIONS):
            return
        names = ", ".join(display_name(edge.param) for edge in self._slice.all_carried)
        course = "no longer change" if self._period == 1 else f"repeat every {self._period} iterations"
        ending = "it never ends" if self._trip_count is None else f"the trip count of {self._trip_count} alone ends it"
        text = f"{names} {course}, and the condition depends on nothing else: {ending}"
        values = {
            "period": str(self._period),
            "trip count": "none" if self._trip_count is None else str(self._trip_count),
        }
        yield LoopEvidence(DiagnosticKind.FIXED_POINT, None, self._first, self._count, Evidence(text, values))


class UnreachableTolerance:
    """A distance is compared with a tolerance that is smaller than the steps of its type there: only equal numbers meet
    it. Judged by the last iterations, where the numbers are closest."""

    def __init__(self, loop: Loop, facts: GraphFacts) -> None:
        self._loop, self._facts = loop, facts
        self._open: dict[Node, LoopEvidence] = {}

    def add(self, run: IterationRun, nodes: Mapping[Node, NodeRun]) -> None:
        for node, node_run in nodes.items():
            if node.op_type not in _ORDER_COMPARISONS:
                continue
            evidence = self._find_evidence(node_run, nodes)
            if evidence is None:
                self._open.pop(node, None)
                continue
            earlier = self._open.get(node)
            first, count = (run.iteration, 0) if earlier is None else (earlier.iteration, earlier.count)
            self._open[node] = LoopEvidence(DiagnosticKind.TOLERANCE, node, first, count + 1, evidence)

    def evidence_at_end(self) -> Iterator[LoopEvidence]:
        yield from self._open.values()

    def _find_evidence(self, run: NodeRun, nodes: Mapping[Node, NodeRun]) -> Evidence | None:
        for distance, limit in ((0, 1), (1, 0)):
            tolerance = run.inputs[limit]
            if (
                not isinstance(tolerance, np.ndarray | np.generic)
                or tolerance.dtype.kind != "f"
                or tolerance.size != 1
                or not tolerance.reshape(-1)[0] > 0
                or self._facts.varies_between_iterations(self._loop, run.node.inputs[limit])
            ):
                continue
            step = self._float_spacing(run.node.inputs[distance], nodes)
            number = tolerance.reshape(-1)[0]
            if step is not None and number < step and self._facts.deciding_use(run.node.outputs[0]):
                text = (
                    f"the tolerance {scalar_text(number)} is smaller than the steps of {tolerance.dtype.name} there,"
                    f" {step:.2g}: only equal numbers meet it"
                )
                return Evidence(text, {"tolerance": scalar_text(number), "step": f"{step:.2g}"})
        return None

    def _float_spacing(self, value: Value | None, nodes: Mapping[Node, NodeRun]) -> float | None:
        """The distance between neighbouring numbers of the type of a difference, where a value is made of one."""
        is_distance, scale = False, 1.0
        node = None if value is None else self._facts.origins.get(value)
        while node is not None and node in nodes:
            run = nodes[node]
            if node.op_type in ("Sub", "Subtract"):
                return None if not is_distance else _largest_float_spacing(run.inputs[0], run.inputs[1], scale)
            if node.op_type in ("Div", "Divide"):
                # A relative distance.
                with np.errstate(all="ignore"):
                    scale /= float(np.max(np.abs(run.inputs[1]), initial=0.0)) or np.inf
            elif node.op_type not in _SAME_SCALE:
                return None
            is_distance |= node.op_type in _DISTANCES
            source = node.inputs[0]
            node = None if source is None else self._facts.origins.get(source)
        return None


def _largest_float_spacing(a: Any, b: Any, scale: float) -> float | None:
    if not all(isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size for x in (a, b)):
        return None
    with np.errstate(all="ignore"):
        smaller = np.minimum(np.abs(a), np.abs(b))
        steps = np.spacing(smaller[np.isfinite(smaller)])
    return float(steps.max()) * scale if steps.size else None


@dataclass(eq=False)
class _Cache:
    """A carried value to which each iteration writes the rows after those of the one before.

    ``next_row``: the first row that is not written yet; None before the first write.
    """

    edge: BackEdge
    write: Node
    next_row: int | None = None
    writes: int = 0
    is_sequential: bool = True
    reads: dict[Node, LoopEvidence] = field(default_factory=dict)


class UnwrittenRow:
    """A row of a cache is read that no iteration has written yet, and that holds what the cache was filled with."""

    def __init__(self, loop: Loop, facts: GraphFacts) -> None:
        self._loop, self._facts = loop, facts
        self._caches = [
            _Cache(edge, node)
            for edge in loop.back_edges
            if (node := facts.origins.get(facts.origins.skip_identities(edge.result))) is not None
            and node.op_type in _WRITES
            and node.inputs[0] is edge.param
        ]

    def add(self, run: IterationRun, nodes: Mapping[Node, NodeRun]) -> None:
        for cache in self._caches:
            write = nodes.get(cache.write)
            if not cache.is_sequential or write is None:
                continue
            rows, axis = _written_rows(write)
            start = int(rows.min()) if rows.size else 0
            is_next = cache.next_row in (None, start)
            cache.is_sequential = (
                rows.size > 0 and is_next and np.array_equal(np.unique(rows), start + np.arange(rows.size))
            )
            if not cache.is_sequential:
                continue
            for node, read in nodes.items():
                if node.op_type in _READS and node.inputs[0] in (cache.edge.param, cache.write.outputs[0]):
                    self._record_unwritten_read(cache, read, axis, start, rows.size, run.iteration)
            cache.next_row = start + rows.size
            cache.writes += 1

    def _record_unwritten_read(
        self, cache: _Cache, read: NodeRun, axis: int, start: int, count: int, iteration: int
    ) -> None:
        if not any(self._facts.varies_between_iterations(self._loop, value) for value in read.node.inputs[1:]):
            return
        data = read.inputs[0]
        rows = _rows_read_by_node(read, axis)
        frontier = start + (count if read.node.inputs[0] is cache.write.outputs[0] else 0)
        ahead = rows[rows >= frontier]
        if not ahead.size or not _all_elements_equal(np.take(data, np.arange(frontier, data.shape[axis]), axis)):
            return
        row = int(ahead.min())
        name = display_name(cache.edge.param)
        text = f"row {row} of {name} is read before it is written: the next row to write is {frontier}"
        earlier = cache.reads.get(read.node)
        first, seen = (iteration, 0) if earlier is None else (earlier.iteration, earlier.count)
        evidence = Evidence(text, {"row": str(row), "next row": str(frontier)}) if earlier is None else earlier.evidence
        cache.reads[read.node] = LoopEvidence(DiagnosticKind.UNWRITTEN_ROW, read.node, first, seen + 1, evidence)

    def evidence_at_end(self) -> Iterator[LoopEvidence]:
        for cache in self._caches:
            if cache.is_sequential and cache.writes > 1:
                yield from cache.reads.values()


def _all_elements_equal(x: Array) -> bool:
    """Whether all elements are the same."""
    return bool(x.size) and bool((x == x.reshape(-1)[0]).all())


def _written_rows(run: NodeRun) -> tuple[Array, int]:
    """The rows that a Scatter writes, and their axis."""
    axis, data, indices = 0, run.inputs[0], np.asarray(run.inputs[1])
    if "ND" in run.node.op_type:
        rows = indices[..., 0].reshape(-1) if indices.ndim and indices.shape[-1] else indices.reshape(-1)[:0]
    else:
        axis, rows = indexed_axis(run) % data.ndim, np.unique(indices)
    return np.unique(rows % data.shape[axis]) if data.shape[axis] else rows, axis


def _rows_read_by_node(run: NodeRun, axis: int) -> Array:
    """The rows along an axis that a node reads; empty where it reads along another one, or all."""
    node, data, size = run.node, run.inputs[0], run.inputs[0].shape[axis]
    nothing = np.zeros(0, np.int64)
    if not size:
        return nothing
    if node.op_type == "Slice":
        return _rows_read_by_slice(run, axis, size)
    indices = np.asarray(run.inputs[1])
    if node.op_type == "GatherND":
        return indices[..., 0].reshape(-1) % size if axis == 0 and indices.ndim and indices.shape[-1] else nothing
    return indices.reshape(-1) % size if indexed_axis(run) % data.ndim == axis else nothing


def _rows_read_by_slice(run: NodeRun, axis: int, size: int) -> Array:
    openvino = run.node.domain.startswith("opset")
    starts, ends, *rest = (None if x is None else np.asarray(x).reshape(-1) for x in (*run.inputs[1:], None, None))
    steps, axes = (rest[0], rest[1]) if openvino else (rest[1], rest[0])
    if starts is None or ends is None:
        return np.zeros(0, np.int64)
    names = np.arange(starts.size) if axes is None else axes % run.inputs[0].ndim
    positions: Sequence[int] = np.flatnonzero(names == axis).tolist()
    if not positions:
        return np.zeros(0, np.int64)
    step = 1 if steps is None else int(steps[positions[0]])
    return np.arange(size)[slice(int(starts[positions[0]]), int(ends[positions[0]]), step)]
